/* Two streams in order by an event, the per-thread default stream, and a host function in between. */
#include "check.h"

__global__ void step(int *value, int by, int times)
{
    for (int i = 0; i < times; i++)
        atomicAdd(value, by);
}

static void hello(void *data)
{
    *(int *)data = 7;
}

int main()
{
    int *value, result = 0, seen = 0;
    cudaStream_t one, two;
    cudaEvent_t event;
    MUST(cudaMalloc(&value, sizeof *value));
    MUST(cudaMemset(value, 0, sizeof *value));
    MUST(cudaDeviceSynchronize());  // streams that do not block do not wait for the default stream's fill
    MUST(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    MUST(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    step<<<1, 1, 0, one>>>(value, 1, 1000);
    MUST(cudaEventRecord(event, one));
    MUST(cudaStreamWaitEvent(two, event, 0));
    step<<<1, 1, 0, two>>>(value, 1000, 1);
    MUST(cudaLaunchHostFunc(two, hello, &seen));
    MUST(cudaStreamSynchronize(two));
    step<<<1, 1, 0, cudaStreamPerThread>>>(value, 10000, 1);
    while (cudaStreamQuery(cudaStreamPerThread) == cudaErrorNotReady)
        ;
    MUST(cudaMemcpy(&result, value, sizeof result, cudaMemcpyDeviceToHost));
    std::printf("value = %d, host function %d\n", result, seen);
    return result == 12000 && seen == 7 ? 0 : 1;
}
