//: class = "A2"
//: cause = ["copy-pitch", "failed-call", "ignored-error"]
//: call = "cudaMemcpy2D"
//: plain = "silent"
//: fault = "The width of the copy is given in bytes of double, the pitch of the host image in floats."
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

int main()
{
    const size_t width = 300, height = 200;
    std::vector<double> image(width * height, 0.5), back(width * height, 0.0);
    double *device;
    size_t pitch;
    cudaMallocPitch(&device, &pitch, width * sizeof(double), height);
#ifdef TWIN
    size_t host_pitch = width * sizeof(double);
#else
    size_t host_pitch = width * sizeof(float); // FAULT
#endif
    cudaMemcpy2D(device, pitch, image.data(), host_pitch, width * sizeof(double), height, cudaMemcpyHostToDevice);
    cudaMemcpy2D(back.data(), host_pitch, device, pitch, width * sizeof(double), height, cudaMemcpyDeviceToHost);
    printf("corner %.2f\n", back[width * height - 1]);
    cudaFree(device);
    return 0;
}
