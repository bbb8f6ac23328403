/* Memory pools. Memory that is freed in stream order goes back to its pool, and the next allocation of that size gets it again, at
 * the same address: whoever still uses it reads and writes somebody else's. A stream's later work may use it at once; another
 * stream's only when it is ordered behind the free, which is the program's business. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "sim.h"

enum { KEPT = 256 };
struct ihipMemPoolHandle_t {
    int device;
    struct { void *address; size_t bytes; hipStream_t stream; uint64_t freed; } kept[KEPT];
};
static struct { void *address; struct ihipMemPoolHandle_t *pool; size_t bytes; } used[4096];
static struct ihipMemPoolHandle_t defaults[SIM_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Memory that another stream freed is given only when that stream has come so far. */
static void *take(struct ihipMemPoolHandle_t *pool, size_t bytes, hipStream_t stream)
{
    for (int i = 0; i < KEPT; i++) {
        bool fits = pool->kept[i].address && pool->kept[i].bytes == bytes;
        if (!fits || (pool->kept[i].stream != stream && !sim_done(pool->kept[i].stream, pool->kept[i].freed)))
            continue;
        void *address = pool->kept[i].address;
        pool->kept[i].address = NULL;
        sim_revive(address);
        return address;
    }
    return NULL;
}

static void remember(void *address, struct ihipMemPoolHandle_t *pool, size_t bytes)
{
    for (size_t i = 0; address && i < sizeof used / sizeof *used; i++)
        if (!used[i].address || used[i].address == address) {
            used[i].address = address;
            used[i].pool = pool;
            used[i].bytes = bytes;
            return;
        }
}

static hipError_t allocate(void **result, size_t bytes, struct ihipMemPoolHandle_t *pool, hipStream_t stream)
{
    if (!result || !pool)
        return sim_return(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    *result = take(pool, bytes, sim_stream(stream, false));
    if (!*result)
        *result = bytes ? sim_allocate(bytes, pool->device) : NULL;
    remember(*result, pool, bytes);
    pthread_mutex_unlock(&lock);
    return sim_return(*result || !bytes ? hipSuccess : hipErrorOutOfMemory);
}

API hipError_t hipMallocAsync(void **result, size_t bytes, hipStream_t stream)
{
    defaults[sim_device].device = sim_device;
    return allocate(result, bytes, &defaults[sim_device], stream);
}

API hipError_t hipMallocFromPoolAsync(void **result, size_t bytes, hipMemPool_t pool, hipStream_t stream)
{
    return allocate(result, bytes, pool, stream);
}

static bool keep(void *address, hipStream_t stream)
{
    struct ihipMemPoolHandle_t *pool = NULL;
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof used / sizeof *used && !pool; i++)
        if (address && used[i].address == address) {
            pool = used[i].pool;
            bytes = used[i].bytes;
        }
    for (int i = 0; pool && i < KEPT; i++)
        if (!pool->kept[i].address) {
            pool->kept[i].address = address;
            pool->kept[i].bytes = bytes;
            pool->kept[i].stream = stream;
            pool->kept[i].freed = sim_last(stream);
            return true;
        }
    return false;
}

/* By default a pool gives back what it does not use when the program waits (hipMemPoolAttrReleaseThreshold is 0): with
 * GPUDX_HIP_SIM_POOL=keep it does not. */
static bool pools_keep(void)
{
    const char *given = getenv("GPUDX_HIP_SIM_POOL");
    return given && *given == 'k';
}

static void end_of(void *address)
{
    sim_release(*(void **)address);
}

API hipError_t hipFreeAsync(void *address, hipStream_t stream)
{
    hipStream_t meant = sim_stream(stream, false);
    if (!sim_retire(address))
        return sim_return(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    bool kept = pools_keep() && keep(address, meant);
    pthread_mutex_unlock(&lock);
    if (!kept)
        sim_submit(meant, end_of, &address, sizeof address);
    return sim_return(hipSuccess);
}

API hipError_t hipMemPoolCreate(hipMemPool_t *pool, const hipMemPoolProps *properties)
{
    (void)properties;
    *pool = calloc(1, sizeof **pool);
    (*pool)->device = sim_device;
    return sim_return(hipSuccess);
}

/* What is in use stays. */
API hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t keep)
{
    (void)keep;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < KEPT; i++)
        if (pool->kept[i].address) {
            sim_release(pool->kept[i].address);
            pool->kept[i].address = NULL;
        }
    pthread_mutex_unlock(&lock);
    return sim_return(hipSuccess);
}

API hipError_t hipMemPoolDestroy(hipMemPool_t pool)
{
    return hipMemPoolTrimTo(pool, 0);
}

API hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *pool, int device)
{
    defaults[device].device = device;
    *pool = &defaults[device];
    return sim_return(hipSuccess);
}
