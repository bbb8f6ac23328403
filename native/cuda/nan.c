/* See nan.h. */
#define _GNU_SOURCE
#include "cuda/nan.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/asking.h"
#include "core/process.h"
#include "cuda/nan_scan.h"

enum { RANGES = 12, SLOTS = 2048, CONTEXTS = 16, TYPED = 1 << 12, KINDS = 64, VALUE_MOST = 4096, BLOCKS = 64, THREADS = 256,
       PER_THREAD = 64, LEAST = 1 << 18, PATH = 108, MAPPED_EVERYWHERE = 3, DEVICE_ORDINAL = 9 };

/* As nan_scan.cu has them. */
struct range { uint64_t at, count, kind; };
struct ask { struct range ranges[RANGES]; uint64_t slot, flag; uint32_t after, none; };
struct seen { uint64_t counts[RANGES][2][2], first[RANGES][2]; };  /* [range][before, after][infinities, NaN] */

/* A launch that was looked at; `seen` of the same number is what came of it. */
struct gdx_cu_nan_slot {
    const char *kernel;
    uint64_t launch, of_kernel, elements[RANGES];
    uint8_t arguments[RANGES], sizes[RANGES];
    unsigned ranges;
    bool written[RANGES];
};
static struct gdx_cu_nan_slot slots[SLOTS];  /* with the lock held, as all below */
static unsigned used;
static _Atomic unsigned between;             /* launches that were looked at before and not yet after: their slots stay */
static struct seen *room;                    /* page-locked; NULL: not yet */
static uint32_t *flag;
static struct { CUcontext context; CUfunction scan; } scans[CONTEXTS];
static _Atomic bool told[2], broken;
static _Atomic uint64_t scanned, unknown;
static pid_t owner;

/* ---- which parameters lead to numbers: src/gpudx/backends/cuda/nan_types.py is asked once for each kernel ---- */

struct typed { _Atomic uint64_t hash; char kinds[KINDS], modes[KINDS]; };
static struct typed known[TYPED];

static void ask_types(struct typed *to, const char *name)
{
    struct gdx_reply reply;
    char why[GDX_WHY];
    struct gdx_text question = { name, strlen(name) };
    const char *path = getenv("GPUDX_NAN_TYPES");
    if (!path || strlen(path) >= PATH || !gdx_ask(path, &question, 1, &reply, why))
        return;
    strncpy(to->kinds, reply.head + 3, KINDS - 1);
    strncpy(to->modes, reply.source, KINDS - 1);
    gdx_reply_free(&reply);
}

static const struct typed *types_of(const char *name)
{
    uint64_t hash = gdx_hash_text(name);
    for (unsigned i = 0, at = hash % TYPED; i < TYPED; i++, at = (at + 1) % TYPED) {
        uint64_t there = atomic_load(&known[at].hash);
        if (there == hash)
            return &known[at];
        if (!there) {
            ask_types(&known[at], name);
            atomic_store(&known[at].hash, hash);
            return &known[at];
        }
    }
    return NULL;
}

static unsigned size_of(char kind)
{
    return kind == 'd' ? 8 : kind == 'f' ? 4 : kind == 'h' || kind == 'b' ? 2 : 1;
}

/* ---- what is looked at ---- */

/* A kernel writes a few elements for each of its threads. An allocation may be a pool of everything that the program has. */
static void add_range(struct gdx_cu_nan_slot *to, struct ask *ask, uint64_t at, char kind, bool written, uint32_t argument, uint64_t threads)
{
    CUdeviceptr base = 0;
    size_t bytes = 0;
    uint64_t device = 0;  /* the driver writes an int */
    for (unsigned i = 0; i < to->ranges; i++)
        if (ask->ranges[i].at == at) {  /* read through one argument, written through another */
            to->arguments[i] = written && !to->written[i] ? (uint8_t)argument : to->arguments[i];
            to->written[i] |= written;
            return;
        }
    if (to->ranges == RANGES || at < 0x10000 || at % size_of(kind) || !gdx_cu_driver.cuMemGetAddressRange_v2
        || gdx_cu_driver.cuMemGetAddressRange_v2(&base, &bytes, at) != CUDA_SUCCESS || !bytes
        || gdx_cu_driver.cuPointerGetAttribute(&device, DEVICE_ORDINAL, at) != CUDA_SUCCESS || (int)device != gdx_cu_current_device())
        return;
    uint64_t count = (base + bytes - at) / size_of(kind), most = threads * PER_THREAD > LEAST ? threads * PER_THREAD : LEAST;
    count = count < most ? count : most;
    ask->ranges[to->ranges] = (struct range){ at, count, (uint64_t)kind };
    to->elements[to->ranges] = count;
    to->arguments[to->ranges] = (uint8_t)argument;
    to->sizes[to->ranges] = (uint8_t)size_of(kind);
    to->written[to->ranges++] = written;
}

