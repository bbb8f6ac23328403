//: class = "A3"
//: cause = ["index-overflow"]
//: kernel = "im2col_channel"
//: launch = 1
//: argument = [1, 2, 3, 4, 5]
//: plain = "exit"
//: fault = "channel x out_h x out_w x filter is a product of four ints that passes 2^31."
#include <cstdio>
#include <cuda_runtime.h>

template <typename Index> __global__ void im2col_channel(const signed char *image, signed char *columns, int channel, int out_h, int out_w, int filter)
{
    Index base = (Index)channel * out_h * out_w * filter;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < out_h * out_w; i += blockDim.x * gridDim.x)
        for (int f = 0; f < filter; ++f) columns[base + (Index)f * out_h * out_w + i] = image[i];
}

int main()
{
    const int channels = 1024, out_h = 512, out_w = 512, filter = 9;
    size_t bytes = (size_t)channels * out_h * out_w * filter;
    signed char *image, *columns;
    if (cudaMalloc(&columns, bytes) != cudaSuccess) return 77;
    cudaMalloc(&image, out_h * out_w);
    cudaMemset(image, 1, out_h * out_w);
#ifdef TWIN
    im2col_channel<long long><<<256, 256>>>(image, columns, channels - 1, out_h, out_w, filter);
#else
    im2col_channel<int><<<256, 256>>>(image, columns, channels - 1, out_h, out_w, filter); // FAULT
#endif
    signed char last = 0;
    if (cudaMemcpy(&last, columns + bytes - 1, 1, cudaMemcpyDeviceToHost) != cudaSuccess) {
        fprintf(stderr, "GEMM input could not be read back\n");
        return 1;
    }
    printf("%d\n", last);
    return last == 1 ? 0 : 1;
}
