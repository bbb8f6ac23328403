//: class = "A6"
//: cause = ["misaligned-access"]
//: kernel = "read_prices"
//: launch = 1
//: argument = 0
//: plain = "exit"
//: fault = "Records of 13 bytes are read with an aligned 8-byte load."
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <vector>

constexpr int RECORD = 13; // tag (1), price (8), volume (4), as in the file

__global__ void read_prices(const unsigned char *records, double *prices, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned char *at = records + i * RECORD + 1;
#ifdef TWIN
    double price;
    memcpy(&price, at, sizeof price);
    prices[i] = price;
#else
    prices[i] = *reinterpret_cast<const double *>(at); // FAULT
#endif
}

int main()
{
    const int n = 777;
    std::vector<unsigned char> file(n * RECORD);
    for (int i = 0; i < n; ++i) {
        double price = 10.0 + i;
        memcpy(&file[i * RECORD + 1], &price, sizeof price);
    }
    unsigned char *records;
    double *prices, last = 0;
    cudaMalloc(&records, file.size());
    cudaMalloc(&prices, n * sizeof(double));
    cudaMemcpy(records, file.data(), file.size(), cudaMemcpyHostToDevice);
    read_prices<<<(n + 63) / 64, 64>>>(records, prices, n);
    if (cudaMemcpy(&last, prices + n - 1, sizeof last, cudaMemcpyDeviceToHost)) return fputs("no prices\n", stderr), 1;
    printf("%.1f\n", last);
    return last == 10.0 + n - 1 ? 0 : 1;
}
