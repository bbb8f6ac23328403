//: class = "B4"
//: group = "order"
//: cause = ["host-memory-changed-under-copy", "host-access-during-kernel", "unordered-access"]
//: kernel = "relax"
//: plain = "exit"
//: fault = "The host resets managed memory for the next round while the kernel of this round still uses it."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void relax(const int *input, int *output, int rounds)
{
    unsigned v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) v = v * 69069u + 3u;
    output[threadIdx.x] = ((volatile const int *)input)[threadIdx.x] + (v == 8 ? 1 : 0);
}

int main()
{
    int *input, *output, wrong = 0;
    if (cudaMallocManaged(&input, 128 * sizeof(int)) || cudaMallocManaged(&output, 128 * sizeof(int))) return 2;
    for (int i = 0; i < 128; ++i) input[i] = i;
    relax<<<1, 128>>>(input, output, 8000000);
#ifdef TWIN
    cudaDeviceSynchronize();
#endif
    for (int i = 0; i < 128; ++i) input[i] = -1; // FAULT
    cudaDeviceSynchronize();
    for (int i = 0; i < 128; ++i) wrong += output[i] != i;
    printf("%d wrong\n", wrong);
    cudaFree(input);
    cudaFree(output);
    return wrong ? 1 : 0;
}
