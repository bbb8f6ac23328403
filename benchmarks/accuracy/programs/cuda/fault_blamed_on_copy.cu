//: class = "G1"
//: cause = ["out-of-bounds-access"]
//: kernel = "project"
//: launch = 2
//: argument = 1
//: plain = "exit"
//: fault = "The second launch reads through a pointer that was offset by bytes instead of floats; the copy at the end reports it."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void project(float *out, const float *points, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = points[i] * 0.5f;
}

__global__ void clip(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = fminf(x[i], 1.0f);
}

int main()
{
    const int n = 3 << 20;
    float *points, *out, host[4];
    cudaMalloc(&points, 2 * n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemset(points, 0, 2 * n * sizeof(float));
    project<<<n / 256, 256>>>(out, points, n);
#ifdef TWIN
    project<<<n / 256, 256>>>(out, points + n, n);
#else
    project<<<n / 256, 256>>>(out, points + n * sizeof(float), n); // FAULT
#endif
    clip<<<n / 256, 256>>>(out, n);
    clip<<<n / 256, 256>>>(out, n);
    cudaError_t e = cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    if (e != cudaSuccess) {
        fprintf(stderr, "D2H failed: %s\n", cudaGetErrorString(e));
        return 1;
    }
    printf("%g\n", host[0]);
    return 0;
}
