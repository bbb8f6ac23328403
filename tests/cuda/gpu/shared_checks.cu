// What kernels report of their shared memory, the masks of their warps and unfenced messages (gpudx run --sanitize=ptx). Each mistake has
// a correct neighbour: race and cleared, lanes and whole, message and fenced.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

__global__ void count(const int *values, int *out, bool waits)
{
    __shared__ int bins[64];
    if (threadIdx.x >= blockDim.x - 64) bins[threadIdx.x - (blockDim.x - 64)] = 0;
    if (waits) __syncthreads();
    atomicAdd(&bins[values[threadIdx.x] % 64], 1);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

__global__ void pick(const int *values, int *out)
{
    int mine = values[threadIdx.x], sum = 0;
    if (mine % 3 == 0) sum = __shfl_sync(0xffffffffu, mine, 3);
    out[threadIdx.x] = sum;
}

__global__ void pick_whole(const int *values, int *out)
{
    int mine = values[threadIdx.x], third = __shfl_sync(0xffffffffu, mine, 3);
    unsigned mask = __ballot_sync(0xffffffffu, mine % 3 == 0);
    if (mine % 3 == 0) third += __shfl_sync(mask, mine, __ffs(mask) - 1);
    out[threadIdx.x] = third;
}

__global__ void pass_on(volatile int *data, volatile int *flag, int *out, bool fences)
{
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        data[0] = 7;
        if (fences) __threadfence();
        *flag = 1;
    } else {
        while (*flag == 0) {
        }
        *out = data[0];
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "cleared";
    const int n = 512;
    int values[n], *device, *out, result[n] = {};
    for (int i = 0; i < n; ++i) values[i] = i;
    cudaMalloc(&device, sizeof values);
    cudaMalloc(&out, sizeof values);
    cudaMemcpy(device, values, sizeof values, cudaMemcpyHostToDevice);
    cudaMemset(out, 0, sizeof values);
    if (!strcmp(how, "race") || !strcmp(how, "cleared"))
        count<<<1, n>>>(device, out, *how == 'c');
    else if (!strcmp(how, "lanes"))
        pick<<<1, 32>>>(device, out);
    else if (!strcmp(how, "whole"))
        pick_whole<<<1, 32>>>(device, out);
    else {
        cudaMemset(device, 0, sizeof values);
        pass_on<<<2, 32>>>(device, device + 64, out, *how == 'f');
    }
    cudaError_t error = cudaMemcpy(result, out, sizeof values, cudaMemcpyDeviceToHost);
    printf("%s, %d\n", cudaGetErrorString(error), error ? 0 : result[0] != 0 || result[1] >= 0);
    return error != cudaSuccess;
}
