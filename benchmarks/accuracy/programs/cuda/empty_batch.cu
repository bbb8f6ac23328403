//: class = "E1"
//: cause = ["launch-refused"]
//: kernel = "encode"
//: launch = 2
//: plain = "exit"
//: fault = "The second batch is empty: a grid of zero blocks is refused."
#include <cuda_runtime.h>
#include <iostream>

__global__ void encode(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i ^ (i >> 1);
}

static bool run(int *out, int n)
{
#ifdef TWIN
    if (n == 0) return true;
#endif
    encode<<<(n + 63) / 64, 64>>>(out, n); // FAULT
    cudaError_t e = cudaGetLastError();
    if (e != cudaSuccess) std::cerr << "batch of " << n << ": " << cudaGetErrorString(e) << "\n";
    return e == cudaSuccess;
}

int main()
{
    int *out;
    cudaMalloc(&out, 1000 * sizeof(int));
    for (int n : {1000, 0, 400})
        if (!run(out, n)) return 1;
    cudaDeviceSynchronize();
    std::cout << "all batches encoded\n";
}
