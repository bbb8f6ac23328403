/* A little HIP over Level Zero, as a library of its own name. It initializes the real loader, and does by itself what a device would do:
 * there is no Level Zero driver for processors. */
#include <stdlib.h>
#include <string.h>

extern int zeInit(unsigned flags);
static char module, function;

int hipInit(unsigned flags)
{
    zeInit(flags);  /* without a device the loader finds no driver */
    return 0;
}

int hipGetDeviceCount(int *count)
{
    *count = 1;
    return hipInit(0);
}

int hipMalloc(void **result, size_t bytes)
{
    hipInit(0);
    *result = malloc(bytes);
    return *result ? 0 : 2;
}

int hipFree(void *address)
{
    free(address);
    return 0;
}

int hipMemcpy(void *dst, const void *src, size_t bytes, int kind)
{
    (void)kind;
    memcpy(dst, src, bytes);
    return 0;
}

int hipModuleLoadData(void **result, const void *image)
{
    (void)image;
    *result = &module;
    return 0;
}

int hipModuleGetFunction(void **result, void *from, const char *name)
{
    (void)from, (void)name;
    *result = &function;
    return 0;
}

int hipModuleLaunchKernel(void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                          void *stream, void **params, void **extra)
{
    int *x = *(int **)params[0], count = *(int *)params[1];
    (void)kernel, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
    for (int i = 0; i < count; i++)
        x[i] *= 2;
    return 0;
}

int hipDeviceSynchronize(void)
{
    return 0;
}

int hipRuntimeGetVersion(int *version)
{
    *version = 60032830;
    return 0;
}

int hipStreamCreate(void **stream) { return *stream = NULL, 0; }
int hipLaunchKernel(const void *kernel) { return kernel ? 98 : 1; }
const char *hipGetErrorString(int error) { return error ? "an error" : "no error"; }
void **__hipRegisterFatBinary(const void *data) { return (void **)data; }
void __hipRegisterFunction(void **modules) { (void)modules; }
