//: class = "E1"
//: cause = ["launch-refused"]
//: kernel = "shift"
//: launch = 3
//: plain = "exit"
//: fault = "When fewer samples than the filter's length are left, samples - taps + 1 is negative and becomes a huge grid."
#include <cstdio>
#include <cuda_runtime.h>

__global__ void shift(const short *in, short *out, int count)
{
    int i = blockIdx.y * blockDim.x + threadIdx.x;
    if (i < count) out[i] = in[i] >> 1;
}

int main()
{
    const int taps = 63;
    const int pieces[] = {4096, 300, 40, 1200};
    short *in, *out;
    cudaMalloc(&in, 8192);
    cudaMalloc(&out, 8192);
    cudaMemset(in, 0, 8192);
    int failures = 0;
    for (int samples : pieces) {
        int count = samples - taps + 1;
#ifdef TWIN
        if (count <= 0) continue;
#endif
        dim3 grid(1, count < 256 ? count : (count + 255) / 256); // FAULT
        shift<<<grid, 256>>>(in, out, count);
        failures += cudaGetLastError() != cudaSuccess;
    }
    printf("%d pieces failed\n", failures);
    return failures;
}
