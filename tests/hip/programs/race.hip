/* A copy in one stream of what a long kernel in another one writes, and nothing that orders them: it comes too early, unless
 * launches wait. Ends with 1 if it did. */
#include <hip/hip_runtime.h>

void launch_slow(int *x, int rounds, hipStream_t stream);
enum { ROUNDS = 30000000 };

int main()
{
    int *x, host = 0;
    hipStream_t work, copies;
    hipMalloc((void **)&x, 4);
    hipMemset(x, 0, 4);
    hipDeviceSynchronize();
    hipStreamCreateWithFlags(&work, hipStreamNonBlocking);
    hipStreamCreateWithFlags(&copies, hipStreamNonBlocking);
    launch_slow(x, ROUNDS, work);
    hipMemcpyAsync(&host, x, 4, hipMemcpyDeviceToHost, copies);
    hipStreamSynchronize(copies);
    hipStreamSynchronize(work);
    return host != 1;
}
