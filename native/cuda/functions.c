/* Functions that a program can launch, and the layout of their parameters.
 *
 * A launch gives the driver an array of pointers without sizes. The sizes come from cuFuncGetParamInfo; a CUkernel,
 * which the launch calls take too since CUDA 12, is refused by that with CUDA_ERROR_INVALID_HANDLE and answers to
 * cuKernelGetParamInfo (seen with driver 580).
 *
 * The table is open-addressed, read and written without locks. Keys stay for ever: a handle that dies and comes back
 * takes its old row. Layouts are written once into memory that is never given back, so a thread that still reads the
 * layout of a function that another thread unloads reads old numbers, never freed memory. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "cuda/hooks.h"

enum { ROWS = 1 << 16, PROBES = 64, ARENA = 64 << 20, PARAMS_MAX = 8192, TRIES = 8 };
enum state { UNKNOWN = 0, KNOWN = 1, DEAD = 2 };

struct row {
    _Atomic uintptr_t function;
    _Atomic uintptr_t owner;               /* its module or library, 0: not known */
    _Atomic(struct gdx_cu_layout *) layout;
    _Atomic uint8_t state, is_kernel, tries;
};

static struct row *_Atomic rows GDX_HOT_DATA;
static char *_Atomic arena;
static _Atomic size_t arena_used;

