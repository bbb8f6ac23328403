//: class = "A1"
//: cause = ["out-of-bounds-access", "write-into-bystander"]
//: kernel = "scan_block"
//: launch = 1
//: argument = 2
//: plain = "silent"
//: fault = "Each block writes its total behind its own slot: the last block's slot does not exist."
#include <cstdio>
#include <cuda_runtime.h>
#include <stdexcept>
#include <string>
#include <vector>

static void ok(cudaError_t e)
{
    if (e != cudaSuccess) throw std::runtime_error(std::string("cuda: ") + cudaGetErrorString(e));
}

__global__ void scan_block(int *out, const int *in, int *totals, int n)
{
    __shared__ int s[512];
    int t = threadIdx.x, i = blockIdx.x * 512 + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < 512; d *= 2) {
        int add = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += add;
        __syncthreads();
    }
    if (i < n) out[i] = s[t];
#ifdef TWIN
    if (t == 511 && blockIdx.x + 1 < gridDim.x) totals[blockIdx.x + 1] = s[t];
#else
    if (t == 511) totals[blockIdx.x + 1] = s[t]; // FAULT
#endif
}

__global__ void add_totals(int *out, const int *totals, int n)
{
    int i = blockIdx.x * 512 + threadIdx.x;
    int before = 0;
    for (int b = 1; b <= (int)blockIdx.x; ++b) before += totals[b];
    if (i < n) out[i] += before;
}

int main()
{
    try {
        const int n = 65536, blocks = n / 512;
        std::vector<int> ones(n, 1), result(n);
        int *in, *out, *totals;
        ok(cudaMalloc(&in, n * 4));
        ok(cudaMalloc(&out, n * 4));
        ok(cudaMalloc(&totals, blocks * 4));
        ok(cudaMemcpy(in, ones.data(), n * 4, cudaMemcpyHostToDevice));
        scan_block<<<blocks, 512>>>(out, in, totals, n);
        add_totals<<<blocks, 512>>>(out, totals, n);
        ok(cudaMemcpy(result.data(), out, n * 4, cudaMemcpyDeviceToHost));
        printf("%d\n", result[n - 1]);
        return result[n - 1] == n ? 0 : 1;
    } catch (const std::exception &e) {
        fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
