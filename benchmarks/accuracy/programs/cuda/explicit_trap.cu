//: class = "I"
//: cause = ["device-trap", "device-exception"]
//: kernel = "check_checksum"
//: launch = 1
//: plain = "exit"
//: fault = "The payload has a flipped byte; the kernel traps on the wrong checksum."
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

__global__ void check_checksum(const unsigned char *data, int n, unsigned expected)
{
    unsigned sum = 0;
    for (int i = 0; i < n; ++i) sum = sum * 31 + data[i];
    if (sum != expected) __trap();
}

int main()
{
    std::vector<unsigned char> data(1000);
    unsigned sum = 0;
    for (size_t i = 0; i < data.size(); ++i) data[i] = (unsigned char)i, sum = sum * 31 + data[i];
#ifndef TWIN
    data[500] ^= 4; // FAULT
#endif
    unsigned char *device;
    cudaMalloc(&device, data.size());
    cudaMemcpy(device, data.data(), data.size(), cudaMemcpyHostToDevice);
    check_checksum<<<1, 1>>>(device, (int)data.size(), sum);
    if (cudaError_t e = cudaDeviceSynchronize()) {
        fprintf(stderr, "payload: %s\n", cudaGetErrorString(e));
        return 1;
    }
    puts("payload ok");
}
