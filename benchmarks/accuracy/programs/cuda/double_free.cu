//: class = "B2"
//: cause = ["wrong-free", "use-of-released-object", "failed-call", "ignored-error"]
//: call = "cudaFree"
//: plain = "exit"
//: fault = "Two owners free the same buffer; the second free's error is reported by the next check."
#include <cstdio>
#include <cuda_runtime.h>

struct View {
    int *data;
    bool owner;
    void close()
    {
        if (owner) cudaFree(data);
        data = nullptr;
    }
};

__global__ void set(int *x, int v) { x[threadIdx.x] = v; }

int main()
{
    View a{nullptr, true};
    cudaMalloc(&a.data, 4096);
    View b = a;
#ifdef TWIN
    b.owner = false;
#endif
    set<<<1, 32>>>(a.data, 5);
    cudaDeviceSynchronize();
    a.close();
    b.close(); // FAULT
    int *next;
    cudaMalloc(&next, 4096);
    set<<<1, 32>>>(next, 6);
    cudaError_t e = cudaGetLastError();
    printf("launch: %s\n", cudaGetErrorString(e));
    return e ? 1 : 0;
}
