/* For experiments on a launch that faults every time (GPUDX_MEMORY): which kind of memory does it miss?
 *
 *   freed   what the program frees stays allocated: a fault that goes was in freed memory
 *   room    memory is larger than was asked for: a fault that goes was past the end of a buffer
 *   room:N  only what the N-th of these calls makes is: past the end of that buffer
 *   front, front:N  the same with room before: a fault that goes was before the start of a buffer
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

/* 0: this call's memory gets none. */
static size_t room_for(size_t bytes)
{
    size_t room = bytes < ROOM_LEAST ? ROOM_LEAST : bytes < ROOM_MOST ? bytes : ROOM_MOST;
    bool wanted = gdx_on() && (atomic_fetch_add(&calls, 1) + 1 == only || !only);
    return wanted && bytes && bytes <= SIZE_MAX - 2 * room ? room : 0;
}

static size_t with_room(size_t bytes)
{
    return bytes + room_for(bytes);
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

/* ---- front ---- */

enum { MOVED = 1 << 12 };
static struct { _Atomic uintptr_t given, begin; } moved[MOVED];

/* Memory that was made with `room` bytes more, from behind them on; as it is where there is no place to remember that. */
static void *behind(void *made, size_t room)
{
    for (size_t i = 0; i < MOVED; i++) {
        uintptr_t none = 0;
        if (atomic_compare_exchange_strong(&moved[i].given, &none, (uintptr_t)made + room)) {
            atomic_store(&moved[i].begin, (uintptr_t)made);
            return (char *)made + room;
        }
    }
    return made;
}

/* What the runtime made for this address, which is forgotten. */
static void *begin_of(void *given)
{
    for (size_t i = 0; given && i < MOVED; i++) {
        uintptr_t mine = (uintptr_t)given;
        if (atomic_load(&moved[i].given) == mine) {
            void *begin = (void *)atomic_exchange(&moved[i].begin, 0);
            atomic_store(&moved[i].given, 0);
            return begin ? begin : given;
        }
    }
    return given;
}

enum { ALIGNED = 1 << 20 };  /* what memory of the runtime is aligned to at most */

#define FRONTED(name, parameters, ...)                                                \
    static hipError_t fronted_##name parameters                                       \
    {                                                                                 \
        const size_t asked = bytes, room = (room_for(bytes) + ALIGNED - 1) / ALIGNED * ALIGNED; \
        bytes = asked + room;                                                         \
        hipError_t status = below.name(__VA_ARGS__);                                  \
        if (status == hipSuccess && room)                                             \
            *result = behind(*result, room);                                          \
        if (status == hipSuccess || !room)                                            \
            return status;                                                            \
        bytes = asked;                                                                \
        return below.name(__VA_ARGS__);                                               \
    }
FRONTED(hipMalloc, (void **result, size_t bytes), result, bytes)
FRONTED(hipExtMallocWithFlags, (void **result, size_t bytes, unsigned int flags), result, bytes, flags)
FRONTED(hipMallocManaged, (void **result, size_t bytes, unsigned int flags), result, bytes, flags)
FRONTED(hipMallocAsync, (void **result, size_t bytes, hipStream_t queue), result, bytes, queue)
FRONTED(hipMallocFromPoolAsync, (void **result, size_t bytes, hipMemPool_t pool, hipStream_t queue), result, bytes, pool, queue)

static hipError_t fronted_hipFree(void *address)
{
    return below.hipFree(begin_of(address));
}

static hipError_t fronted_hipFreeAsync(void *address, hipStream_t queue)
{
    return below.hipFreeAsync(begin_of(address), queue);
}

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

#undef STAND_IN
#define STAND_IN(name) { GDX_HIP_##name, (void *)fronted_##name }
static const struct gdx_hip_stand_in fronted[] = {
    STAND_IN(hipMalloc), STAND_IN(hipExtMallocWithFlags), STAND_IN(hipMallocManaged), STAND_IN(hipMallocAsync),
    STAND_IN(hipMallocFromPoolAsync), STAND_IN(hipFree), STAND_IN(hipFreeAsync), { -1, NULL },
};

/* Is it this setting, for all memory or for that of one call? */
static bool is_asked(const char *asked, const char *setting)
{
    const size_t length = strlen(setting);
    if (strncmp(asked, setting, length) || (asked[length] && asked[length] != ':'))
        return false;
    only = asked[length] ? strtol(asked + length + 1, NULL, 10) : 0;
    return true;
}

void gdx_hip_room_table(void **functions)
{
    const char *asked = environ && gdx_directory() ? getenv("GPUDX_MEMORY") : NULL;
    if (!asked)
        return;
    memcpy(&below, functions, sizeof below);
    if (is_asked(asked, "room"))
        gdx_hip_put(functions, roomy);
    if (is_asked(asked, "front"))
        gdx_hip_put(functions, fronted);
    if (!strcmp(asked, "peers") && below.hipGetDeviceCount && below.hipGetDevice && below.hipSetDevice && below.hipDeviceCanAccessPeer
        && below.hipDeviceEnablePeerAccess)
        gdx_hip_put(functions, met);
    if (!strcmp(asked, "freed") && below.hipMemGetAddressRange && below.hipMemGetInfo && below.hipDeviceSynchronize)
        gdx_hip_put(functions, keeping);
}
