/* Copies from ordinary memory, so many that looking at the sources of all of them would slow the program down: many_copies COUNT */
#include "reach.h"

enum { BYTES = 256, PLACES = 64 };

int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory;
    CUstream stream;
    static char sources[PLACES][BYTES];
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuDeviceGet)(&device, 0));
    CHECK(DO(cuDevicePrimaryCtxRetain)(&context, device));
    CHECK(DO(cuCtxSetCurrent)(context));
    CHECK(DO(cuStreamCreate)(&stream, 0));
    CHECK(DO(cuMemAlloc_v2)(&memory, BYTES));
    for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 1); i++)
        CHECK(DO(cuMemcpyHtoDAsync_v2)(memory, sources[i % PLACES], BYTES, stream));
    CHECK(DO(cuStreamSynchronize)(stream));
    return 0;
}
