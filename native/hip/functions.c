/* Functions that a program can launch: its own kernels, known by the address that the compiler gave them on the host, and
 * those of modules. Described when they are first launched (driver/functions.h). */
#define _GNU_SOURCE
#include <string.h>

#include "hip/hooks.h"

enum { MODULES = 1024, TRIES = 2 };

struct about { const struct gdx_hip_image *image; char name[]; };

static struct { _Atomic uintptr_t module; _Atomic(const struct gdx_hip_image *) image; } modules[MODULES];

void gdx_hip_met(const void *function, const void *owner, const struct gdx_hip_image *image, const char *name)
{
    static const struct gdx_reader anybody;
    char copy[GDX_TEXT_MAX];
    bool whole;
    size_t bytes = name && gdx_on() ? gdx_read_text(&anybody, copy, sizeof copy, name, &whole) : 0;
    struct about *about = bytes ? gdx_keep(sizeof *about + bytes + 1) : NULL;
    if (!about)
        return;
    about->image = image;
    memcpy(about->name, copy, bytes);
    about->name[bytes] = 0;
    gdx_meet((uintptr_t)function, (uintptr_t)owner, GDX_HIP_FUNCTION, about);
}

static const struct about *about_of(struct gdx_function *row)
{
    return row && atomic_load(&row->kind) == GDX_HIP_FUNCTION ? atomic_load(&row->about) : NULL;
}

const char *gdx_hip_name_of(const void *function)
{
    const struct about *about = about_of(gdx_known((uintptr_t)function));
    return about ? about->name : NULL;
}

const struct gdx_hip_image *gdx_hip_image_of_function(const void *function)
{
    const struct about *about = about_of(gdx_known((uintptr_t)function));
    return about ? about->image : NULL;
}

/* ---- notes ---- */

/* The order is that of `numbers` of note_kernel in schema/events.toml. */
static void note_kernel(uintptr_t function, uint64_t owner, const struct about *about, const struct gdx_hip_kernel *kernel)
{
    const struct gdx_hip_kernel none = { 0 };
    const struct gdx_hip_kernel *k = kernel ? kernel : &none;
    const uint64_t words[] = {
        function, owner, kernel ? k->layout->all : UINT64_MAX, k->most_threads, k->local_bytes, k->private_bytes,
        k->wavefront, gdx_hip_thread.context ? gdx_hip_thread.context - 1 : 0,
    };
    const uint64_t numbers[] = { k->required[0], k->required[1], k->required[2], k->vector_registers };
    gdx_note(GDX_CALL_note_kernel, words, 8, (struct gdx_text){ about->name, strlen(about->name) },
             (struct gdx_text){ 0 }, numbers, sizeof numbers / sizeof *numbers);
}

/* Which devices the code is for, or why nothing is known of it. */
static void note_image(uint64_t owner, const struct gdx_hip_image *image)
{
    bool whole;
    const char *targets = gdx_hip_targets(image, &whole), *why = gdx_hip_why_not(image);
    const char *said = why && !*targets ? why : targets;
    const uint64_t words[] = { owner, 0, whole && *targets };
    gdx_note(GDX_CALL_note_image, words, 3, (struct gdx_text){ said, strlen(said) }, (struct gdx_text){ 0 }, NULL, 0);
}

/* Several threads may come here at once for one function; the first to store its layout writes the notes. */
static const struct gdx_layout *describe(struct gdx_function *row, uintptr_t function)
{
    struct gdx_lane *lane = gdx_lane();
    const struct about *about = about_of(row);
    struct gdx_hip_kernel kernel;
    struct gdx_layout *none = NULL;
    if (!lane || lane->busy || !about || atomic_load(&row->tries) >= TRIES)
        return NULL;
    bool first = atomic_fetch_add(&row->tries, 1) == 0;
    uint64_t owner = atomic_load(&row->owner);
    if (!gdx_hip_noted(about->image, lane->generation))
        note_image(owner, about->image);
    if (!gdx_hip_find_kernel(about->image, about->name, &kernel)) {
        if (first)
            note_kernel(function, owner, about, NULL);
        return NULL;
    }
    if (!atomic_compare_exchange_strong(&row->layout, &none, kernel.layout))
        return none;
    note_kernel(function, owner, about, &kernel);
    gdx_note_layout(function, kernel.layout);
    return kernel.layout;
}

GDX_HOT const struct gdx_layout *gdx_hip_layout_of(const void *function)
{
    return gdx_layout_of((uintptr_t)function, describe);
}

/* ---- modules ---- */

static void module_loaded(hipError_t status, const hipModule_t *result, const struct gdx_hip_image *image)
{
    for (size_t i = 0; status == hipSuccess && result && i < MODULES; i++) {
        uintptr_t here = 0;
        if (!atomic_compare_exchange_strong(&modules[i].module, &here, (uintptr_t)*result))
            continue;
        atomic_store(&modules[i].image, image);
        return;
    }
}

/* The image of the load that this thread is in. It is looked at before the runtime is asked, so that it is known whatever the
 * answer is. */
static __thread const struct gdx_hip_image *loading __attribute__((tls_model("initial-exec")));

static void begin_load(const struct gdx_hip_image *image, uint64_t word)
{
    struct gdx_lane *lane = gdx_lane();
    loading = image;
    if (image && lane && !lane->busy && !gdx_hip_noted(image, lane->generation))
        note_image(word, image);
}

void gdx_hip_before_hipModuleLoad(hipModule_t *result, const char *path)
{
    (void)result;
    begin_load(gdx_hip_read_image(path), 0);
}

