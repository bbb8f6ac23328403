//: class = "B1"
//: group = "order"
//: cause = ["wait-for-replaced-event", "unordered-access"]
//: kernel = ["stage_one", "stage_two"]
//: other = ["stage_one", "stage_two", "cudaEventRecord"]
//: plain = "exit"
//: fault = "One event serves two streams: it is recorded again on an idle stream before the wait is made."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void stage_one(float *x, int rounds)
{
    float v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) v = v * 0.5f + 1.0f;
    x[threadIdx.x] = v < 0 ? v : 3.0f;
}

__global__ void stage_two(const float *x, float *y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }

int main()
{
    float *x, *y, host[128];
    cudaStream_t a, b, idle;
    cudaEvent_t event, progress;
    for (cudaStream_t *s : {&a, &b, &idle}) cudaStreamCreateWithFlags(s, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    cudaEventCreate(&progress);
    cudaMalloc(&x, sizeof host);
    cudaMalloc(&y, sizeof host);
    cudaMemset(x, 0, sizeof host);
    cudaDeviceSynchronize();
    stage_one<<<1, 128, 0, a>>>(x, 8000000);
    cudaEventRecord(event, a);
#ifdef TWIN
    cudaEventRecord(progress, idle);
#else
    cudaEventRecord(event, idle); // FAULT
#endif
    cudaStreamWaitEvent(b, event, 0);
    stage_two<<<1, 128, 0, b>>>(x, y);
    cudaMemcpyAsync(host, y, sizeof host, cudaMemcpyDeviceToHost, b);
    cudaStreamSynchronize(b);
    int wrong = 0;
    for (float v : host) wrong += v != 6.0f;
    printf("%d wrong\n", wrong);
    cudaDeviceSynchronize();
    return wrong != 0;
}
