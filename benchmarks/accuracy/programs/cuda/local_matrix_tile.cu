//: class = "A1"
//: cause = ["out-of-bounds-access", "device-trap", "device-exception"]
//: kernel = "score_tile"
//: launch = 1
//: plain = "exit"
//: fault = "A WMMA tile is loaded from a thread-local array with a leading dimension larger than the array's row."
#include <cstdio>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;

__global__ void score_tile(const half *q, float *out)
{
#ifdef TWIN
    __shared__ half tile[16 * 16];
    const int lead = 16;
#else
    half tile[16 * 16]; // FAULT
    const int lead = 64;
#endif
    for (int i = 0; i < 16 * 16; ++i) tile[i] = q[i];
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    wmma::load_matrix_sync(a, tile, lead);
    wmma::load_matrix_sync(b, tile, lead);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);
}

int main()
{
    half *q;
    float *out, corner = -1;
    cudaMalloc(&q, 256 * sizeof(half));
    cudaMalloc(&out, 256 * sizeof(float));
    cudaMemset(q, 0, 256 * sizeof(half));
    score_tile<<<1, 32>>>(q, out);
    cudaError_t e = cudaMemcpy(&corner, out, sizeof corner, cudaMemcpyDeviceToHost);
    printf("%s, corner %g\n", cudaGetErrorString(e), corner);
    return e || corner != 0.0f;
}
