//: class = "A6"
//: cause = ["misaligned-access"]
//: kernel = "add_rows"
//: launch = 2
//: argument = 1
//: plain = "exit"
//: fault = "The second matrix has an odd number of columns; its rows are read in pairs of halves."
#include <cstdio>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void add_rows(__half *sum, const __half *m, int cols)
{
    const __half *row = m + blockIdx.x * cols;
    for (int c = 2 * threadIdx.x; c + 1 < cols; c += 2 * blockDim.x) {
#ifdef TWIN
        __half2 pair = __halves2half2(row[c], row[c + 1]);
#else
        __half2 pair = *reinterpret_cast<const __half2 *>(row + c); // FAULT
#endif
        if (blockIdx.x == 0) *reinterpret_cast<__half2 *>(sum + c) = pair;
        else if (__half2float(pair.x) < 0) sum[0] = pair.y;
    }
}

int main()
{
    __half *sum, *m;
    if (cudaMalloc(&sum, 1024) || cudaMalloc(&m, 64 * 128 * sizeof(__half))) return 1;
    if (cudaMemset(m, 0, 64 * 128 * sizeof(__half))) return 1;
    for (int cols : {128, 127}) {
        add_rows<<<64, 32>>>(sum, m, cols);
        if (cudaError_t e = cudaDeviceSynchronize()) return printf("%d columns: %s\n", cols, cudaGetErrorString(e)), 1;
    }
    puts("both sums done");
}
