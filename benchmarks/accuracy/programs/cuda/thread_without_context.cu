//: class = "D2"
//: group = "order"
//: cause = ["failed-call", "no-current-context", "ignored-error"]
//: call = "cuMemAlloc"
//: plain = "exit"
//: fault = "The worker uses the driver API without making a context current in its thread."
#include <cstdio>
#include <cuda.h>
#include <thread>

int main()
{
    CUdevice device;
    CUcontext context;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device)) return 2;
    cuCtxSetCurrent(context);
    CUresult result = CUDA_SUCCESS;
    std::thread worker([&] {
#ifdef TWIN
        cuCtxSetCurrent(context);
#endif
        CUdeviceptr buffer;
        result = cuMemAlloc(&buffer, 1 << 20); // FAULT
        if (result == CUDA_SUCCESS) result = cuMemsetD8(buffer, 0, 1 << 20);
    });
    worker.join();
    cuDevicePrimaryCtxRelease(device);
    if (result != CUDA_SUCCESS) {
        const char *name = "";
        cuGetErrorName(result, &name);
        printf("worker: %s\n", name);
        return 1;
    }
    puts("worker done");
    return 0;
}