static void *reserve(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Untouched pages cost nothing, so both areas can be generous. Two threads may reserve at once: one gives way. */
static struct row *table(void)
{
    struct row *now = atomic_load_explicit(&rows, memory_order_acquire);
    if (now)
        return now;
    struct row *fresh = reserve(ROWS * sizeof *fresh);
    if (!fresh || atomic_compare_exchange_strong(&rows, &now, fresh))
        return fresh;
    munmap(fresh, ROWS * sizeof *fresh);
    return now;
}

static void *keep(size_t bytes)
{
    char *base = atomic_load(&arena);
    if (!base) {
        char *fresh = reserve(ARENA);
        if (!fresh)
            return NULL;
        if (!atomic_compare_exchange_strong(&arena, &base, fresh))
            munmap(fresh, ARENA);
        else
            base = fresh;
    }
    bytes = (bytes + 15) & ~(size_t)15;
    size_t at = atomic_fetch_add(&arena_used, bytes);
    return at + bytes <= ARENA ? base + at : NULL;
}

static size_t home(uintptr_t function)
{
    return (size_t)((function >> 4) * 0x9e3779b97f4a7c15ull >> 40) % ROWS;
}

GDX_HOT static struct row *find(uintptr_t function)
{
    struct row *all = atomic_load_explicit(&rows, memory_order_acquire);
    if (!all || !function)
        return NULL;
    for (size_t i = 0, at = home(function); i < PROBES; i++, at = (at + 1) % ROWS) {
        uintptr_t here = atomic_load_explicit(&all[at].function, memory_order_acquire);
        if (here == function)
            return &all[at];
        if (!here)
            return NULL;
    }
    return NULL;
}

static struct row *find_or_claim(uintptr_t function)
{
    struct row *all = table();
    if (!all || !function)
        return NULL;
    for (size_t i = 0, at = home(function); i < PROBES; i++, at = (at + 1) % ROWS) {
        uintptr_t here = 0;
        if (atomic_compare_exchange_strong(&all[at].function, &here, function) || here == function)
            return &all[at];
    }
    return NULL;
}

/* The driver gave `function` to the program: it is good until its owner goes. */
void gdx_cu_meet(uintptr_t function, uintptr_t owner, bool is_kernel)
{
    struct row *row = gdx_on() ? find_or_claim(function) : NULL;
    if (!row || (atomic_load(&row->state) == KNOWN && atomic_load(&row->owner) == owner))
        return;
    atomic_store(&row->layout, NULL);
    atomic_store(&row->owner, owner);
    atomic_store(&row->is_kernel, is_kernel);
    atomic_store(&row->tries, 0);
    atomic_store_explicit(&row->state, KNOWN, memory_order_release);
}

static void kill_row(struct row *row)
{
    atomic_store(&row->state, DEAD);
    atomic_store(&row->layout, NULL);
}

void gdx_cu_forget_owner(uintptr_t owner)
{
    struct row *all = atomic_load(&rows);
    for (size_t i = 0; all && owner && i < ROWS; i++)
        if (atomic_load_explicit(&all[i].owner, memory_order_relaxed) == owner)
            kill_row(&all[i]);
}

void gdx_cu_forget_functions(bool kernels_too)
{
    struct row *all = atomic_load(&rows);
    for (size_t i = 0; all && i < ROWS; i++)
        if (atomic_load_explicit(&all[i].function, memory_order_relaxed)
            && (kernels_too || !atomic_load(&all[i].is_kernel)))
            kill_row(&all[i]);
}

/* ---- asking the driver ---- */

static CUresult ask_param(uintptr_t function, bool is_kernel, size_t index, size_t *offset, size_t *size)
{
    if (is_kernel)
        return gdx_cu_next.cuKernelGetParamInfo
            ? gdx_cu_next.cuKernelGetParamInfo((CUkernel)function, index, offset, size)
            : CUDA_ERROR_NOT_SUPPORTED;
    return gdx_cu_next.cuFuncGetParamInfo ? gdx_cu_next.cuFuncGetParamInfo((CUfunction)function, index, offset, size)
                                          : CUDA_ERROR_NOT_SUPPORTED;
}

/* How many parameters there are, and whether the handle is a kernel's; -1 when the driver does not say. The question is
 * asked until it fails with CUDA_ERROR_INVALID_VALUE, as the driver API reference describes. */
static int count_params(uintptr_t function, bool *is_kernel)
{
    size_t offset, size;
    CUresult status = ask_param(function, *is_kernel, 0, &offset, &size);
    if (status == CUDA_ERROR_INVALID_HANDLE) {
        *is_kernel = !*is_kernel;
        status = ask_param(function, *is_kernel, 0, &offset, &size);
    }
    int count = 0;
    while (status == CUDA_SUCCESS && count < PARAMS_MAX)
        status = ask_param(function, *is_kernel, (size_t)++count, &offset, &size);
    return status == CUDA_ERROR_INVALID_VALUE || status == CUDA_SUCCESS ? count : -1;
}

/* Room among the long values, in order, as far as it goes. */
static uint32_t tail_place(struct gdx_cu_layout *layout, uint32_t size)
{
    uint32_t need = (size + 7) & ~7u, at = layout->tail_bytes;
    if (size <= 8 || need > GDX_CU_TAIL - at)
        return UINT32_MAX;
    layout->tail_bytes += need;
    return at;
}

static struct gdx_cu_layout *read_layout(uintptr_t function, bool is_kernel, int count)
{
    uint32_t kept = count < GDX_CU_ARGUMENTS ? (uint32_t)count : GDX_CU_ARGUMENTS;
    struct gdx_cu_layout *layout = keep(sizeof *layout + kept * sizeof *layout->params);
    if (!layout)
        return NULL;
    layout->count = kept;
    layout->all = (uint32_t)count;
    layout->bytes = layout->tail_bytes = 0;
    for (uint32_t i = 0; i < (uint32_t)count; i++) {
        size_t offset = 0, size = 0;
        ask_param(function, is_kernel, i, &offset, &size);
        if (offset + size > layout->bytes)
            layout->bytes = (uint32_t)(offset + size);
        if (i >= kept)
            continue;
        layout->params[i] = (struct gdx_cu_param){ (uint32_t)offset, (uint32_t)size, UINT32_MAX };
        layout->params[i].tail = tail_place(layout, (uint32_t)size);
    }
    return layout;
}

/* ---- notes ---- */

static uint64_t attribute(uintptr_t function, bool is_kernel, CUfunction_attribute what, int device)
{
    int value = 0;
    CUresult status = CUDA_ERROR_NOT_SUPPORTED;
    if (is_kernel && gdx_cu_next.cuKernelGetAttribute && device >= 0)
        status = gdx_cu_next.cuKernelGetAttribute(&value, what, (CUkernel)function, device);
    if (!is_kernel && gdx_cu_next.cuFuncGetAttribute)
        status = gdx_cu_next.cuFuncGetAttribute(&value, what, (CUfunction)function);
    return status == CUDA_SUCCESS ? (uint64_t)(int64_t)value : 0;
}

static struct gdx_text name_of(uintptr_t function, bool is_kernel)
{
    const char *name = NULL;
    CUresult status = CUDA_ERROR_NOT_SUPPORTED;
    if (is_kernel && gdx_cu_next.cuKernelGetName)
        status = gdx_cu_next.cuKernelGetName(&name, (CUkernel)function);
    if (!is_kernel && gdx_cu_next.cuFuncGetName)
        status = gdx_cu_next.cuFuncGetName(&name, (CUfunction)function);
    if (status != CUDA_SUCCESS || !name)
        return (struct gdx_text){ 0 };
    return (struct gdx_text){ name, strnlen(name, GDX_TEXT_MAX) };
}

/* Only what the driver gave out is asked about: the kinds of handle look alike, and a wrong one may not be survived. */
const char *gdx_cu_name_of(CUfunction function)
{
    struct row *row = find((uintptr_t)function);
    if (!row || atomic_load_explicit(&row->state, memory_order_acquire) != KNOWN)
        return NULL;
    return name_of((uintptr_t)function, atomic_load(&row->is_kernel)).data;
}

/* The order is that of `numbers` of note_kernel in schema/events.toml. */
static void note_kernel(uintptr_t function, bool is_kernel, uint64_t owner, int count)
{
    int device = gdx_cu_current_device();
#define ATTRIBUTE(what) attribute(function, is_kernel, CU_FUNC_ATTRIBUTE_##what, device)
    const uint64_t words[] = {
        function, owner, (uint64_t)(int64_t)count, ATTRIBUTE(MAX_THREADS_PER_BLOCK), ATTRIBUTE(SHARED_SIZE_BYTES),
        ATTRIBUTE(LOCAL_SIZE_BYTES), 32 /* a warp */, (uint64_t)(int64_t)device,
    };
    const uint64_t numbers[] = {
        0, 0, 0, ATTRIBUTE(NUM_REGS), ATTRIBUTE(CONST_SIZE_BYTES), ATTRIBUTE(MAX_DYNAMIC_SHARED_SIZE_BYTES),
        ATTRIBUTE(PTX_VERSION), ATTRIBUTE(BINARY_VERSION), ATTRIBUTE(CLUSTER_SIZE_MUST_BE_SET),
        ATTRIBUTE(REQUIRED_CLUSTER_WIDTH), ATTRIBUTE(REQUIRED_CLUSTER_HEIGHT), ATTRIBUTE(REQUIRED_CLUSTER_DEPTH),
        ATTRIBUTE(NON_PORTABLE_CLUSTER_SIZE_ALLOWED),
    };
#undef ATTRIBUTE
    gdx_note(GDX_CALL_note_kernel, words, 8, name_of(function, is_kernel), (struct gdx_text){ 0 }, numbers,
             sizeof numbers / sizeof *numbers);
}

static void note_params(uintptr_t function, const struct gdx_cu_layout *layout)
{
    uint64_t numbers[2 * GDX_CU_ARGUMENTS];
    const uint64_t words[] = { function, layout->all, layout->bytes };
    for (uint32_t i = 0; i < layout->count; i++) {
        numbers[2 * i] = layout->params[i].offset;
        numbers[2 * i + 1] = layout->params[i].size;
    }
    gdx_note(GDX_CALL_note_kernel_params, words, 3, (struct gdx_text){ 0 }, (struct gdx_text){ 0 }, numbers,
             2 * layout->count);
}

/* Several threads may come here at once for one function; the first to store its layout writes the notes. */
static const struct gdx_cu_layout *describe(struct row *row, uintptr_t function)
{
    struct gdx_lane *lane = gdx_lane();
    bool is_kernel = atomic_load(&row->is_kernel);
    if (!lane || lane->busy || atomic_load(&row->tries) >= TRIES)
        return NULL;
    bool first = atomic_fetch_add(&row->tries, 1) == 0;
    int count = count_params(function, &is_kernel);
    struct gdx_cu_layout *layout = count >= 0 ? read_layout(function, is_kernel, count) : NULL, *none = NULL;
    if (!layout) {
        /* The driver is too old to tell (before CUDA 12.4), or has failed: the name is worth having all the same. */
        if (first)
            note_kernel(function, is_kernel, atomic_load(&row->owner), -1);
        return NULL;
    }
    atomic_store(&row->is_kernel, is_kernel);
    if (!atomic_compare_exchange_strong(&row->layout, &none, layout))
        return none;
    note_kernel(function, is_kernel, atomic_load(&row->owner), count);
    note_params(function, layout);
    return layout;
}

GDX_HOT const struct gdx_cu_layout *gdx_cu_layout_of(CUfunction function)
{
    struct row *row = find((uintptr_t)function);
    if (GDX_UNLIKELY(!row || atomic_load_explicit(&row->state, memory_order_acquire) != KNOWN))
        return NULL;
    const struct gdx_cu_layout *layout = atomic_load_explicit(&row->layout, memory_order_acquire);
    return GDX_LIKELY(layout) ? layout : describe(row, (uintptr_t)function);
}

void gdx_cu_met_by_launch(CUfunction function)
{
    struct row *row = find((uintptr_t)function);
    if (!row || atomic_load(&row->state) != KNOWN)
        gdx_cu_meet((uintptr_t)function, 0, false);
}

/* ---- where functions come from ---- */

void gdx_cu_after_cuModuleGetFunction(CUresult status, CUfunction *result, CUmodule program, const char *name)
{
    (void)name;
    if (status == CUDA_SUCCESS && result)
        gdx_cu_meet((uintptr_t)*result, (uintptr_t)program, false);
}

void gdx_cu_after_cuModuleEnumerateFunctions(CUresult status, CUfunction *functions, unsigned int count,
                                             CUmodule program)
{
    for (unsigned int i = 0; status == CUDA_SUCCESS && functions && i < count; i++)
        gdx_cu_meet((uintptr_t)functions[i], (uintptr_t)program, false);
}

void gdx_cu_after_cuLibraryGetKernel(CUresult status, CUkernel *result, CUlibrary program, const char *name)
{
    (void)name;
    if (status == CUDA_SUCCESS && result)
        gdx_cu_meet((uintptr_t)*result, (uintptr_t)program, true);
}

void gdx_cu_after_cuLibraryEnumerateKernels(CUresult status, CUkernel *kernels, unsigned int count, CUlibrary program)
{
    for (unsigned int i = 0; status == CUDA_SUCCESS && kernels && i < count; i++)
        gdx_cu_meet((uintptr_t)kernels[i], (uintptr_t)program, true);
}

void gdx_cu_after_cuKernelGetFunction(CUresult status, CUfunction *result, CUkernel kernel)
{
    if (status != CUDA_SUCCESS || !result)
        return;
    struct row *row = find((uintptr_t)kernel);
    gdx_cu_meet((uintptr_t)*result, row ? atomic_load(&row->owner) : 0, false);
}

void gdx_cu_before_cuModuleUnload(CUmodule program)
{
    gdx_cu_forget_owner((uintptr_t)program);
}

void gdx_cu_before_cuLibraryUnload(CUlibrary program)
{
    gdx_cu_forget_owner((uintptr_t)program);
}

/* ---- what the compiler inside the driver said ---- */

/* Options are an array of names and an array of values of the same length; the log is a buffer of the program's. */
static void note_log(CUresult status, unsigned int count, const CUjit_option *options, void *const *values)
{
    struct gdx_lane *lane = gdx_lane();
    const char *log = NULL;
    size_t room = 0;
    if (status == CUDA_SUCCESS || !lane || !options || !values || !count || count > 256)
        return;
    if (!gdx_readable(lane, options, count * sizeof *options) || !gdx_readable(lane, values, count * sizeof *values))
        return;
    for (unsigned int i = 0; i < count; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            log = values[i];
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            room = (size_t)(uintptr_t)values[i];
    }
    if (!log || !room || room > GDX_LARGE_MAX || !gdx_readable(lane, log, room))
        return;
    const uint64_t words[] = { 0, 0, (uint64_t)(int64_t)status };
    struct gdx_text text = { log, strnlen(log, room) };
    gdx_note(GDX_CALL_note_build_log, words, 3, text, (struct gdx_text){ 0 }, NULL, 0);
}

void gdx_cu_after_cuModuleLoadDataEx(CUresult status, CUmodule *result, const void *image, unsigned int option_count,
                                     CUjit_option *options, void **values)
{
    (void)result, (void)image;
    note_log(status, option_count, options, values);
}

void gdx_cu_after_cuLibraryLoadData(CUresult status, CUlibrary *result, const void *image, CUjit_option *options,
                                    void **values, unsigned int option_count, CUlibraryOption *library_options,
                                    void **library_values, unsigned int library_option_count)
{
    (void)result, (void)image, (void)library_options, (void)library_values, (void)library_option_count;
    note_log(status, option_count, options, values);
}

void gdx_cu_after_cuLibraryLoadFromFile(CUresult status, CUlibrary *result, const char *path, CUjit_option *options,
                                        void **values, unsigned int option_count, CUlibraryOption *library_options,
                                        void **library_values, unsigned int library_option_count)
{
    (void)result, (void)path, (void)library_options, (void)library_values, (void)library_option_count;
    note_log(status, option_count, options, values);
}
