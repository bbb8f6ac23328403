/* Doubles 64 numbers through the HIP that it is linked with, whatever that is made of. */
#include <stdio.h>

extern int hipMalloc(void **, unsigned long), hipMemcpy(void *, const void *, unsigned long, int), hipFree(void *);
extern int hipModuleLoadData(void **, const void *), hipModuleGetFunction(void **, void *, const char *), hipDeviceSynchronize(void);
extern int hipModuleLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

int main(void)
{
    int host[64], count = 64, failed = 0;
    void *memory, *module, *kernel, *params[] = { &memory, &count };
    for (int i = 0; i < 64; i++)
        host[i] = i;
    failed += hipMalloc(&memory, sizeof host) + hipMemcpy(memory, host, sizeof host, 1);
    failed += hipModuleLoadData(&module, "kernel void twice(global int *x, int n) { int i = get_global_id(0); if (i < n) x[i] *= 2; }");
    failed += hipModuleGetFunction(&kernel, module, "twice");
    for (int i = 0; i < 3; i++)
        failed += hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL);
    failed += hipDeviceSynchronize() + hipMemcpy(host, memory, sizeof host, 2) + hipFree(memory);
    printf("%d, %d failed\n", host[7], failed);
    return failed != 0;
}
