/* An extension module that is linked with the driver and opened with RTLD_LOCAL, as Python opens them. */
#include "cu.h"

__attribute__((visibility("default"))) CUresult start(void)
{
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory;
    CUresult status = cuInit(0);
    status = status ? status : cuDeviceGet(&device, 0);
    status = status ? status : cuDevicePrimaryCtxRetain(&context, device);
    status = status ? status : cuCtxSetCurrent(context);
    return status ? status : cuMemAlloc_v2(&memory, 12345);
}
