/* Watching HIP memory: when all work is done, and how memory is read.
 *
 * Every stream that was given work is asked whether it is done, as with CUDA (driver/busy.h). Three things differ:
 *
 *   - "not ready" becomes the error that hipGetLastError tells (hooks.h). Where the program has not asked for an older one
 *     yet, there is no look; else what ours leave is taken away
 *   - streams share the device's queues (GPU_MAX_HW_QUEUES, ROCm's "Environment variables"), so a copy of ours may wait for a
 *     kernel that waits for the program. Nothing is read while anything works, and no copy is waited for without end. It goes
 *     to pinned memory of ours that never goes: a late one does no harm
 *   - a copy takes an address that the runtime does not know for the host's, and reads there (clr, hip_memory.cpp,
 *     ihipMemcpy). So the runtime is asked first whether it knows the memory */
#define _GNU_SOURCE
#include "hip/watch.h"

#include "hip/crumbs.h"

#include <errno.h>
#include <stdatomic.h>

#include "driver/busy.h"
#include "hip/red.h"

enum { NO_TIMING = 2 /* hipEventDisableTiming */ };

static bool can_watch(void)
{
    return gdx_hip_driver.hipStreamQuery && gdx_hip_driver.hipEventQuery && gdx_hip_driver.hipHostMalloc
        && gdx_hip_driver.hipHostFree && gdx_hip_driver.hipMemcpyAsync && gdx_hip_driver.hipMemGetAddressRange
        && gdx_hip_driver.hipStreamCreateWithFlags && gdx_hip_driver.hipStreamDestroy && gdx_hip_driver.hipEventCreateWithFlags
        && gdx_hip_driver.hipEventRecord && gdx_hip_driver.hipEventDestroy && gdx_hip_driver.hipGetDevice
        && gdx_hip_driver.hipSetDevice && gdx_hip_driver.hipPeekAtLastError && gdx_hip_driver.hipGetLastError;
}

static bool has_error(void)
{
    return gdx_hip_driver.hipPeekAtLastError() != hipSuccess;
}

/* Whatever our questions left, where there was no error before. */
static void settle(bool had)
{
    if (!had && has_error())
        gdx_hip_driver.hipGetLastError();
}

/* ---- devices: a home is the number of a device plus 1 ---- */

static uint64_t current(void)
{
    int device = -1;
    return gdx_hip_driver.hipGetDevice(&device) == hipSuccess && device >= 0 && device < GDX_HIP_DEVICES ? (uint64_t)device + 1 : 0;
}

struct visit { uint64_t from; bool there; };

static struct visit go_to(uint64_t home)
{
    struct visit visit = { current(), true };
    if (visit.from != home)
        visit.there = visit.from && gdx_hip_driver.hipSetDevice((int)(home - 1)) == hipSuccess;
    return visit;
}

static void come_back(struct visit visit)
{
    if (visit.from && visit.from != current())
        gdx_hip_driver.hipSetDevice((int)(visit.from - 1));
}

/* ---- the program's streams ---- */

static enum gdx_answer answer(hipError_t status)
{
    return status == hipSuccess ? GDX_DONE : status == hipErrorNotReady ? GDX_NOT_YET : GDX_BROKEN;
}

/* A default stream is the current device's. */
static enum gdx_answer ask(const struct gdx_busy *one)
{
    if (one->last)
        return answer(gdx_hip_driver.hipEventQuery(one->last));
    if (one->queue > GDX_OWN_STREAM + 1)
        return answer(gdx_hip_driver.hipStreamQuery((hipStream_t)(uintptr_t)(one->queue - 1)));
    struct visit visit = go_to(one->home);
    enum gdx_answer found =
        visit.there ? answer(gdx_hip_driver.hipStreamQuery((hipStream_t)(uintptr_t)(one->queue - 1))) : GDX_BROKEN;
    come_back(visit);
    return found;
}

/* An event is recorded in streams of its own device only. Where an older error stands, asking would hide it. */
static void *mark(uint64_t home, void *queue)
{
    hipEvent_t last = NULL;
    bool had = has_error(), works = had || gdx_hip_driver.hipStreamQuery(queue) == hipErrorNotReady;
    if (!works)
        return NULL;
    struct visit visit = had ? (struct visit){ 0 } : go_to(home);
    bool made = visit.there && gdx_hip_driver.hipEventCreateWithFlags(&last, NO_TIMING) == hipSuccess;
    if (!made || gdx_hip_driver.hipEventRecord(last, queue) != hipSuccess)
        gdx_watch_stop("a stream went while it worked, and could not be followed");
    come_back(visit);
    return made ? last : NULL;
}

static void unmark(void *last)
{
    gdx_hip_driver.hipEventDestroy(last);
}

static struct gdx_streams streams = { .ask = ask, .mark = mark, .unmark = unmark, .by_handle = true };

void gdx_hip_watch_submit(uint64_t queue)
{
    uint64_t home = gdx_on() && can_watch() ? current() : 0;
    if (home)
        gdx_stream_given(&streams, home, queue);
}

void gdx_hip_watch_queue_leaves(hipStream_t queue)
{
    if (!gdx_on() || !can_watch() || GDX_HIP_WORD(queue) <= hipStreamPerThread || atomic_load(&gdx_hip_captures) > 0)
        return;
    bool had = has_error();
    gdx_stream_leaves(&streams, queue);
    settle(had);
}

