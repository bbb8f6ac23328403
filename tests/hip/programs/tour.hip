/* One call of each family; ends with 0 if the simulated device computed what it should. */
#include <hip/hip_ext.h>
#include <hip/hip_runtime.h>

#include <cstdio>
#include <thread>
#include <vector>

#include "tour.h"

enum { COUNT = 100 };

static int check_results()
{
    float *x, host[COUNT];
    std::vector<float> ones(COUNT, 1.0f);
    hipMalloc((void **)&x, sizeof host);
    hipMemcpy(x, ones.data(), sizeof host, hipMemcpyHostToDevice);
    launch_twice(x, COUNT, 0);
    void *args[] = {&x, nullptr};
    int count = COUNT;
    args[1] = &count;
    hipLaunchKernel(address_of_twice(), dim3(2), dim3(64), args, 0, 0);
    hipExtLaunchKernel(address_of_twice(), dim3(2), dim3(64), args, 0, 0, nullptr, nullptr, 0);
    hipMemcpy(host, x, sizeof host, hipMemcpyDeviceToHost);
    int wrong = 0;
    for (float value : host)
        wrong += value != 8.0f;
    hipFree(x);
    return wrong;
}

static void memory_families()
{
    void *a, *b, *c, *d, *e;
    size_t pitch;
    hipPitchedPtr box;
    hipExtMallocWithFlags(&a, 1000, hipDeviceMallocFinegrained);
    hipMallocManaged(&b, 2000, hipMemAttachGlobal);
    hipHostMalloc(&c, 3000, 0);
    hipMallocPitch(&d, &pitch, 100, 10);
    hipMallocAsync(&e, 5000, 0);
    hipMalloc3D(&box, make_hipExtent(100, 4, 3));
    hipMemset(a, 1, 1000);
    hipMemset2D(d, pitch, 2, 100, 10);
    hipMemset3D(box, 3, make_hipExtent(100, 4, 3));
    hipMemcpy2D(d, pitch, c, 100, 100, 10, hipMemcpyHostToDevice);
    hipMemcpyDtoD(a, b, 500);
    hipMemcpy3DParms copy = {};
    copy.srcPtr = copy.dstPtr = box;
    copy.dstPos = make_hipPos(0, 0, 1);
    copy.extent = make_hipExtent(100, 4, 2);
    copy.kind = hipMemcpyDeviceToDevice;
    hipMemcpy3D(&copy);
    hipFree(box.ptr), hipFreeAsync(e, 0), hipFree(d), hipHostFree(c), hipFree(b), hipFree(a);
}

static void streams_and_events()
{
    hipStream_t stream;
    hipEvent_t event;
    hipGraph_t graph;
    float *x;
    hipMalloc((void **)&x, 400);
    hipStreamCreateWithFlags(&stream, hipStreamNonBlocking);
    hipEventCreate(&event);
    launch_twice(x, COUNT, stream);
    hipEventRecord(event, stream);
    hipStreamWaitEvent(0, event, 0);
    hipEventSynchronize(event);
    hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal);
    launch_twice(x, 7, stream);
    hipStreamEndCapture(stream, &graph);
    hipStreamSynchronize(stream);
    hipEventDestroy(event);
    hipStreamDestroy(stream);
    hipFree(x);
}

static void refused()
{
    hipMemcpy(nullptr, nullptr, 16, hipMemcpyDeviceToHost);
    printf("peek %d, last %d, then %d\n", hipPeekAtLastError(), hipGetLastError(), hipGetLastError());
}

static void in_a_thread()
{
    void *x;
    hipMalloc(&x, 64);
    hipSetDevice(1);
    hipMalloc(&x, 128);
}

int main()
{
    int wrong = check_results();
    launch_mixed((float *)0x1000, (const int *)0x2000, 3, 1.5, Pair{11, 22, 33}, 'x');
    memory_families();
    streams_and_events();
    refused();
    std::thread(in_a_thread).join();
    hipDeviceSynchronize();
    printf("%d wrong\n", wrong);
    return wrong ? 1 : 0;
}
