/* For experiments on a launch that faults every time (GPUDX_MEMORY): which kind of memory does it miss?
 *
 *   freed   what the program frees stays allocated: a fault that goes was in freed memory
 *   room    memory is larger than was asked for: a fault that goes was past the end of a buffer
 *   room:N  only what the N-th of these calls makes is: past the end of that buffer
 *   peers   all devices may access each other's memory: a fault that goes was in another device's
 *
 * The program sees the same addresses, sizes and statuses as before, but for memory that it frees twice and for less free memory. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/process.h"
#include "hip/red.h"

static const size_t ROOM_LEAST = 1 << 20, ROOM_MOST = 1 << 28;
static struct gdx_hip_table below;
static _Atomic size_t kept;
static long only;  /* the call whose memory gets room; 0: all do */
static _Atomic long calls;

/* ---- freed ---- */

/* May so many bytes more stay? Half of the device's memory at most, so that the program has the other half. */
static bool stays(size_t bytes)
{
    size_t free_bytes = 0, all = 0;
    if (below.hipMemGetInfo(&free_bytes, &all) != hipSuccess || atomic_load(&kept) + bytes > all / 2)
        return false;
    atomic_fetch_add(&kept, bytes);
    return true;
}

static bool is_kept(void *address)
{
    hipDeviceptr_t start = NULL;
    size_t bytes = 0;
    if (!address || !gdx_on() || atomic_load(&gdx_hip_captures) > 0
        || below.hipMemGetAddressRange(&start, &bytes, address) != hipSuccess)
        return false;
    return start == address && stays(bytes);
}

/* hipFree waits for the device (hip_runtime_api.h), and reports what went wrong there. */
static hipError_t kept_hipFree(void *address)
{
    return is_kept(address) ? below.hipDeviceSynchronize() : below.hipFree(address);
}

static hipError_t kept_hipFreeAsync(void *address, hipStream_t queue)
{
    return is_kept(address) ? hipSuccess : below.hipFreeAsync(address, queue);
}

/* ---- room ---- */

static size_t with_room(size_t bytes)
{
    size_t room = bytes < ROOM_LEAST ? ROOM_LEAST : bytes < ROOM_MOST ? bytes : ROOM_MOST;
    bool wanted = gdx_on() && (atomic_fetch_add(&calls, 1) + 1 == only || !only);
    return wanted && bytes && bytes <= SIZE_MAX - room ? bytes + room : bytes;
}

/* Where there is not so much memory, it is made as it was asked for. */
#define ROOMY(name, parameters, ...)                       \
    static hipError_t roomy_##name parameters              \
    {                                                      \
        const size_t asked = bytes;                        \
        bytes = with_room(asked);                          \
        hipError_t status = below.name(__VA_ARGS__);       \
        if (status == hipSuccess || bytes == asked)        \
            return status;                                 \
        bytes = asked;                                     \
        return below.name(__VA_ARGS__);                    \
    }
ROOMY(hipMalloc, (void **result, size_t bytes), result, bytes)
ROOMY(hipExtMallocWithFlags, (void **result, size_t bytes, unsigned int flags), result, bytes, flags)
ROOMY(hipMallocManaged, (void **result, size_t bytes, unsigned int flags), result, bytes, flags)
ROOMY(hipMallocAsync, (void **result, size_t bytes, hipStream_t queue), result, bytes, queue)
ROOMY(hipMallocFromPoolAsync, (void **result, size_t bytes, hipMemPool_t pool, hipStream_t queue), result, bytes, pool, queue)

/* ---- peers ---- */

/* Access that was allowed here and not yet by the program, a bit for each peer: the runtime would tell the program that it was before. */
enum { DEVICES = 64 };
static _Atomic uint64_t allowed[DEVICES];

/* Before the first memory is allocated. Devices that cannot access each other stay as they are. */
static void introduce(void)
{
    int count = 0, current = 0, can = 0;
    if (below.hipGetDeviceCount(&count) != hipSuccess || count < 2 || below.hipGetDevice(&current) != hipSuccess)
        return;
    for (int one = 0; one < count; one++)
        for (int other = 0; other < count; other++)
            if (one != other && below.hipDeviceCanAccessPeer(&can, one, other) == hipSuccess && can
                && below.hipSetDevice(one) == hipSuccess && below.hipDeviceEnablePeerAccess(other, 0) == hipSuccess
                && one < DEVICES && other < DEVICES)
                atomic_fetch_or(&allowed[one], (uint64_t)1 << other);
    below.hipSetDevice(current);
}

static hipError_t met_hipMalloc(void **result, size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (gdx_on())
        pthread_once(&once, introduce);
    return below.hipMalloc(result, bytes);
}

static hipError_t met_hipDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    int device = 0;
    if (!flags && peer >= 0 && peer < DEVICES && below.hipGetDevice(&device) == hipSuccess && device < DEVICES) {
        const uint64_t bit = (uint64_t)1 << peer;
        if (atomic_fetch_and(&allowed[device], ~bit) & bit)
            return hipSuccess;
    }
    return below.hipDeviceEnablePeerAccess(peer, flags);
}

static const struct gdx_hip_stand_in met[] = {
    { GDX_HIP_hipMalloc, (void *)met_hipMalloc }, { GDX_HIP_hipDeviceEnablePeerAccess, (void *)met_hipDeviceEnablePeerAccess }, { -1, NULL },
};
static const struct gdx_hip_stand_in keeping[] = {
    { GDX_HIP_hipFree, (void *)kept_hipFree }, { GDX_HIP_hipFreeAsync, (void *)kept_hipFreeAsync }, { -1, NULL },
};
#define STAND_IN(name) { GDX_HIP_##name, (void *)roomy_##name }
static const struct gdx_hip_stand_in roomy[] = {
    STAND_IN(hipMalloc), STAND_IN(hipExtMallocWithFlags), STAND_IN(hipMallocManaged), STAND_IN(hipMallocAsync),
    STAND_IN(hipMallocFromPoolAsync), { -1, NULL },
};

void gdx_hip_room_table(void **functions)
{
    const char *asked = environ && gdx_directory() ? getenv("GPUDX_MEMORY") : NULL;
    if (!asked)
        return;
    memcpy(&below, functions, sizeof below);
    if (!strcmp(asked, "room") || !strncmp(asked, "room:", 5)) {
        only = asked[4] ? strtol(asked + 5, NULL, 10) : 0;
        gdx_hip_put(functions, roomy);
    }
    if (!strcmp(asked, "peers") && below.hipGetDeviceCount && below.hipGetDevice && below.hipSetDevice && below.hipDeviceCanAccessPeer
        && below.hipDeviceEnablePeerAccess)
        gdx_hip_put(functions, met);
    if (!strcmp(asked, "freed") && below.hipMemGetAddressRange && below.hipMemGetInfo && below.hipDeviceSynchronize)
        gdx_hip_put(functions, keeping);
}
