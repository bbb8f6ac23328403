//: class = "A2"
//: cause = ["out-of-bounds-access", "undersized-buffer", "write-into-bystander"]
//: kernel = "up_projection"
//: launch = 3
//: argument = 0
//: plain = "exit"
//: fault = "The activation buffer is sized with the default hidden width, the layers use the width of the model."
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

struct Config {
    int rows = 4096, dim = 64, hidden = 11008;
};

static float *floats(size_t count)
{
    float *p;
    if (cudaMalloc(&p, count * sizeof(float)) != cudaSuccess) abort();
    cudaMemset(p, 0, count * sizeof(float));
    return p;
}

__global__ void norm(float *y, const float *x, int rows, int dim)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * dim) y[i] = x[i] * 0.5f + 0.1f;
}

__global__ void up_projection(float *up, const float *x, const float *w, int rows, int dim, int hidden)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
    if (c >= hidden) return;
    float sum = 0;
    for (int k = 0; k < dim; ++k) sum += x[r * dim + k] * w[k];
    up[(size_t)r * hidden + c] = sum;
}

__global__ void rope(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = cosf(x[i]);
}

int main()
{
    Config config;
#ifdef TWIN
    config.hidden = 14336; // as the model says
#endif
    float *x = floats((size_t)config.rows * config.dim), *y = floats((size_t)config.rows * config.dim), *w = floats(config.dim);
    float *up = floats((size_t)config.rows * config.hidden); // FAULT
    config.hidden = 14336;                                   // the model file was read
    norm<<<1024, 256>>>(y, x, config.rows, config.dim);
    norm<<<1024, 256>>>(x, y, config.rows, config.dim);
    up_projection<<<dim3((config.hidden + 255) / 256, config.rows), 256>>>(up, y, w, config.rows, config.dim, config.hidden);
    rope<<<1024, 256>>>(y, config.rows * config.dim);
    cudaError_t status = cudaDeviceSynchronize();
    if (status != cudaSuccess) {
        printf("RoPE failed: %s\n", cudaGetErrorString(status));
        return 1;
    }
    puts("done");
    return 0;
}
