/* Errors that the CUDA runtime makes by itself: it refuses a launch, a copy or a device number before it calls the driver, so
 * that no recorded call fails. CUPTI calls us back at the end of every runtime call, whether the runtime is a library of its
 * own or linked into the program; the failing ones become notes with a stack. So does a fill of 0 bytes with a value: the runtime
 * answers it without the driver, and it is what a call with value and count swapped looks like.
 *
 * Only where gpudx asks for it (GPUDX_RUNTIME_ERRORS names libcupti), since a process has one CUPTI subscriber: the driver
 * loads this library as CUDA_INJECTION64_PATH during cuInit and calls InitializeInjection (CUPTI documentation, "Injection").
 * The structure is that of cupti_callbacks.h; it has grown only at its end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/stacks.h"
#include "cuda/hooks.h"

enum { RUNTIME_DOMAIN = 2, AT_BEGIN = 0, AT_END = 1, NOT_READY = 600, WORDS = 10, MOST_NOTES = 256, NAME_MAX = 256 };

struct callback {
    int site;
    const char *function;
    const void *parameters;
    const int *result;
    const char *kernel;      /* of a launch */
    void *context;
    uint32_t context_number;
    uint64_t *kept;          /* 8 bytes of ours from the begin of a call to its end */
};

typedef void callback_function(void *data, int domain, uint32_t call, const void *info);

static void note_error(const struct callback *call)
{
    static _Atomic unsigned notes;
    uint64_t raw[WORDS] = { 0 };
    struct gdx_open open;
    struct gdx_lane *lane = gdx_on() ? gdx_lane() : NULL;
    if (!lane || atomic_fetch_add(&notes, 1) >= MOST_NOTES || !gdx_begin(&open, GDX_CALL_note_runtime_error, NULL))
        return;
    open.slot->w[0] = (uint64_t)(int64_t)*call->result;
    open.slot->w[1] = call->kept ? *call->kept : 0;
    /* How long the structure is depends on the function; what follows it is the runtime's stack. Word by word, so that the
     * end of a page costs no more than the words behind it. */
    for (unsigned i = 0; call->parameters && i < WORDS; i++)
        if (!gdx_read(&lane->reader, &raw[i], (const char *)call->parameters + i * sizeof *raw, sizeof *raw))
            break;
    const char *texts[] = { call->function ? call->function : "", call->kernel ? call->kernel : "" };
    const uint32_t parts[] = { GDX_PART_text, GDX_PART_text2 };
    for (int i = 0; i < 2; i++) {
        size_t bytes = strnlen(texts[i], NAME_MAX);
        void *room = bytes ? gdx_part(&open, parts[i], bytes) : NULL;
        if (room)
            memcpy(room, texts[i], bytes);
    }
    void *room = gdx_part(&open, GDX_PART_numbers, sizeof raw);
    if (room)
        memcpy(room, raw, sizeof raw);
    gdx_commit(&open);
    gdx_take_stack(&open);
    gdx_end_quiet(&open, 0);
}

/* cudaMemset(address, value, count) and cudaMemsetAsync with a stream behind; not cudaMemset2D, 3D. */
static bool fills_nothing(const struct callback *call)
{
    static const char name[] = "cudaMemset", more[] = "Async";
    uint64_t words[3] = { 0 };
    const char *rest = call->function ? call->function + sizeof name - 1 : NULL;
    if (!rest || strncmp(call->function, name, sizeof name - 1))
        return false;
    if (*rest && *rest != '_' && strncmp(rest, more, sizeof more - 1))
        return false;
    struct gdx_lane *lane = gdx_on() ? gdx_lane() : NULL;
    if (!lane || !call->parameters || !gdx_read(&lane->reader, words, call->parameters, sizeof words))
        return false;
    return (uint32_t)words[1] && !words[2];
}

static void at_call(void *data, int domain, uint32_t number, const void *info)
{
    const struct callback *call = info;
    int saved = errno;
    (void)data, (void)number;
    if (domain == RUNTIME_DOMAIN && call->site == AT_BEGIN && call->kept)
        *call->kept = gdx_ticks();
    else if (domain == RUNTIME_DOMAIN && call->site == AT_END && call->result && *call->result != NOT_READY
             && (*call->result || fills_nothing(call)))
        note_error(call);
    errno = saved;
}

/* Called by the driver, once. What fails here only leaves the notes out; the experiment then sees none. */
GDX_EXPORT int InitializeInjection(void)
{
    const char *path = getenv("GPUDX_RUNTIME_ERRORS");
    void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*subscribe)(void **, callback_function *, void *) = NULL;
    int (*enable)(uint32_t, void *, int) = NULL;
    static void *subscriber;
    if (!library)
        return 1;
    *(void **)&subscribe = dlsym(library, "cuptiSubscribe");
    *(void **)&enable = dlsym(library, "cuptiEnableDomain");
    if (subscribe && enable && !subscribe(&subscriber, at_call, NULL))
        enable(1, subscriber, RUNTIME_DOMAIN);
    return 1;
}
