/* Kernels that check themselves (gpudx run --sanitize=ptx): when a module is loaded, a process of gpudx's rewrites the PTX in it
 * (src/gpudx/ptx_checks), and the driver is given that. Each rewritten module has a report in a global variable of its own. It is
 * read behind each launch, which is waited for (core/serialise.h), so whose launch a report is of is known. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/asking.h"
#include "core/process.h"
#include "cuda/hooks.h"

enum { MODULES = 256, HEAD = 8, RECORDS = 64, WORDS = 24, LARGEST = 16 << 20, PATH = 108 };
static const uint32_t wrapper_magic = 0x466243b1, fat_magic = 0xba55ed50;  /* images.c */

struct module { uint64_t handle; CUdeviceptr report; uint32_t program, seen; bool library; };
static struct module modules[MODULES];  /* with the lock held */
_Atomic unsigned gdx_cu_checked_modules;
static _Atomic int setting = -1;
static char path[PATH];

static bool wanted(void)
{
    if (setting < 0 && environ) {
        const char *asked = gdx_directory() ? getenv("GPUDX_PTX_CHECKS") : NULL;
        bool fits = asked && *asked && strlen(asked) < sizeof path;
        if (fits && !*path)
            strcpy(path, asked);
        setting = fits;
    }
    return setting > 0;
}

/* The driver's compiler gives up on some long kernels with calls in them ("Register allocation failed", ptxas of CUDA 13.0 on the radix
 * sort of CUB), and does not if it need not optimize. */
CUjit_option gdx_cu_checked_option[1] = { CU_JIT_OPTIMIZATION_LEVEL };
void *gdx_cu_checked_level[1] = { NULL };

/* A copy of the image, for which `room` bytes are mapped; NULL: it is none that can hold PTX. */
static char *copy_of(const void *image, size_t *bytes, size_t *room)
{
    const struct gdx_lane *lane = gdx_lane();
    struct { uint32_t magic, version; const char *data; } wrapper;
    struct { uint32_t magic; uint16_t version, header_bytes; uint64_t bytes; } fat;
    const char *from = image;
    if (!lane || !image)
        return NULL;
    if (gdx_read(&lane->reader, &wrapper, from, sizeof wrapper) && wrapper.magic == wrapper_magic)
        from = wrapper.data;
    bool is_fat = gdx_read(&lane->reader, &fat, from, sizeof fat) && fat.magic == fat_magic;
    if (is_fat && fat.bytes > LARGEST)
        return NULL;
    *room = is_fat ? fat.header_bytes + fat.bytes : LARGEST;
    char *copy = mmap(NULL, *room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copy == MAP_FAILED)
        return NULL;
    bool whole = true;
    *bytes = is_fat ? gdx_read_some(&lane->reader, copy, from, *room) : gdx_read_text(&lane->reader, copy, *room, from, &whole);
    if (whole && (*bytes == *room || !is_fat) && *bytes > 4 && memcmp(copy, "\177ELF", 4))
        return copy;
    munmap(copy, *room);
    return NULL;
}

/* `kernel`: one of the module's, so that people know it; "" where none is known. */
static void not_checked(const char *why, const char *kernel)
{
    const uint64_t words[] = { 0 };
    gdx_note(GDX_CALL_note_not_checked, words, 1, (struct gdx_text){ why, strlen(why) },
             (struct gdx_text){ kernel, strlen(kernel) }, NULL, 0);
}

/* "ok NUMBER SITES KERNEL". The code stays mapped, as the driver may read it later. */
static struct gdx_cu_checked from_reply(const struct gdx_reply *reply)
{
    char *end;
    unsigned long number = strtoul(reply->head + 3, &end, 10);
    strtoul(end, &end, 10);
    return (struct gdx_cu_checked){ reply->source, (uint32_t)number, *end == ' ' ? end + 1 : end };
}

struct gdx_cu_checked gdx_cu_checked_image(const void *image)
{
    struct gdx_cu_checked given = { image, 0, "" };
    struct gdx_reply reply;
    char why[GDX_WHY];
    size_t bytes = 0, room = 0;
    int saved = errno;
    if (GDX_LIKELY(!wanted()) || !gdx_on())
        return given;
    char *copy = copy_of(image, &bytes, &room);
    struct gdx_text question = { copy, bytes };
    if (!copy) {
        not_checked("no PTX is embedded in it", "");
    } else if (gdx_ask(path, &question, 1, &reply, why)) {
        given = from_reply(&reply);
    } else {
        not_checked(why, "");
    }
    if (copy)
        munmap(copy, room);
    errno = saved;
    return given;
}

