//: class = "A1"
//: cause = ["out-of-bounds-access"]
//: kernel = "box_blur"
//: launch = 1
//: argument = 0
//: plain = "silent"
//: fault = "The blur reads one row above the image and one below it."
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>
#include <vector>

__global__ void box_blur(const unsigned char *in, unsigned char *out, int width, int height)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= width || y >= height) return;
    int sum = 0, count = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            int xx = x + dx, yy = y + dy;
#ifdef TWIN
            if (xx < 0 || xx >= width || yy < 0 || yy >= height) continue;
#else
            if (xx < 0 || xx >= width) continue; // FAULT
#endif
            sum += in[yy * width + xx];
            ++count;
        }
    out[y * width + x] = sum / count;
}

int main()
{
    const int width = 1024, height = 512;
    CUdeviceptr in, out;
    CUfunction blur;
    cudaFree(nullptr); // makes the primary context current
    if (cudaGetFuncBySymbol(&blur, (const void *)box_blur) != cudaSuccess) return 1;
    if (cuMemAlloc(&in, width * height) || cuMemAlloc(&out, width * height)) return 1;
    cuMemsetD8(in, 200, width * height);
    int w = width, h = height;
    void *arguments[] = {&in, &out, &w, &h};
    CUresult launched = cuLaunchKernel(blur, width / 16, height / 16, 1, 16, 16, 1, 0, nullptr, arguments, nullptr);
    std::vector<unsigned char> image(width * height);
    CUresult copied = cuMemcpyDtoH(image.data(), out, image.size());
    printf("launch %d, copy %d, corner %d\n", launched, copied, image[0]);
    cuMemFree(in);
    cuMemFree(out);
    return launched || copied ? 1 : 0;
}
