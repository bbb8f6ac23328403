//: class = "B1"
//: group = "order"
//: cause = ["unordered-access", "wait-for-unrecorded-event"]
//: kernel = ["render", "encode"]
//: other = ["render", "encode"]
//: plain = "exit"
//: fault = "The event is recorded before the kernel that it should follow."
#include <cstdio>
#include <cuda_runtime.h>

#define GO(x)                                                          \
    do {                                                               \
        cudaError_t e = (x);                                           \
        if (e) {                                                       \
            fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorName(e)); \
            return 2;                                                  \
        }                                                              \
    } while (0)

__global__ void render(unsigned char *frame, int rounds, unsigned char shade)
{
    unsigned v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) v = v * 69069u + 5u;
    frame[blockIdx.x * blockDim.x + threadIdx.x] = v == 3 ? 0 : shade;
}

__global__ void encode(const unsigned char *frame, unsigned *sum, int n)
{
    unsigned s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += frame[i];
    atomicAdd(sum, s);
}

int main()
{
    const int n = 64 * 256;
    unsigned char *frame;
    unsigned *sum, host = 0;
    cudaStream_t draw, code;
    cudaEvent_t drawn;
    GO(cudaMalloc(&frame, n));
    GO(cudaMalloc(&sum, sizeof *sum));
    GO(cudaMemset(frame, 0, n));
    GO(cudaMemset(sum, 0, sizeof *sum));
    GO(cudaStreamCreateWithFlags(&draw, cudaStreamNonBlocking));
    GO(cudaStreamCreateWithFlags(&code, cudaStreamNonBlocking));
    GO(cudaEventCreate(&drawn));
    GO(cudaDeviceSynchronize());
#ifdef TWIN
    render<<<64, 256, 0, draw>>>(frame, 4000000, 2);
    GO(cudaEventRecord(drawn, draw));
#else
    GO(cudaEventRecord(drawn, draw)); // FAULT
    render<<<64, 256, 0, draw>>>(frame, 4000000, 2);
#endif
    GO(cudaStreamWaitEvent(code, drawn, 0));
    encode<<<1, 256, 0, code>>>(frame, sum, n);
    GO(cudaDeviceSynchronize());
    GO(cudaMemcpy(&host, sum, sizeof host, cudaMemcpyDeviceToHost));
    printf("sum %u\n", host);
    return host == 2u * n ? 0 : 1;
}
