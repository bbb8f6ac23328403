/* Reaches the runtime by dlsym alone, loads the code object that the first argument names, and launches from it in both
 * forms: an array of pointers, and one packed buffer; and by a configuration, which is newer than the header. */
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>

#include <cstdio>

static void *library;

template <class Function> static Function *find(Function *, const char *name)
{
    return (Function *)dlsym(library, name);
}
#define FIND(name) find((decltype(&name))nullptr, #name)

int main(int, char **words)
{
    hipModule_t module;
    hipFunction_t function;
    float *x = (float *)0x5000;
    int count = 7;
    library = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!library || FIND(hipModuleLoad)(&module, words[1]) != hipSuccess)
        return 2;
    if (FIND(hipModuleGetFunction)(&function, module, "_Z5twicePfi") != hipSuccess)
        return 3;
    void *params[] = {&x, &count};
    struct { float *x; int count; } packed = {x, 9};
    size_t bytes = sizeof packed;
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes, HIP_LAUNCH_PARAM_END};
    auto launch = FIND(hipModuleLaunchKernel);
    int failed = launch(function, 1, 1, 1, 64, 1, 1, 0, nullptr, params, nullptr);
    failed += launch(function, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra);
    count = 11;
    struct { unsigned grid[3], block[3], shared; hipStream_t stream; void *attributes; unsigned number; } config = {
        {2, 1, 1}, {64, 1, 1}, 0, nullptr, nullptr, 0};
    auto configured = (hipError_t(*)(const void *, hipFunction_t, void **, void **))dlsym(library, "hipDrvLaunchKernelEx");
    failed += configured(&config, function, params, nullptr);
    failed += FIND(hipModuleUnload)(module);
    printf("%d failed\n", failed);
    return failed != 0;
}