static void find_ranges(struct gdx_cu_nan_slot *to, struct ask *ask, const struct gdx_cu_wanted *l, const struct gdx_layout *layout,
                        const struct typed *types)
{
    const struct gdx_shape *s = &l->shape;
    uint64_t threads = (uint64_t)s->grid_x * s->grid_y * s->grid_z * s->block_x * s->block_y * s->block_z, word;
    size_t named = strnlen(types->kinds, KINDS);
    char value[VALUE_MOST];
    bool all = types->kinds[0] == '*';
    for (uint32_t i = 0; i < layout->count; i++) {
        char kind = all ? types->kinds[1] : i < named ? types->kinds[i] : '?';
        size_t bytes = kind == '-' ? 0 : gdx_argument_bytes(layout, l->params, l->extra, i, value, sizeof value);
        if (kind == '?' && bytes >= sizeof word)
            atomic_fetch_add(&unknown, 1);
        for (size_t at = 0; kind != '?' && at + sizeof word <= bytes; at += sizeof word) {
            memcpy(&word, value + at, sizeof word);
            add_range(to, ask, word, kind, all || types->modes[i] != 'r', i, threads);
        }
    }
}

/* ---- what was found ---- */

/* The first launch after which there is more than before: it made it, or got it from a launch that was not looked at. */
static void judge(struct gdx_cu_nan_slot *one, const struct seen *s)
{
    bool exact = gdx_nan_every() == 1;
    uint64_t before[2] = { 0, 0 };
    for (unsigned r = 0; r < one->ranges; r++)
        for (int nan = 0; nan < 2; nan++)
            before[nan] += s->counts[r][0][nan];
    for (int nan = 0; nan < 2; nan++)
        for (unsigned r = 0; r < one->ranges && !told[nan]; r++) {
            uint64_t after = s->counts[r][1][nan];
            if (!one->written[r] || after <= s->counts[r][0][nan])
                continue;
            const uint64_t words[] = { (uint64_t)nan, s->first[r][nan], after, one->sizes[r], one->elements[r], exact,
                                       exact ? before[nan] + (nan ? 0 : before[1]) : 0 };
            told[nan] = true;
            gdx_nan_found(one->kernel, words, 7, one->launch, one->of_kernel, one->arguments[r]);
        }
}

/* `safe`: the driver may be gone, and the memory with it. */
static void judge_all(bool safe)
{
    struct gdx_lane *lane = gdx_lane();
    for (unsigned i = 0; lane && i < used; i++) {
        struct seen s;
        if (safe ? gdx_read(&lane->reader, &s, &room[i], sizeof s) : (memcpy(&s, &room[i], sizeof s), true))
            judge(&slots[i], &s);
    }
    used = 0;
}

/* ---- looking ---- */

static bool make_room(void)
{
    void *made = NULL;
    size_t bytes = SLOTS * sizeof *room + sizeof *flag;
    if (!room && (!gdx_cu_driver.cuMemHostAlloc || gdx_cu_driver.cuMemHostAlloc(&made, bytes, MAPPED_EVERYWHERE) != CUDA_SUCCESS))
        return false;
    if (!room) {
        memset(made, 0, bytes);
        room = made;
        flag = (uint32_t *)(room + SLOTS);
        owner = getpid();
    }
    return true;
}

static CUfunction scan_of(CUcontext context)
{
    CUmodule module;
    for (unsigned i = 0; i < CONTEXTS; i++) {
        if (scans[i].context == context)
            return scans[i].scan;
        if (scans[i].context)
            continue;
        scans[i].context = context;
        if (gdx_cu_driver.cuModuleLoadData(&module, GDX_NAN_PTX) != CUDA_SUCCESS
            || gdx_cu_driver.cuModuleGetFunction(&scans[i].scan, module, "gdx_nan_scan") != CUDA_SUCCESS)
            scans[i].scan = NULL;
        return scans[i].scan;
    }
    return NULL;
}

