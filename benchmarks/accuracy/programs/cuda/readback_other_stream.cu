//: class = "B1"
//: group = "order"
//: cause = ["unordered-access"]
//: kernel = "integrate"
//: call = ["cudaMemcpyAsync"]
//: other = ["cudaMemcpyAsync", "integrate"]
//: plain = "exit"
//: fault = "The result is read back on a copy stream that does not wait for the kernel."
#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>

__global__ void integrate(double *area, int slices)
{
    double h = 1.0 / slices, sum = 0;
    for (int i = 0; i < slices; ++i) {
        double x = (i + 0.5) * h;
        sum += 4.0 / (1.0 + x * x);
    }
    area[threadIdx.x] = sum * h;
}

int main()
{
    double *area, *pinned;
    cudaStream_t work, copies;
    if (cudaMalloc(&area, 32 * sizeof(double)) || cudaMallocHost(&pinned, 32 * sizeof(double))) return 2;
    if (cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking) || cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking)) return 2;
    if (cudaMemset(area, 0, 32 * sizeof(double)) || cudaDeviceSynchronize()) return 2;
    integrate<<<1, 32, 0, work>>>(area, 300000);
#ifdef TWIN
    cudaStreamSynchronize(work);
#endif
    cudaMemcpyAsync(pinned, area, 32 * sizeof(double), cudaMemcpyDeviceToHost, copies); // FAULT
    cudaStreamSynchronize(copies);
    printf("pi is %.6f\n", pinned[0]);
    cudaDeviceSynchronize();
    return fabs(pinned[0] - M_PI) < 1e-6 ? 0 : 1;
}
