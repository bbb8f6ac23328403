/* What the fake driver (fake_cuda.c) needs for crumbs: host memory that the device can write, and writes in the order of a stream.
 *
 *     FAKE_CUDA_WRITES=7      the device stops behind the seventh write that streams ask for: later ones never come
 *     FAKE_CUDA_LATE=3        the last 3 writes of each stream have not come yet: the device is behind
 *     FAKE_CUDA_REGISTER=2    the first two attempts to register memory fail; -1: all do
 *     FAKE_CUDA_NO_WRITES=1   writes are refused (801, not supported)
 *
 * A stream that stands still (FAKE_CUDA_STUCK) writes nothing. */
#include <stdatomic.h>
#include <stdlib.h>

#include "cu.h"

#define API __attribute__((visibility("default")))
enum { NOT_SUPPORTED = 801, LATE_MAX = 64 };

API CUresult cuStreamQuery(CUstream stream);  /* of fake_cuda.c: 700 and its like after a fault, 600 where a stream stands still */

static int number(const char *name)
{
    const char *text = getenv(name);
    return text ? atoi(text) : 0;
}

API CUresult cuMemHostRegister_v2(void *memory, size_t bytes, unsigned int flags)
{
    static _Atomic int asked;
    int refused = number("FAKE_CUDA_REGISTER");
    CUresult status = cuStreamQuery(NULL);
    (void)memory, (void)flags;
    if (status != CUDA_SUCCESS || !bytes)
        return status ? status : CUDA_ERROR_INVALID_VALUE;
    return refused < 0 || asked++ < refused ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *memory, unsigned int flags)
{
    (void)flags;
    *address = (CUdeviceptr)(uintptr_t)memory;
    return CUDA_SUCCESS;
}

API CUresult cuMemHostUnregister(void *memory)
{
    (void)memory;
    return CUDA_SUCCESS;
}

API CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags)
{
    static _Atomic int writes;
    CUresult status = cuStreamQuery(stream);
    int most = number("FAKE_CUDA_WRITES"), late = number("FAKE_CUDA_LATE");
    if (number("FAKE_CUDA_NO_WRITES"))
        return NOT_SUPPORTED;
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;  /* as the real one: v2 knows no flag */
    if (status != CUDA_SUCCESS)
        return status == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : status;
    if (!most || ++writes <= most)
        *(volatile cuuint32_t *)(uintptr_t)address = value > (cuuint32_t)late ? value - (cuuint32_t)late : 0;
    return CUDA_SUCCESS;
}
