//: class = "B2"
//: group = "order"
//: cause = ["freed-while-in-use", "use-after-free", "unordered-access"]
//: kernel = ["slow_reader", "overwrite"]
//: call = ["cudaFreeAsync"]
//: other = ["cudaFreeAsync", "slow_reader", "overwrite"]
//: plain = "exit"
//: fault = "The temporary is freed in the order of one stream while a kernel on another still reads it."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void preset(int *x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] = value; }

__global__ void slow_reader(const int *x, int *out, int rounds)
{
    unsigned v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = ((volatile const int *)x)[i] + (v == 4 ? 1 : 0);
}

__global__ void overwrite(int *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = -1; }

int main()
{
    const int n = 16 * 256;
    int *temporary, *next, *out, host[n], wrong = 0;
    cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaMalloc(&out, sizeof host);
    cudaMallocAsync(&temporary, sizeof host, a);
    preset<<<16, 256, 0, a>>>(temporary, 3);
    cudaStreamSynchronize(a);
    slow_reader<<<16, 256, 0, b>>>(temporary, out, 6000000);
#ifdef TWIN
    cudaEvent_t read;
    cudaEventCreateWithFlags(&read, cudaEventDisableTiming);
    cudaEventRecord(read, b);
    cudaStreamWaitEvent(a, read, 0);
#endif
    cudaFreeAsync(temporary, a); // FAULT
    cudaMallocAsync(&next, sizeof host, a);
    overwrite<<<16, 256, 0, a>>>(next);
    cudaFreeAsync(next, a);
    cudaDeviceSynchronize();
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (int v : host) wrong += v != 3;
    printf("%d wrong\n", wrong);
    return wrong ? 1 : 0;
}
