//: class = "C3"
//: cause = ["barrier-misuse", "race-in-kernel", "hang"]
//: kernel = "row_lengths"
//: launch = 1
//: plain = "sometimes"
//: fault = "Threads run a loop with a barrier a different number of times."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void row_lengths(const int *length, int *total)
{
    __shared__ int s[128];
    int t = threadIdx.x, mine = 0;
#ifdef TWIN
    int rounds = 0;
    for (int i = 0; i < 128; ++i) rounds = max(rounds, length[i]);
#else
    int rounds = length[t]; // FAULT
#endif
    for (int r = 0; r < rounds; ++r) {
        s[t] = r < length[t] ? 1 : 0;
        __syncthreads();
        mine += s[t ^ 1];
        __syncthreads();
    }
    s[t] = mine;
    __syncthreads();
    if (t > 0) return;
    int sum = 0;
    for (int i = 0; i < 128; ++i) sum += s[i];
    *total = sum;
}

int main()
{
    int length[128], sum = 0, expected = 0, *d_length, *d_total;
    for (int i = 0; i < 128; ++i) expected += length[i] = 3 + i / 32;
    cudaMalloc(&d_length, sizeof length);
    cudaMalloc(&d_total, sizeof(int));
    cudaMemcpy(d_length, length, sizeof length, cudaMemcpyHostToDevice);
    row_lengths<<<1, 128>>>(d_length, d_total);
    cudaError_t e = cudaMemcpy(&sum, d_total, sizeof sum, cudaMemcpyDeviceToHost);
    printf("%d, expected %d (%s)\n", sum, expected, cudaGetErrorName(e));
    return sum == expected ? 0 : 1;
}
