/* Modules and libraries: a text with one line per kernel. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

static size_t padded(size_t offset, size_t size)
{
    size_t to = size >= 8 ? 8 : size ? size : 1;
    return (offset + to - 1) / to * to;
}

static void read_function(struct function *made, enum magic magic, const char *line)
{
    int used = 0;
    made->magic = magic;
    sscanf(line, "kernel %127s%n", made->name, &used);
    line += used;
    for (unsigned size; made->count < PARAMS && sscanf(line, "%u%n", &size, &used) == 1; line += used) {
        made->offset[made->count] = padded(made->bytes, size);
        made->size[made->count] = size;
        made->bytes = made->offset[made->count++] + size;
    }
}

static struct module *read_module(enum magic magic, const char *image)
{
    struct module *made = calloc(1, sizeof *made);
    made->magic = magic;
    for (const char *line = image; made->count < 8 && (line = strstr(line, "kernel ")); line++) {
        const char *end = strchr(line, '\n');
        char text[4096] = "";
        memcpy(text, line, end && end - line < 4095 ? (size_t)(end - line) : strnlen(line, 4095));
        read_function(&made->functions[made->count], FUNCTION, text);
        read_function(&made->kernels[made->count], KERNEL, text);
        made->kernels[made->count].function = &made->functions[made->count];
        made->count++;
    }
    return made;
}

API CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    ENTER(cuModuleLoadData);
    NEED(current, CUDA_ERROR_INVALID_CONTEXT);
    NEED(!strncmp(image, "kernel ", 7) || !strncmp(image, "// kernel ", 10), CUDA_ERROR_INVALID_IMAGE);
    *module = (CUmodule)read_module(MODULE, image);
    return CUDA_SUCCESS;
}

API CUresult cuModuleLoad(CUmodule *module, const char *path)
{
    ENTER(cuModuleLoad);
    (void)module, (void)path;
    return CUDA_ERROR_FILE_NOT_FOUND;
}

API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count, CUjit_option *options,
                                void **values)
{
    ENTER(cuModuleLoadDataEx);
    char *log = NULL;
    for (unsigned i = 0; i < count; i++)
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            log = values[i];
    if (strncmp(image, "kernel ", 7)) {
        if (log)
            strcpy(log, "fake error: not a kernel");
        return CUDA_ERROR_INVALID_PTX;
    }
    *module = (CUmodule)read_module(MODULE, image);
    return CUDA_SUCCESS;
}

API CUresult cuTexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture,
                               const CUDA_RESOURCE_VIEW_DESC *view)
{
    static CUtexObject last;
    ENTER(cuTexObjectCreate);
    (void)texture, (void)view;
    NEED(object && resource, CUDA_ERROR_INVALID_VALUE);
    *object = ++last;
    return CUDA_SUCCESS;
}

API CUresult cuTexObjectDestroy(CUtexObject object)
{
    ENTER(cuTexObjectDestroy);
    (void)object;
    return CUDA_SUCCESS;
}

API CUresult cuModuleUnload(CUmodule module)
{
    ENTER(cuModuleUnload);
    struct module *m = (struct module *)module;
    for (int i = 0; i < m->count; i++)
        m->functions[i].magic = DEAD;
    return CUDA_SUCCESS;
}

static struct function *look_up(struct function *all, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(all[i].name, name))
            return &all[i];
    return NULL;
}

API CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    ENTER(cuModuleGetFunction);
    struct module *m = (struct module *)module;
    *function = (CUfunction)look_up(m->functions, m->count, name);
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

API CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options, void **values,
                               unsigned int count, CUlibraryOption *library_options, void **library_values,
                               unsigned int library_count)
{
    ENTER(cuLibraryLoadData);
    (void)options, (void)values, (void)library_options, (void)library_values, (void)library_count;
    struct module *made = read_module(LIBRARY, code);
    const char *refuses = getenv("FAKE_CUDA_LAZY");
    made->refused = refuses && strstr(code, "gdx_") && (!strcmp(refuses, "all") || !count);
    *library = (CUlibrary)made;
    return CUDA_SUCCESS;
}

API CUresult cuLibraryUnload(CUlibrary library)
{
    ENTER(cuLibraryUnload);
    ((struct module *)library)->magic = DEAD;
    return CUDA_SUCCESS;
}

API CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    ENTER(cuLibraryGetKernel);
    struct module *m = (struct module *)library;
    NEED(!m->refused, CUDA_ERROR_INVALID_PTX);
    *kernel = (CUkernel)look_up(m->kernels, m->count, name);
    return *kernel ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* The report of a module that checks itself: its words are those of FAKE_CUDA_REPORT, as if a kernel had written them. */
API CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
    enum { BYTES = (8 + 64 * 24) * sizeof(unsigned) };
    static CUdeviceptr memory;
    const char *words = getenv("FAKE_CUDA_REPORT");
    NEED(((struct module *)library)->magic == LIBRARY && !strcmp(name, "gdx_report") && words, CUDA_ERROR_NOT_FOUND);
    if (!memory)
        cuMemAlloc_v2(&memory, BYTES);
    unsigned *report = (unsigned *)(uintptr_t)memory;
    report[0] = 1;
    for (unsigned i = 8, used = 0; i < 32 && sscanf(words, "%u%n", &report[i], (int *)&used) == 1; i++)
        words += used;
    *address = memory;
    *bytes = BYTES;
    return CUDA_SUCCESS;
}

API CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    ENTER(cuKernelGetFunction);
    *function = (CUfunction)((struct function *)kernel)->function;
    return CUDA_SUCCESS;
}

static CUresult param_info(const struct function *f, size_t index, size_t *offset, size_t *size)
{
    NEED(index < (size_t)f->count, CUDA_ERROR_INVALID_VALUE);
    *offset = f->offset[index];
    *size = f->size[index];
    return CUDA_SUCCESS;
}

API CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    NEED(((struct function *)function)->magic == FUNCTION, CUDA_ERROR_INVALID_HANDLE);
    return param_info((struct function *)function, index, offset, size);
}

API CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    NEED(((struct function *)kernel)->magic == KERNEL, CUDA_ERROR_INVALID_HANDLE);
    return param_info((struct function *)kernel, index, offset, size);
}

API CUresult cuFuncGetName(const char **name, CUfunction function)
{
    NEED(((struct function *)function)->magic == FUNCTION, CUDA_ERROR_INVALID_HANDLE);
    *name = ((struct function *)function)->name;
    return CUDA_SUCCESS;
}

API CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
    NEED(((struct function *)kernel)->magic == KERNEL, CUDA_ERROR_INVALID_HANDLE);
    *name = ((struct function *)kernel)->name;
    return CUDA_SUCCESS;
}

API CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    NEED(((struct function *)function)->magic == FUNCTION, CUDA_ERROR_INVALID_HANDLE);
    *value = 100 + (int)attribute;
    return CUDA_SUCCESS;
}

API CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device)
{
    NEED(((struct function *)kernel)->magic == KERNEL && device == 0, CUDA_ERROR_INVALID_HANDLE);
    *value = 200 + (int)attribute;
    return CUDA_SUCCESS;
}