void gdx_hip_before_hipModuleLoadData(hipModule_t *result, const void *image)
{
    (void)result;
    begin_load(gdx_hip_copy_image(image), GDX_HIP_WORD(image));
}

void gdx_hip_before_hipModuleLoadDataEx(hipModule_t *result, const void *image, unsigned int option_count,
                                        hipJitOption *options, void **values)
{
    (void)option_count, (void)options, (void)values;
    gdx_hip_before_hipModuleLoadData(result, image);
}

void gdx_hip_after_hipModuleLoad(hipError_t status, hipModule_t *result, const char *path)
{
    (void)path;
    module_loaded(status, result, loading);
}

void gdx_hip_after_hipModuleLoadData(hipError_t status, hipModule_t *result, const void *image)
{
    (void)image;
    module_loaded(status, result, loading);
}

void gdx_hip_after_hipModuleLoadDataEx(hipError_t status, hipModule_t *result, const void *image,
                                       unsigned int option_count, hipJitOption *options, void **values)
{
    (void)option_count, (void)options, (void)values;
    gdx_hip_after_hipModuleLoadData(status, result, image);
}

static const struct gdx_hip_image *image_of(const void *program)
{
    const struct gdx_hip_image *image = NULL;
    for (size_t i = 0; i < MODULES && !image; i++)
        if (atomic_load(&modules[i].module) == (uintptr_t)program)
            image = atomic_load(&modules[i].image);
    return image;
}

static void forget_program(const void *program)
{
    gdx_forget_owner((uintptr_t)program);
    for (size_t i = 0; program && i < MODULES; i++)
        if (atomic_load(&modules[i].module) == (uintptr_t)program)
            atomic_store(&modules[i].module, 0);
}

void gdx_hip_after_hipModuleGetFunction(hipError_t status, hipFunction_t *result, hipModule_t program, const char *name)
{
    if (status == hipSuccess && result)
        gdx_hip_met(*result, program, image_of(program), name);
}

void gdx_hip_before_hipModuleUnload(hipModule_t program)
{
    forget_program(program);
}

void gdx_hip_before_hipModuleLoadFatBinary(hipModule_t *result, const void *image)
{
    gdx_hip_before_hipModuleLoadData(result, image);
}

void gdx_hip_after_hipModuleLoadFatBinary(hipError_t status, hipModule_t *result, const void *image)
{
    gdx_hip_after_hipModuleLoadData(status, result, image);
}

/* A second handle of a kernel that is known by its first. */
static void same_kernel(hipError_t status, const hipFunction_t *result, const void *known)
{
    struct gdx_function *row = gdx_known((uintptr_t)known);
    const struct about *about = about_of(row);
    if (status == hipSuccess && result && about)
        gdx_hip_met(*result, (const void *)atomic_load(&row->owner), about->image, about->name);
}

void gdx_hip_after_hipGetFuncBySymbol(hipError_t status, hipFunction_t *result, const void *symbol)
{
    same_kernel(status, result, symbol);
}

void gdx_hip_after_hipKernelGetFunction(hipError_t status, hipFunction_t *result, hipKernel_t kernel)
{
    same_kernel(status, result, kernel);
}

/* ---- libraries, since HIP 7: modules that are loaded on every device ---- */

#define LIBRARY_OPTIONS                                                                                       \
    hipJitOption *options, void **values, unsigned int option_count, void *library_options, void **library_values, \
        unsigned int library_option_count
#define NOT_USED ((void)options, (void)values, (void)option_count, (void)library_options, (void)library_values, (void)library_option_count)

void gdx_hip_before_hipLibraryLoadData(hipLibrary_t *result, const void *image, LIBRARY_OPTIONS)
{
    NOT_USED;
    gdx_hip_before_hipModuleLoadData((hipModule_t *)result, image);
}

void gdx_hip_after_hipLibraryLoadData(hipError_t status, hipLibrary_t *result, const void *image, LIBRARY_OPTIONS)
{
    NOT_USED;
    gdx_hip_after_hipModuleLoadData(status, (hipModule_t *)result, image);
}

void gdx_hip_before_hipLibraryLoadFromFile(hipLibrary_t *result, const char *path, LIBRARY_OPTIONS)
{
    NOT_USED;
    gdx_hip_before_hipModuleLoad((hipModule_t *)result, path);
}

void gdx_hip_after_hipLibraryLoadFromFile(hipError_t status, hipLibrary_t *result, const char *path, LIBRARY_OPTIONS)
{
    NOT_USED;
    gdx_hip_after_hipModuleLoad(status, (hipModule_t *)result, path);
}

void gdx_hip_before_hipLibraryUnload(hipLibrary_t program)
{
    forget_program(program);
}

void gdx_hip_after_hipLibraryGetKernel(hipError_t status, hipKernel_t *result, hipLibrary_t program, const char *name)
{
    if (status == hipSuccess && result)
        gdx_hip_met(*result, program, image_of(program), name);
}

/* Asked after a call that succeeded, of kernels that the runtime just gave: the question cannot fail. */
void gdx_hip_after_hipLibraryEnumerateKernels(hipError_t status, hipKernel_t *kernels, unsigned int count, hipLibrary_t program)
{
    for (unsigned int i = 0; status == hipSuccess && kernels && gdx_hip_next.hipKernelGetName && i < count; i++) {
        const char *name = NULL;
        if (gdx_hip_next.hipKernelGetName(&name, kernels[i]) == hipSuccess && name)
            gdx_hip_met(kernels[i], program, image_of(program), name);
    }
}
