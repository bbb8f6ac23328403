//: class = "B1"
//: group = "order"
//: cause = ["host-memory-changed-under-copy", "unordered-access"]
//: call = ["cudaMemcpyAsync", "cudaLaunchHostFunc"]
//: other = ["cudaMemcpyAsync", "cudaLaunchHostFunc"]
//: plain = "exit"
//: fault = "A host function of one stream writes the pinned buffer that another stream copies."
#include <chrono>
#include <cstdio>
#include <cuda_runtime.h>
#include <thread>

static void tokenize(void *data)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    int *tokens = (int *)data;
    for (int i = 0; i < 1024; ++i) tokens[i] = 7;
}

int main()
{
    int *tokens, *device, host[1024], wrong = 0;
    cudaStream_t prepare, upload;
    cudaStreamCreateWithFlags(&prepare, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking);
    cudaMallocHost(&tokens, sizeof host);
    for (int i = 0; i < 1024; ++i) tokens[i] = 0;
    cudaMalloc(&device, sizeof host);
    cudaLaunchHostFunc(prepare, tokenize, tokens);
#ifdef TWIN
    cudaEvent_t done;
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    cudaEventRecord(done, prepare);
    cudaStreamWaitEvent(upload, done, 0);
#endif
    cudaMemcpyAsync(device, tokens, sizeof host, cudaMemcpyHostToDevice, upload); // FAULT
    cudaDeviceSynchronize();
    cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
    for (int v : host) wrong += v != 7;
    printf("%d wrong tokens\n", wrong);
    return wrong ? 1 : 0;
}
