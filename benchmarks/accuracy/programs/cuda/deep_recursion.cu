//: class = "E4"
//: cause = ["device-stack-overflow"]
//: kernel = "walk"
//: launch = 1
//: plain = "exit"
//: fault = "A degenerate tree is walked recursively: 20000 frames do not fit into the device's stack."
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

struct Node {
    int left, right, value;
};

__device__ __noinline__ int depth_sum(const Node *nodes, int at, int level)
{
    if (at < 0) return 0;
    volatile int path[8];
    path[level & 7] = at;
    return nodes[at].value + depth_sum(nodes, nodes[at].left, level + 1) + depth_sum(nodes, nodes[at].right, level + 1) + path[level & 7] - at;
}

__global__ void walk(const Node *nodes, int *out) { out[threadIdx.x] = depth_sum(nodes, 0, 0); }

int main()
{
    const int n = 20000;
    std::vector<Node> nodes(n);
    for (int i = 0; i < n; ++i) {
#ifdef TWIN
        nodes[i] = {2 * i + 1 < n ? 2 * i + 1 : -1, 2 * i + 2 < n ? 2 * i + 2 : -1, 1};
#else
        nodes[i] = {-1, i + 1 < n ? i + 1 : -1, 1}; // FAULT
#endif
    }
    cudaDeviceSetLimit(cudaLimitStackSize, 8192);
    Node *device;
    int *out, sum = 0;
    cudaMalloc(&device, n * sizeof(Node));
    cudaMalloc(&out, 32 * sizeof(int));
    cudaMemcpy(device, nodes.data(), n * sizeof(Node), cudaMemcpyHostToDevice);
    walk<<<1, 32>>>(device, out);
    cudaError_t e = cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost);
    printf("%d (%s)\n", sum, cudaGetErrorString(e));
    return sum == n ? 0 : 1;
}
