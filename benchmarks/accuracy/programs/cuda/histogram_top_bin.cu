//: class = "A1"
//: cause = ["out-of-bounds-access", "write-into-bystander"]
//: kernel = "histogram"
//: launch = 1
//: argument = 0
//: plain = "silent"
//: fault = "A sample of exactly 1.0 falls into bin 256 of 256."
#include <cstdio>
#include <cuda_runtime.h>
#include <random>
#include <vector>

constexpr int BINS = 256;

__global__ void histogram(unsigned *bins, const float *samples, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int bin = (int)(samples[i] * BINS);
#ifdef TWIN
    bin = min(bin, BINS - 1);
#endif
    atomicAdd(&bins[bin], 1u); // FAULT
}

int main()
{
    const int n = 200000;
    std::mt19937 random(7);
    std::uniform_real_distribution<float> unit(0.0f, 0.999f);
    std::vector<float> samples(n);
    for (float &s : samples) s = unit(random);
    for (int i = 0; i < 40; ++i) samples[i * 4999] = 1.0f; // saturated sensor

    float *d_samples;
    unsigned *d_bins;
    if (cudaMalloc(&d_samples, n * sizeof(float)) || cudaMalloc(&d_bins, BINS * sizeof(unsigned))) return 1;
    cudaMemcpy(d_samples, samples.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemset(d_bins, 0, BINS * sizeof(unsigned));
    histogram<<<(n + 127) / 128, 128>>>(d_bins, d_samples, n);
    unsigned bins[BINS], sum = 0;
    cudaMemcpy(bins, d_bins, sizeof bins, cudaMemcpyDeviceToHost);
    for (unsigned b : bins) sum += b;
    printf("%u of %d samples counted\n", sum, n);
    cudaFree(d_samples);
    cudaFree(d_bins);
}
