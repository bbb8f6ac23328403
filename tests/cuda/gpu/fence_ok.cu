/* A correct program that uses its memory up to the edges: many sizes, all families, streams, copies. Prints one line per
 * step, without addresses, so that runs with and without fences can be compared. */
#include "check.h"

__global__ void fill(unsigned char *out, size_t n, unsigned char value)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        out[i] = (unsigned char)(value + i);
}

static unsigned long sum_of(const unsigned char *memory, size_t n)
{
    unsigned char *host = (unsigned char *)std::malloc(n);
    unsigned long sum = 0;
    MUST(cudaMemcpy(host, memory, n, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++)
        sum = sum * 31 + host[i];
    std::free(host);
    return sum;
}

static void plain(void)
{
    static const size_t sizes[] = { 1, 2, 15, 16, 17, 255, 256, 257, 4000, 4096, 65537, 1 << 20, (2 << 20) - 1, 2 << 20,
                                    (2 << 20) + 1, 5000001, 64 << 20 };
    for (size_t size : sizes) {
        unsigned char *memory;
        MUST(cudaMalloc(&memory, size));
        fill<<<64, 256>>>(memory, size, (unsigned char)size);
        std::printf("%zu: %lu, aligned %d\n", size, sum_of(memory, size), (size_t)memory % 256 == 0);
        MUST(cudaFree(memory));
    }
}

static void pitched(void)
{
    unsigned char *memory;
    size_t pitch;
    MUST(cudaMallocPitch(&memory, &pitch, 1000, 33));
    fill<<<8, 256>>>(memory, pitch * 33, 3);
    std::printf("pitch %zu: %lu\n", pitch, sum_of(memory, pitch * 33));
    MUST(cudaMemset2D(memory, pitch, 7, 1000, 33));
    std::printf("rows: %lu\n", sum_of(memory + pitch * 32, 1000));
    MUST(cudaFree(memory));
}

static void ordered(void)
{
    cudaStream_t stream;
    MUST(cudaStreamCreate(&stream));
    for (int i = 1; i <= 20; i++) {
        unsigned char *memory;
        MUST(cudaMallocAsync(&memory, 1000 * i, stream));
        fill<<<4, 256, 0, stream>>>(memory, 1000 * i, (unsigned char)i);
        MUST(cudaStreamSynchronize(stream));
        std::printf("async %d: %lu\n", i, sum_of(memory, 1000 * i));
        MUST(cudaFreeAsync(memory, stream));
    }
    MUST(cudaStreamDestroy(stream));
}

static void captured(void)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    unsigned char *memory;
    MUST(cudaStreamCreate(&stream));
    MUST(cudaMalloc(&memory, 1000));
    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    fill<<<4, 256, 0, stream>>>(memory, 1000, 9);
    MUST(cudaStreamEndCapture(stream, &graph));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    MUST(cudaGraphLaunch(exec, stream));
    MUST(cudaStreamSynchronize(stream));
    std::printf("graph: %lu\n", sum_of(memory, 1000));
    MUST(cudaFree(memory));
}

static void asked(void)
{
    unsigned char *memory;
    size_t left, total;
    cudaPointerAttributes about;
    MUST(cudaMalloc(&memory, 12345));
    MUST(cudaPointerGetAttributes(&about, memory + 12344));
    MUST(cudaMemGetInfo(&left, &total));
    std::printf("type %d, device %d, free %d\n", (int)about.type, about.device, left > 0 && left < total);
    MUST(cudaFree(memory));
    std::printf("nothing: %s\n", cudaGetErrorName(cudaFree(nullptr)));
}

int main()
{
    plain();
    pitched();
    ordered();
    captured();
    asked();
    MUST(cudaDeviceReset());
    std::puts("done");
    return 0;
}
