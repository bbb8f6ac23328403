/* A launch by a configuration, as HIP 7 has it: newer than the header that this is built with. */
#include <dlfcn.h>
#include <hip/hip_runtime.h>

#include <cstdio>

const void *address_of_store();
struct Config { dim3 grid, block; size_t shared; hipStream_t stream; void *attributes; unsigned count; };

int main()
{
    int *x, from = 0, count = 100, host[100] = {};
    hipMalloc((void **)&x, sizeof host);
    auto launch = (hipError_t(*)(const Config *, const void *, void **))dlsym(RTLD_DEFAULT, "hipLaunchKernelExC");
    void *params[] = {&x, &from, &count};
    Config config = {dim3(2), dim3(64), 16, nullptr, nullptr, 0};
    hipError_t status = launch(&config, address_of_store(), params);
    hipMemcpy(host, x, sizeof host, hipMemcpyDeviceToHost);
    printf("%d at 7\n", host[7]);
    return status;
}
