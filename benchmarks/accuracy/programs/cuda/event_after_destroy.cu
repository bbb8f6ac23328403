//: class = "A5"
//: cause = ["use-of-released-object", "failed-call", "ignored-error"]
//: call = "cudaEventRecord"
//: plain = "sometimes"
//: fault = "The timer's events are destroyed by a copy of the timer that goes out of scope."
#include <cstdio>
#include <cuda_runtime.h>
#include <new>

struct Timer {
    cudaEvent_t begin, end;
    Timer() { cudaEventCreate(&begin), cudaEventCreate(&end); }
    ~Timer() { cudaEventDestroy(begin), cudaEventDestroy(end); }
};

__global__ void work(float *x)
{
    float v = x[threadIdx.x];
    for (int i = 0; i < 1000; ++i) v = v * 1.0001f + 0.1f;
    x[threadIdx.x] = v;
}

#ifdef TWIN
static float measured(Timer &timer, float *x)
#else
static float measured(Timer timer, float *x) // FAULT
#endif
{
    cudaEventRecord(timer.begin);
    work<<<1, 128>>>(x);
    cudaEventRecord(timer.end);
    cudaEventSynchronize(timer.end);
    float ms = -1;
    cudaEventElapsedTime(&ms, timer.begin, timer.end);
    return ms;
}

int main()
{
    alignas(Timer) static unsigned char room[sizeof(Timer)]; // lives until the process ends
    Timer &timer = *new (room) Timer;
    float *x;
    cudaMalloc(&x, 128 * sizeof(float));
    cudaMemset(x, 0, 128 * sizeof(float));
    float first = measured(timer, x), second = measured(timer, x);
    printf("%s %s\n", first >= 0 ? "measured" : "not measured", second >= 0 ? "measured" : "not measured");
    return first >= 0 && second >= 0 ? 0 : 1;
}