/* Drivers put the compilation off until code of a library is asked for: it is asked for now, so that what the driver refuses is not met
 * by the program. A kernel that is not there, or a thread without a context, says nothing about the code. */
static bool compiles(const struct gdx_cu_checked *checked, void *result, bool library)
{
    CUresult status = CUDA_SUCCESS;
    CUkernel kernel;
    CUfunction function;
    if (*checked->kernel && library && gdx_cu_next.cuLibraryGetKernel)
        status = gdx_cu_next.cuLibraryGetKernel(&kernel, *(CUlibrary *)result, checked->kernel);
    else if (*checked->kernel && !library && gdx_cu_next.cuModuleGetFunction)
        status = gdx_cu_next.cuModuleGetFunction(&function, *(CUmodule *)result, checked->kernel);
    if (status == CUDA_SUCCESS || status == CUDA_ERROR_NOT_FOUND || status == CUDA_ERROR_INVALID_CONTEXT)
        return true;
    if (library && gdx_cu_next.cuLibraryUnload)
        gdx_cu_next.cuLibraryUnload(*(CUlibrary *)result);
    else if (!library && gdx_cu_next.cuModuleUnload)
        gdx_cu_next.cuModuleUnload(*(CUmodule *)result);
    return false;
}

void gdx_cu_checked_refused(const struct gdx_cu_checked *checked)
{
    not_checked("the driver refused the rewritten code", checked->kernel);
}

bool gdx_cu_checked_loaded(const struct gdx_cu_checked *checked, CUresult status, void *result, bool library)
{
    struct gdx_calm calm;
    if (status != CUDA_SUCCESS || !result || !compiles(checked, result, library))
        return false;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    unsigned at = gdx_cu_checked_modules;
    if (at < MODULES)
        modules[at] = (struct module){ .handle = *(uint64_t *)result, .program = checked->program, .library = library };
    gdx_cu_checked_modules = at < MODULES ? at + 1 : at;
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    return true;
}

static bool find_report(struct module *m)
{
    size_t bytes = 0;
    if (m->report)
        return true;
    CUresult status = CUDA_ERROR_NOT_FOUND;
    if (m->library && gdx_cu_next.cuLibraryGetGlobal)
        status = gdx_cu_next.cuLibraryGetGlobal(&m->report, &bytes, (CUlibrary)(uintptr_t)m->handle, "gdx_report");
    else if (!m->library && gdx_cu_next.cuModuleGetGlobal_v2)
        status = gdx_cu_next.cuModuleGetGlobal_v2(&m->report, &bytes, (CUmodule)(uintptr_t)m->handle, "gdx_report");
    if (status != CUDA_SUCCESS || bytes != (HEAD + RECORDS * WORDS) * sizeof(uint32_t))
        m->report = 0;
    return m->report != 0;
}

static void note(uint64_t began, uint32_t program, const uint32_t *record)
{
    uint64_t words[] = { began, program }, numbers[WORDS];
    for (int i = 0; i < WORDS; i++)
        numbers[i] = record[i];
    gdx_note(GDX_CALL_note_kernel_check, words, 2, (struct gdx_text){ 0 }, (struct gdx_text){ 0 }, numbers, WORDS);
}

static void read_report(struct module *m, uint64_t began)
{
    uint32_t made = 0, record[WORDS];
    if (gdx_cu_next.cuMemcpyDtoH_v2(&made, m->report, sizeof made) != CUDA_SUCCESS)
        return;
    for (made = made < RECORDS ? made : RECORDS; m->seen < made; m->seen++)
        if (gdx_cu_next.cuMemcpyDtoH_v2(record, m->report + (HEAD + m->seen * WORDS) * sizeof *record, sizeof record) == CUDA_SUCCESS)
            note(began, m->program, record);
}

void gdx_cu_checked_collect_now(const struct gdx_open *launch)
{
    struct gdx_calm calm;
    if (!launch->slot || gdx_cu_captures > 0)
        return;
    uint64_t began = launch->slot->begin;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    for (unsigned i = 0; i < gdx_cu_checked_modules; i++)
        if (find_report(&modules[i]))
            read_report(&modules[i], began);
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
}
