//: class = "B2"
//: cause = ["use-after-free"]
//: kernel = "score"
//: launch = 2
//: argument = 1
//: plain = "exit"
//: fault = "Reloading frees the old weights while the session still holds their address."
#include <cstdio>
#include <cuda_runtime.h>

struct Model {
    float *weights = nullptr;
    size_t n = 0;
    void load(size_t count)
    {
        if (weights) cudaFree(weights);
        n = count;
        cudaMalloc(&weights, n * sizeof(float));
        cudaMemset(weights, 0, n * sizeof(float));
    }
};

struct Session {
    const float *weights;
    float *out, *cache;
};

__global__ void score(float *out, const float *weights, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n && weights[i] == 0.0f) out[i & 255] = 1.0f;
}

int main()
{
    Model model;
    Session session{};
    cudaMalloc(&session.out, 256 * sizeof(float));
    model.load(16 << 20);
    cudaMalloc(&session.cache, 16 << 20);
    session.weights = model.weights;
    score<<<1024, 256>>>(session.out, session.weights, 1024 * 256);
    cudaDeviceSynchronize();
    model.load(64 << 20); // a larger model
#ifdef TWIN
    session.weights = model.weights;
#endif
    score<<<65536, 256>>>(session.out, session.weights, 16 << 20); // FAULT
    cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess) {
        fprintf(stderr, "scoring failed: %s\n", cudaGetErrorString(e));
        return 1;
    }
    puts("scored");
    return 0;
}
