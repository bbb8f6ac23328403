//: class = "B1"
//: group = "order"
//: cause = ["unordered-access"]
//: kernel = ["heavy_update", "snapshot"]
//: other = ["heavy_update", "snapshot"]
//: plain = "exit"
//: fault = "A helper launches on the default stream, which does not wait for the non-blocking stream of the rest."
#include <cuda_runtime.h>
#include <iostream>
#include <vector>

__global__ void heavy_update(float *state, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = state[i];
    for (int r = 0; r < rounds; ++r) v = fmaf(v, 0.999999f, 0.000001f);
    state[i] = v * 0.0f + 5.0f;
}

__global__ void snapshot(const float *state, float *out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = state[i];
}

static void take_snapshot(const float *state, float *out, int n, cudaStream_t stream)
{
#ifdef TWIN
    snapshot<<<8, 128, 0, stream>>>(state, out, n);
#else
    (void)stream;
    snapshot<<<8, 128>>>(state, out, n); // FAULT
#endif
}

int main()
{
    const int n = 1000;
    float *state, *out;
    cudaStream_t stream;
    cudaMalloc(&state, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemset(state, 0, n * sizeof(float));
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaDeviceSynchronize();
    heavy_update<<<4, 256, 0, stream>>>(state, n, 5000000);
    take_snapshot(state, out, n, stream);
    cudaDeviceSynchronize();
    std::vector<float> host(n);
    cudaMemcpy(host.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);
    int stale = 0;
    for (float v : host) stale += v != 5.0f;
    std::cout << stale << " stale values\n";
    return stale ? 1 : 0;
}
