/* What the driver tells of the functions that a program can launch (driver/functions.h).
 *
 * The sizes of parameters come from cuFuncGetParamInfo; a CUkernel, which the launch calls take too since CUDA 12, is
 * refused by that with CUDA_ERROR_INVALID_HANDLE and answers to cuKernelGetParamInfo (seen with driver 580). */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "cuda/hooks.h"

enum { PARAMS_MAX = 8192, TRIES = 8 };

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

static struct gdx_layout *read_layout(uintptr_t function, bool is_kernel, int count)
{
    struct gdx_layout *layout = gdx_layout_begin((uint32_t)count);
    for (uint32_t i = 0; layout && i < (uint32_t)count; i++) {
        size_t offset = 0, size = 0;
        ask_param(function, is_kernel, i, &offset, &size);
        gdx_layout_add(layout, i, offset, size);
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
    struct gdx_function *row = gdx_known((uintptr_t)function);
    return row ? name_of((uintptr_t)function, atomic_load(&row->kind) == GDX_CU_KERNEL).data : NULL;
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

/* Several threads may come here at once for one function; the first to store its layout writes the notes. */
GDX_COLD static const struct gdx_layout *describe(struct gdx_function *row, uintptr_t function)
{
    struct gdx_lane *lane = gdx_lane();
    bool is_kernel = atomic_load(&row->kind) == GDX_CU_KERNEL;
    if (!lane || lane->busy || atomic_load(&row->tries) >= TRIES)
        return NULL;
    bool first = atomic_fetch_add(&row->tries, 1) == 0;
    int count = count_params(function, &is_kernel);
    struct gdx_layout *layout = count >= 0 ? read_layout(function, is_kernel, count) : NULL, *none = NULL;
    if (!layout) {
        /* The driver is too old to tell (before CUDA 12.4), or has failed: the name is worth having all the same. */
        if (first)
            note_kernel(function, is_kernel, atomic_load(&row->owner), -1);
        return NULL;
    }
    atomic_store(&row->kind, is_kernel ? GDX_CU_KERNEL : GDX_CU_FUNCTION);
    if (!atomic_compare_exchange_strong(&row->layout, &none, layout))
        return none;
    note_kernel(function, is_kernel, atomic_load(&row->owner), count);
    gdx_note_layout(function, layout);
    return layout;
}

GDX_HOT const struct gdx_layout *gdx_cu_layout_of(CUfunction function)
{
    return gdx_layout_of((uintptr_t)function, describe);
}

void gdx_cu_met_by_launch(CUfunction function)
{
    if (!gdx_known((uintptr_t)function))
        gdx_meet((uintptr_t)function, 0, GDX_CU_FUNCTION, NULL);
}

/* ---- where functions come from ---- */

void gdx_cu_after_cuModuleGetFunction(CUresult status, CUfunction *result, CUmodule program, const char *name)
{
    (void)name;
    if (status == CUDA_SUCCESS && result)
        gdx_meet((uintptr_t)*result, (uintptr_t)program, GDX_CU_FUNCTION, NULL);
}

void gdx_cu_after_cuModuleEnumerateFunctions(CUresult status, CUfunction *functions, unsigned int count,
                                             CUmodule program)
{
    for (unsigned int i = 0; status == CUDA_SUCCESS && functions && i < count; i++)
        gdx_meet((uintptr_t)functions[i], (uintptr_t)program, GDX_CU_FUNCTION, NULL);
}

void gdx_cu_after_cuLibraryGetKernel(CUresult status, CUkernel *result, CUlibrary program, const char *name)
{
    (void)name;
    if (status == CUDA_SUCCESS && result)
        gdx_meet((uintptr_t)*result, (uintptr_t)program, GDX_CU_KERNEL, NULL);
}

void gdx_cu_after_cuLibraryEnumerateKernels(CUresult status, CUkernel *kernels, unsigned int count, CUlibrary program)
{
    for (unsigned int i = 0; status == CUDA_SUCCESS && kernels && i < count; i++)
        gdx_meet((uintptr_t)kernels[i], (uintptr_t)program, GDX_CU_KERNEL, NULL);
}

void gdx_cu_after_cuKernelGetFunction(CUresult status, CUfunction *result, CUkernel kernel)
{
    if (status != CUDA_SUCCESS || !result)
        return;
    struct gdx_function *row = gdx_known((uintptr_t)kernel);
    gdx_meet((uintptr_t)*result, row ? atomic_load(&row->owner) : 0, GDX_CU_FUNCTION, NULL);
}

void gdx_cu_before_cuModuleUnload(CUmodule program)
{
    gdx_forget_owner((uintptr_t)program);
}

void gdx_cu_before_cuLibraryUnload(CUlibrary program)
{
    gdx_forget_owner((uintptr_t)program);
}

/* ---- what the compiler inside the driver said ---- */

/* Options are an array of names and an array of values of the same length; the log is a buffer of the program's. */
static void note_log(CUresult status, unsigned int count, const CUjit_option *options, void *const *values)
{
    struct gdx_lane *lane = gdx_lane();
    const char *log = NULL;
    size_t room = 0;
    if (status == CUDA_SUCCESS || !lane || !options || !values || count > 256)
        return;
    for (unsigned int i = 0; i < count; i++) {
        CUjit_option option;
        void *value;
        if (!gdx_read(&lane->reader, &option, options + i, sizeof option)
            || !gdx_read(&lane->reader, &value, values + i, sizeof value))
            return;
        if (option == CU_JIT_ERROR_LOG_BUFFER)
            log = value;
        if (option == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            room = (size_t)(uintptr_t)value;
    }
    if (!log || !room)
        return;
    room = room < GDX_LARGE_MAX ? room : GDX_LARGE_MAX;
    char *text = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (text == MAP_FAILED)
        return;
    bool whole;
    size_t bytes = gdx_read_text(&lane->reader, text, room, log, &whole);
    const uint64_t words[] = { 0, 0, (uint64_t)(int64_t)status };
    gdx_note_cut(GDX_CALL_note_build_log, words, 3, (struct gdx_text){ text, bytes }, !whole);
    munmap(text, room);
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
