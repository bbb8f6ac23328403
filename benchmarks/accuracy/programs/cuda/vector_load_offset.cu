//: class = "A6"
//: cause = ["misaligned-access"]
//: kernel = "norm4"
//: launch = 1
//: argument = 0
//: plain = "exit"
//: fault = "The slice begins at element 1, which float4 loads cannot reach."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void norm4(const float4 *x, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = x[i];
    out[i] = v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
}

int main()
{
    const int n = 2048;
    float *x, *out;
    cudaMalloc(&x, (4 * n + 4) * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemset(x, 0, (4 * n + 4) * sizeof(float));
#ifdef TWIN
    const float *slice = x + 4;
#else
    const float *slice = x + 1; // FAULT
#endif
    norm4<<<n / 128, 128>>>(reinterpret_cast<const float4 *>(slice), out, n);
    cudaError_t e = cudaDeviceSynchronize();
    printf("%d %s\n", e, cudaGetErrorString(e));
    return e ? 1 : 0;
}
