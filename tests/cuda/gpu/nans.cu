// nans WHICH: ten launches, of which the sixth (the first of guilty) makes a NaN or an infinity in a way of its own. `clean` makes none.
#include <cstdio>
#include <cstdlib>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "check.h"

constexpr int N = 1 << 14;

template <typename T> __global__ void fill(T *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = T(float(i % 100) - 3);
}
template <typename T> __global__ void scale(T *y, const T *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] * T(0.5f);
}
template <typename T, int WHICH> __global__ void guilty(T *y, const T *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = float(in[i]);
    float made = WHICH == 0 ? sqrtf(x) : WHICH == 1 ? x / x : WHICH == 2 ? logf(x) : WHICH == 3 ? 1 / (x - 5) : WHICH == 4 ? x * 3e38f
        : WHICH == 5 ? powf(x, 0.5f) : WHICH == 6 ? fmodf(x, x - 7) : WHICH == 7 ? asinf(x) : WHICH == 8 ? expf(x * 10) - expf(x * 11)
        : WHICH == 9 ? (i == 777 ? nanf("") : x) : WHICH == 10 ? x * 1000 : WHICH == 11 ? rsqrtf(x) : x;
    y[i] = T(made);
}
__global__ void keys(int *out, int n)  // integers that look like NaN
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = -1;
}

template <typename T, int WHICH> void all()
{
    T *x, *y;
    int *k;
    const int blocks = N / 256;
    MUST(cudaMalloc(&x, N * sizeof(T)));
    MUST(cudaMalloc(&y, N * sizeof(T)));
    MUST(cudaMalloc(&k, N * sizeof(int)));
    MUST(cudaMemset(y, 0, N * sizeof(T)));
    fill<<<blocks, 256>>>(x, N);
    keys<<<blocks, 256>>>(k, N);
    for (int i = 0; i < 3; i++)
        scale<<<blocks, 256>>>(y, x, N);
    guilty<T, WHICH><<<blocks, 256>>>(y, x, N);
    scale<<<blocks, 256>>>(x, y, N);
    guilty<T, WHICH><<<blocks, 256>>>(y, x, N);
    scale<<<blocks, 256>>>(y, x, N);
    keys<<<blocks, 256>>>(k, N);
    MUST(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : 99;
    switch (which) {
    case 0: all<float, 0>(); break;
    case 1: all<double, 1>(); break;
    case 2: all<float, 2>(); break;
    case 3: all<float, 3>(); break;
    case 4: all<float, 4>(); break;
    case 5: all<double, 5>(); break;
    case 6: all<float, 6>(); break;
    case 7: all<float, 7>(); break;
    case 8: all<float, 8>(); break;
    case 9: all<float, 9>(); break;
    case 10: all<__half, 10>(); break;
    case 11: all<float, 11>(); break;
    case 12: all<__half, 0>(); break;
    case 13: all<__nv_bfloat16, 2>(); break;
    case 14: all<__nv_bfloat16, 3>(); break;
    default: all<float, 99>();
    }
    printf("done\n");
    return 0;
}
