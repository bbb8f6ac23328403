/* A launch on device 1 that is given memory of device 0: allowed before the memory was made, after it, or never. Ends with the
 * error of the wait. */
#include <hip/hip_runtime.h>

#include <cstring>

void launch_store(int *x, int from, int count, hipStream_t stream);

static void allow()
{
    hipSetDevice(1);
    hipDeviceEnablePeerAccess(0, 0);
    hipSetDevice(0);
}

int main(int, char **words)
{
    int *x;
    if (!strcmp(words[2], "early"))
        allow();
    hipMalloc((void **)&x, 400);
    if (!strcmp(words[2], "late"))
        allow();
    hipSetDevice(1);
    launch_store(x, 0, 100, 0);
    hipError_t status = hipDeviceSynchronize();
    hipFree(x);
    return status;
}
