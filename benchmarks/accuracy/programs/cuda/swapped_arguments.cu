//: class = "D1"
//: cause = ["argument-order", "argument-type", "out-of-bounds-access"]
//: kernel = "resample"
//: launch = 1
//: plain = "exit"
//: fault = "Width and destination width are given in the wrong order; the kernel reads past the rows of the source."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void resample(const float *in, float *out, int in_width, int out_width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= out_width || y >= height) return;
    out[y * out_width + x] = in[y * in_width + (long long)x * in_width / out_width];
}

int main()
{
    const int wide = 8192, narrow = 512, height = 2048;
    float *in, *out;
    cudaMalloc(&in, sizeof(float) * wide * height);
    cudaMalloc(&out, sizeof(float) * narrow * height);
    cudaMemset(in, 0, sizeof(float) * wide * height);
    dim3 grid((wide + 255) / 256, height);
#ifdef TWIN
    resample<<<grid, 256>>>(in, out, wide, narrow, height);
#else
    resample<<<grid, 256>>>(in, out, narrow, wide, height); // FAULT
#endif
    cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess) {
        printf("resample: %s\n", cudaGetErrorString(e));
        return 1;
    }
    puts("resampled");
    cudaFree(in);
    cudaFree(out);
}