static bool all_idle(bool patient)
{
    return !atomic_load(&gdx_hip_captures) && !has_error() && gdx_streams_idle(&streams, patient) && gdx_watching();
}

/* ---- content ---- */

/* Pinned memory for what is read: one for looks, one for what was just made, of which others may be made at the same time. */
enum use { LOOK, FRESH, USES };
static struct { _Atomic(void *) at[USES]; _Atomic bool taken; } rooms[GDX_HIP_DEVICES];

/* On the device. What another thread made at the same time is given back. */
static void *room_of(int device, enum use use)
{
    void *fresh = NULL, *known = atomic_load(&rooms[device].at[use]);
    if (known || gdx_hip_driver.hipHostMalloc(&fresh, GDX_WATCH_PIECE, 0) != hipSuccess)
        return known;
    if (atomic_compare_exchange_strong(&rooms[device].at[use], &known, fresh))
        return fresh;
    gdx_hip_driver.hipHostFree(fresh);
    return known;
}

static bool is_known(const void *address)
{
    hipDeviceptr_t base;
    size_t size;
    return gdx_hip_driver.hipMemGetAddressRange(&base, &size, (hipDeviceptr_t)(uintptr_t)address) == hipSuccess;
}

static const unsigned char *fetch(int device, enum use use, const void *from, size_t bytes)
{
    void *to = atomic_load(&gdx_hip_captures) ? NULL : room_of(device, use);
    hipStream_t stream = to ? gdx_hip_own_stream(device) : NULL;
    if (!stream || !is_known(from)
        || gdx_hip_driver.hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToHost, stream) != hipSuccess)
        return NULL;
    if (gdx_hip_own_ended(device))
        return to;
    gdx_watch_stop("a copy of watched memory did not come to an end");
    return NULL;
}

static const unsigned char *fetch_fresh(int device, const void *from, size_t bytes, unsigned char *room)
{
    for (unsigned tries = 0; atomic_exchange(&rooms[device].taken, true); tries++)
        gdx_wait(tries);
    const unsigned char *found = fetch(device, FRESH, from, bytes);
    if (found)
        memcpy(room, found, bytes);
    atomic_store(&rooms[device].taken, false);
    return found ? room : NULL;
}

static const unsigned char *read_memory(const struct gdx_watched *one, uint64_t offset, size_t bytes, unsigned char *room)
{
    const void *from = (const void *)(uintptr_t)(one->handle + offset);
    int device = (int)(one->owner - 1);
    struct visit visit = go_to(one->owner);
    const unsigned char *found = !visit.there ? NULL : room ? fetch_fresh(device, from, bytes, room) : fetch(device, LOOK, from, bytes);
    come_back(visit);
    return found;
}

static const struct gdx_watch_ways ways = { .idle = all_idle, .read = read_memory, .own_room = true };

/* ---- what is watched ---- */

static const char *watch(uint64_t address, size_t bytes, bool now)
{
    if (atomic_load(&gdx_hip_captures) > 0)
        return "made while a stream was captured";
    if (!can_watch())
        return "a runtime that does not have what looking needs";
    struct gdx_watched one = { .handle = address, .address = address, .bytes = bytes, .owner = current() };
    if (!one.owner)
        return "of a device that is not known";
    bool had = has_error();
    const char *why = gdx_watch_add(&ways, &one, now && all_idle(false));
    settle(had);
    return why;
}

void gdx_hip_watch_make(uint64_t address, size_t bytes, bool now)
{
    int saved = errno;
    gdx_watch_drop(&ways, address);  /* in case its end was not seen */
    const char *why = watch(address, bytes, now);
    if (why)
        gdx_watch_miss(address, bytes, why);
    errno = saved;
}

void gdx_hip_watch_drop(uint64_t address)
{
    gdx_watch_drop(&ways, address);
    gdx_watch_await(address);
}

void gdx_hip_watch_look(bool patient)
{
    if (!can_watch())
        return;
    bool had = has_error();
    gdx_watch_look(&ways, patient);
    settle(had);
}

/* ---- the end of all memory of a device ---- */

static void forget(uint64_t home)
{
    gdx_watch_drop_owned(&ways, home);
    gdx_watch_await(0);
    gdx_streams_forget(&streams, home);
    for (int device = 0; device < GDX_HIP_DEVICES; device++)
        for (int use = 0; use < USES && (!home || home == (uint64_t)device + 1); use++)
            atomic_store(&rooms[device].at[use], NULL);
}

static void ends(uint64_t home)
{
    if (!gdx_on() || !home || home > GDX_HIP_DEVICES)
        return;
    forget(home);
    gdx_hip_look_forget((int)(home - 1));  /* our stream goes, too */
}

void gdx_hip_before_hipDeviceReset(void)
{
    gdx_hip_crumbs_forget();
    if (gdx_watching() && can_watch())
        ends(current());
}

void gdx_hip_before_hipDevicePrimaryCtxReset(hipDevice_t device)
{
    gdx_hip_crumbs_forget();
    if (gdx_watching())
        ends((uint64_t)device + 1);
}

void gdx_hip_watch_forget(void)
{
    if (gdx_watching() && gdx_on())
        forget(0);
}
