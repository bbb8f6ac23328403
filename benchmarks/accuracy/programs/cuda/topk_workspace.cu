//: class = "A2"
//: cause = ["out-of-bounds-access", "undersized-buffer", "write-into-bystander"]
//: kernel = "select_topk"
//: launch = 4
//: argument = 1
//: plain = "silent"
//: fault = "The workspace query is called with the number of heads of the first layer; a later layer has more."
#include <cstdio>
#include <cuda_runtime.h>

struct Layer {
    int heads, tokens;
};

static size_t workspace_bytes(const Layer &layer, int k) { return sizeof(float) * layer.heads * layer.tokens * k; }

__global__ void select_topk(const float *scores, float *work, int tokens, int k)
{
    int head = blockIdx.x, token = threadIdx.x + blockIdx.y * blockDim.x;
    if (token >= tokens) return;
    float best = -1e30f;
    for (int j = 0; j < k; ++j) {
        best = fmaxf(best, scores[(token + j) % tokens]);
        work[(head * tokens + token) * k + j] = best;
    }
}

int main()
{
    const Layer layers[] = {{8, 500}, {8, 500}, {8, 400}, {12, 500}, {8, 500}};
    const int k = 4;
    size_t bytes = workspace_bytes(layers[0], k); // FAULT
#ifdef TWIN
    for (const Layer &layer : layers) bytes = workspace_bytes(layer, k) > bytes ? workspace_bytes(layer, k) : bytes;
#endif
    float *scores, *work;
    if (cudaMalloc(&work, bytes) || cudaMalloc(&scores, 500 * sizeof(float))) return 1;
    cudaMemset(scores, 0, 500 * sizeof(float));
    for (const Layer &layer : layers) {
        dim3 grid(layer.heads, (layer.tokens + 127) / 128);
        select_topk<<<grid, 128>>>(scores, work, layer.tokens, k);
        if (cudaGetLastError() != cudaSuccess) return 1;
    }
    cudaError_t e = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(e));
    return e != cudaSuccess;
}
