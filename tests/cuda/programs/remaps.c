/* Threads that map and unmap what other threads pass: parameters, configurations, images, names and sources of copies. The device has
 * failed before, so the driver answers each call with that error and looks at nothing: nothing of this is a fault. */
#include "reach.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { BYTES = 4 * 4096, ROUNDS = 300, FAILED = 700 };
static const char image[] = "kernel add 8 8 8 4\nkernel wide 8 4 64 2\n";
static CUcontext context;
static CUfunction add, wide;
static CUmodule module;
static CUstream stream;
static CUgraph graph;
static char *room;
static _Atomic int stop;

static void *remap(void *unused)
{
    for (unsigned i = 0; !stop; i++) {
        mmap(room, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (i % 3)  /* not a hole, in which somebody else's memory could come to lie */
            mmap(room + 4096 * (i % 3), 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        else
            mprotect(room, BYTES, PROT_NONE);
    }
    return unused;
}

static void pass_one(char *at)
{
    CUmodule loaded;
    CUlibrary library;
    CUfunction found;
    CUgraphNode node;
    void *extra[] = { (void *)CU_LAUNCH_PARAM_BUFFER_POINTER, at, (void *)CU_LAUNCH_PARAM_BUFFER_SIZE, at, (void *)CU_LAUNCH_PARAM_END };
    void *params[] = { at, at + 8, at + 16, at + 4090 };
    DO(cuLaunchKernel)(add, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL);
    DO(cuLaunchKernel)(wide, 1, 1, 1, 32, 1, 1, 0, stream, (void **)at, NULL);
    DO(cuLaunchKernel)(add, 1, 1, 1, 32, 1, 1, 0, stream, NULL, extra);
    DO(cuLaunchKernel)(add, 1, 1, 1, 32, 1, 1, 0, stream, NULL, (void **)at);
    DO(cuLaunchCooperativeKernel)(wide, 1, 1, 1, 32, 1, 1, 0, stream, params);
    DO(cuLaunchKernelEx)((const CUlaunchConfig *)at, add, params, NULL);
    DO(cuMemcpyHtoD_v2)(0x1000, at, 64);
    DO(cuMemcpyHtoDAsync_v2)(0x1000, at, 4096, stream);
    DO(cuMemcpy2D_v2)((const CUDA_MEMCPY2D *)at);
    DO(cuModuleLoadData)(&loaded, at);
    DO(cuModuleLoadDataEx)(&loaded, at, 2, (CUjit_option *)at, (void **)at);
    DO(cuLibraryLoadData)(&library, at, NULL, NULL, 0, NULL, NULL, 0);
    DO(cuModuleGetFunction)(&found, module, at);
    DO(cuGraphAddKernelNode_v2)(&node, graph, (CUgraphNode *)at, 3, (CUDA_KERNEL_NODE_PARAMS *)at);
    DO(cuMemAlloc_v2)((CUdeviceptr *)at, 100);
    DO(cuPointerGetAttributes)(2, (CUpointer_attribute *)at, (void **)at, 0x1000);
}

static void *pass(void *unused)
{
    DO(cuCtxSetCurrent)(context);
    for (int i = 0; i < ROUNDS; i++)
        pass_one(room + i * 40 % (BYTES - 64));
    return unused;
}

int main(void)
{
    CUdevice device;
    pthread_t threads[4];
    setenv("FAKE_CUDA_FAIL", "cuModuleLoad:1:700", 1);
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuDeviceGet)(&device, 0));
    CHECK(DO(cuDevicePrimaryCtxRetain)(&context, device));
    CHECK(DO(cuCtxSetCurrent)(context));
    CHECK(DO(cuModuleLoadData)(&module, image));
    CHECK(DO(cuModuleGetFunction)(&add, module, "add"));
    CHECK(DO(cuModuleGetFunction)(&wide, module, "wide"));
    CHECK(DO(cuStreamCreate)(&stream, 0));
    CHECK(DO(cuGraphCreate)(&graph, 0));
    CUmodule none;
    DO(cuModuleLoad)(&none, "nowhere");
    printf("failed: %d\n", DO(cuCtxSynchronize)() == FAILED);
    room = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, i < 2 ? pass : remap, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    stop = 1;
    pthread_join(threads[2], NULL);
    pthread_join(threads[3], NULL);
    mprotect(room, BYTES, PROT_NONE);  /* once for certain, however the threads were scheduled */
    pass_one(room);
    puts("still here");
    return 0;
}
