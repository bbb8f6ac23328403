/* One kernel; built for an architecture that does not fit the device (see build/look/copies_gpu.sh, or
 * nvcc -gencode arch=compute_120,code=sm_120 for an sm_90 device). */
#include "check.h"

__global__ void one(int *out)
{
    *out = 1;
}

int main()
{
    int *out, back = 0;
    MUST(cudaMalloc(&out, sizeof *out));
    one<<<1, 1>>>(out);
    MUST(cudaGetLastError());
    MUST(cudaMemcpy(&back, out, sizeof back, cudaMemcpyDeviceToHost));
    std::printf("%d\n", back);
    return back == 1 ? 0 : 1;
}
