//: class = "G1"
//: cause = ["launch-refused", "ignored-error"]
//: kernel = "normalize"
//: launch = 1
//: plain = "silent"
//: fault = "The launch is refused (a block of 32 x 64 threads), nobody asks, and old data is printed as the result."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void normalize(float *image, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) image[y * width + x] /= 255.0f;
}

int main()
{
    const int width = 640, height = 480;
    float *image;
    cudaMallocManaged(&image, width * height * sizeof(float));
    for (int i = 0; i < width * height; ++i) image[i] = 127.5f;
#ifdef TWIN
    dim3 block(32, 16);
#else
    dim3 block(32, 64); // FAULT
#endif
    normalize<<<dim3((width + block.x - 1) / block.x, (height + block.y - 1) / block.y), block>>>(image, width, height);
    cudaDeviceSynchronize();
    printf("mean level %.2f\n", image[width * 100 + 100]);
    cudaFree(image);
    return 0;
}
