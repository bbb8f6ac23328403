//: class = "B1"
//: group = "order"
//: cause = ["unordered-access"]
//: kernel = ["train_step", "evaluate"]
//: other = ["train_step", "evaluate"]
//: plain = "exit"
//: fault = "The stream that made the event is told to wait for it, the reader is not."
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

struct Streams {
    cudaStream_t train, eval;
    cudaEvent_t ready;
    Streams()
    {
        cudaStreamCreateWithFlags(&train, cudaStreamNonBlocking);
        cudaStreamCreateWithFlags(&eval, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
    }
    void publish()
    {
        cudaEventRecord(ready, train);
#ifdef TWIN
        cudaStreamWaitEvent(eval, ready, 0);
#else
        cudaStreamWaitEvent(train, ready, 0); // FAULT
#endif
    }
};

__global__ void train_step(double *w, int rounds)
{
    double v = w[threadIdx.x];
    for (int r = 0; r < rounds; ++r) v = v * 0.9999 + 0.0001;
    w[threadIdx.x] = 1.0 + 0 * v;
}

__global__ void evaluate(const double *w, double *loss) { loss[threadIdx.x] = 1.0 - w[threadIdx.x]; }

int main()
{
    Streams s;
    double *w, *loss, host[64];
    if (cudaMalloc(&w, sizeof host) || cudaMalloc(&loss, sizeof host) || cudaMemset(w, 0, sizeof host)) exit(2);
    cudaDeviceSynchronize();
    train_step<<<1, 64, 0, s.train>>>(w, 4000000);
    s.publish();
    evaluate<<<1, 64, 0, s.eval>>>(w, loss);
    cudaDeviceSynchronize();
    cudaMemcpy(host, loss, sizeof host, cudaMemcpyDeviceToHost);
    printf("loss %g\n", host[0]);
    return host[0] == 0.0 ? 0 : 1;
}
