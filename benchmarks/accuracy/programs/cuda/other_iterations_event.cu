//: class = "B1"
//: group = "order"
//: cause = ["unordered-access", "wait-for-unrecorded-event", "wait-for-replaced-event"]
//: kernel = ["fill_slot", "drain_slot"]
//: other = ["fill_slot", "drain_slot"]
//: plain = "exit"
//: fault = "The consumer of slot i waits for the event of slot i - 1."
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

__global__ void fill_slot(int *slot, int value, int rounds)
{
    unsigned v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) v = v * 1103515245u + 12345u;
    slot[threadIdx.x] = v == 77 ? -1 : value;
}

__global__ void drain_slot(const int *slot, int *out) { out[threadIdx.x] = slot[threadIdx.x]; }

int main()
{
    const int slots = 6;
    std::vector<int *> slot(slots), out(slots);
    std::vector<cudaEvent_t> filled(slots);
    cudaStream_t in, back;
    cudaStreamCreateWithFlags(&in, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&back, cudaStreamNonBlocking);
    for (int i = 0; i < slots; ++i) {
        cudaMalloc(&slot[i], 256 * sizeof(int));
        cudaMalloc(&out[i], 256 * sizeof(int));
        cudaMemset(slot[i], 0, 256 * sizeof(int));
        cudaEventCreateWithFlags(&filled[i], cudaEventDisableTiming);
    }
    cudaDeviceSynchronize();
    for (int i = 0; i < slots; ++i) {
        fill_slot<<<1, 256, 0, in>>>(slot[i], i + 1, 1500000);
        cudaEventRecord(filled[i], in);
#ifdef TWIN
        cudaStreamWaitEvent(back, filled[i], 0);
#else
        cudaStreamWaitEvent(back, filled[(i + slots - 1) % slots], 0); // FAULT
#endif
        drain_slot<<<1, 256, 0, back>>>(slot[i], out[i]);
    }
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int i = 0; i < slots; ++i) {
        int host[256];
        cudaMemcpy(host, out[i], sizeof host, cudaMemcpyDeviceToHost);
        for (int v : host) wrong += v != i + 1;
    }
    printf("%d wrong values\n", wrong);
    return wrong ? 1 : 0;
}