static bool look(CUfunction scan, struct ask *ask, unsigned ranges, CUstream queue)
{
    void *params[] = { ask };
    return gdx_cu_driver.cuLaunchKernel(scan, BLOCKS, ranges, 1, THREADS, 1, 1, 0, queue, params, NULL) == CUDA_SUCCESS;
}

/* Of each slot, from before its launch until after it. A slot is used again only when no launch is in between. */
static struct ask asked[SLOTS];
static struct gdx_cu_nan opened[SLOTS];

static struct gdx_cu_nan *begin(const struct gdx_cu_wanted *l, const struct gdx_layout *layout, const char *name, const struct typed *types,
                                uint64_t launch, uint64_t of_kernel)
{
    CUcontext context = NULL;
    CUstream queue = l->own_thread && !l->queue ? (CUstream)CU_STREAM_PER_THREAD : l->queue;
    if (gdx_cu_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context || !make_room())
        return NULL;
    bool full = !between && (used == SLOTS || *(volatile uint32_t *)flag);
    if (full && gdx_cu_driver.cuCtxSynchronize() != CUDA_SUCCESS)
        return NULL;
    if (full) {
        *flag = 0;
        judge_all(false);
    }
    CUfunction scan = scan_of(context);
    if (!scan || used == SLOTS || (told[0] && told[1]))
        return NULL;
    struct gdx_cu_nan_slot *slot = &slots[used];
    *slot = (struct gdx_cu_nan_slot){ .kernel = name, .launch = launch, .of_kernel = of_kernel };
    struct ask *ask = &asked[used];
    struct gdx_cu_nan *made = &opened[used];
    *ask = (struct ask){ .slot = (uint64_t)(uintptr_t)&room[used], .flag = (uint64_t)(uintptr_t)flag };
    find_ranges(slot, ask, l, layout, types);
    if (!slot->ranges)
        return NULL;
    memset(&room[used], 0, sizeof *room);
    memset(room[used].first, 0xff, sizeof room[used].first);
    if (gdx_nan_every() == 1 && !look(scan, ask, slot->ranges, queue))
        return NULL;
    used++;
    between++;
    *made = (struct gdx_cu_nan){ .scan = scan, .slot = slot, .ranges = slot->ranges, .own_thread = l->own_thread };
    return made;
}

struct gdx_cu_nan *gdx_cu_nan_before(const struct gdx_cu_wanted *l, const struct gdx_layout *layout)
{
    struct gdx_calm calm;
    uint64_t of_kernel, launch;
    int saved = errno;
    const char *name = gdx_on() ? gdx_cu_name_of(l->kernel) : NULL;
    if (!name)
        return NULL;
    launch = gdx_count_launch(name, &of_kernel);
    if ((told[0] && told[1]) || broken || !layout || !gdx_nan_here(launch) || atomic_load(&gdx_cu_captures) > 0)
        return NULL;
    const struct typed *types = types_of(name);
    gdx_lock(GDX_LOCK_CAPTURE, &calm);
    struct gdx_cu_nan *made = types ? begin(l, layout, name, types, launch, of_kernel) : NULL;
    gdx_unlock(GDX_LOCK_CAPTURE, &calm);
    atomic_fetch_add(&scanned, 1);
    errno = saved;
    return made;
}

void gdx_cu_nan_after(struct gdx_cu_nan *n, CUstream queue, CUresult status)
{
    int saved = errno;
    struct ask *ask = &asked[n - opened];
    ask->after = 1;
    if (status == CUDA_SUCCESS)
        broken |= !look(n->scan, ask, n->ranges, n->own_thread && !queue ? (CUstream)CU_STREAM_PER_THREAD : queue);
    between--;
    errno = saved;
}

__attribute__((destructor)) static void leave(void)
{
    if (!room || owner != getpid() || !gdx_on())
        return;
    judge_all(true);
    gdx_nan_scanned(atomic_load(&scanned), gdx_launches_counted(), atomic_load(&unknown));
}
