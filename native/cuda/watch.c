/* Watching CUDA memory: when all work is done, and how memory is read.
 *
 * Every stream that was given work is asked whether it is done (cuStreamQuery waits for nothing). As long as one is not,
 * there is no look; nor while a stream is captured, when asking would spoil the capture (driver/busy.h).
 *
 * A look reads into pinned memory of ours, through a stream of ours that does not synchronise with the default stream:
 * the order of the program's own work stays as it is. Streams may share a hardware queue all the same (CUDA C++ Programming
 * Guide, CUDA_DEVICE_MAX_CONNECTIONS), and there a copy of ours can stand behind a kernel that waits for the program. So no
 * copy is waited for without end; a late one goes to memory that nobody reads any more. */
#define _GNU_SOURCE
#include "cuda/watch.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "cuda/fence.h"
#include "driver/busy.h"

enum { CONTEXTS = 64 };

/* ---- the program's streams ---- */

static CUcontext current(void)
{
    CUcontext context = NULL;
    return gdx_cu_driver.cuCtxGetCurrent && gdx_cu_driver.cuCtxGetCurrent(&context) == CUDA_SUCCESS ? context : NULL;
}

static enum gdx_answer answer(CUresult status)
{
    return status == CUDA_SUCCESS ? GDX_DONE : status == CUDA_ERROR_NOT_READY ? GDX_NOT_YET : GDX_BROKEN;
}

static enum gdx_answer ask(const struct gdx_busy *one)
{
    if (one->last)
        return answer(gdx_cu_driver.cuEventQuery(one->last));
    struct gdx_cu_visit visit = gdx_cu_visit((CUcontext)(uintptr_t)one->home);
    CUresult status = visit.status == CUDA_SUCCESS ? gdx_cu_driver.cuStreamQuery((CUstream)(uintptr_t)(one->queue - 1)) : visit.status;
    gdx_cu_leave(visit);
    return answer(status);
}

static void *mark(uint64_t home, void *queue)
{
    CUevent last = NULL;
    (void)home;
    if (gdx_cu_driver.cuStreamQuery(queue) == CUDA_ERROR_NOT_READY
        && gdx_cu_driver.cuEventCreate(&last, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS)
        gdx_cu_driver.cuEventRecord(last, queue);
    return last;
}

static void unmark(void *last)
{
    gdx_cu_driver.cuEventDestroy_v2(last);
}

static struct gdx_streams streams = { .ask = ask, .mark = mark, .unmark = unmark };

void gdx_cu_watch_submit(uint64_t queue)
{
    CUcontext context = current();
    if (gdx_on() && context)
        gdx_stream_given(&streams, GDX_CU_WORD(context), queue);
}

void gdx_cu_watch_queue_leaves(CUstream queue)
{
    if (gdx_on() && GDX_CU_WORD(queue) > CU_STREAM_PER_THREAD && !atomic_load(&gdx_cu_captures))
        gdx_stream_leaves(&streams, queue);
}

static bool all_idle(bool patient)
{
    return !atomic_load(&gdx_cu_captures) && gdx_streams_idle(&streams, patient) && gdx_watching();
}

/* ---- our own streams ---- */

/* Room for what is read: one for looks, one for what was just made, of which others may be made at the same time. */
enum use { LOOK, FRESH, USES };
struct own { CUcontext context; CUstream stream; void *room; };
static struct own own[CONTEXTS];  /* with the lock held */
static _Atomic bool fresh_taken;

static struct own known_own(CUcontext context, const struct own *fresh)
{
    struct gdx_calm calm;
    struct own found = { 0 };
    gdx_lock(GDX_LOCK_WATCH, &calm);
    for (int i = 0; i < CONTEXTS && !found.context; i++)
        if (own[i].context == context)
            found = own[i];
    for (int i = 0; fresh && i < CONTEXTS && !found.context; i++)
        if (!own[i].context)
            found = own[i] = *fresh;
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    return found;
}

/* In the current context. What another thread made at the same time is left unused: it goes with the context. */
static struct own own_of(CUcontext context)
{
    struct own found = known_own(context, NULL), fresh = { context, NULL, NULL };
    if (found.context || gdx_cu_driver.cuStreamCreate(&fresh.stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        return found;
    if (gdx_cu_driver.cuMemHostAlloc(&fresh.room, (size_t)USES * GDX_WATCH_PIECE, 0) != CUDA_SUCCESS)
        return found;
    return known_own(context, &fresh);
}

static void forget_own(CUcontext context)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    for (int i = 0; i < CONTEXTS; i++)
        if (!context || own[i].context == context)
            own[i] = (struct own){ 0 };
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    gdx_streams_forget(&streams, GDX_CU_WORD(context));
}

/* ---- content ---- */

/* In its context. A copy into ordinary memory would not return before it is done ("API synchronization behavior" there). */
static const unsigned char *fetch(const struct gdx_watched *one, uint64_t offset, size_t bytes, enum use use)
{
    struct own with = gdx_watching() && !atomic_load(&gdx_cu_captures) ? own_of((CUcontext)(uintptr_t)one->owner) : (struct own){ 0 };
    unsigned char *to = with.room ? (unsigned char *)with.room + (size_t)use * GDX_WATCH_PIECE : NULL;
    if (!to || gdx_cu_driver.cuMemcpyDtoHAsync_v2(to, one->handle + offset, bytes, with.stream) != CUDA_SUCCESS)
        return NULL;
    CUresult status = gdx_cu_wait_some(with.stream);
    if (status == CUDA_ERROR_NOT_READY)
        gdx_watch_stop("a copy of watched memory did not come to an end");
    return status == CUDA_SUCCESS ? to : NULL;
}

static const unsigned char *fetch_fresh(const struct gdx_watched *one, uint64_t offset, size_t bytes, unsigned char *room)
{
    for (unsigned tries = 0; atomic_exchange(&fresh_taken, true); tries++)
        gdx_wait(tries);
    const unsigned char *found = fetch(one, offset, bytes, FRESH);
    if (found)
        memcpy(room, found, bytes);
    atomic_store(&fresh_taken, false);
    return found ? room : NULL;
}

static const unsigned char *read_memory(const struct gdx_watched *one, uint64_t offset, size_t bytes, unsigned char *room)
{
    struct gdx_cu_visit visit = gdx_cu_visit((CUcontext)(uintptr_t)one->owner);
    const unsigned char *found = visit.status != CUDA_SUCCESS ? NULL
        : room ? fetch_fresh(one, offset, bytes, room) : fetch(one, offset, bytes, LOOK);
    gdx_cu_leave(visit);
    return found;
}

static const struct gdx_watch_ways ways = { .idle = all_idle, .read = read_memory, .own_room = true };

/* ---- what is watched ---- */

static bool can_watch(void)
{
    return gdx_cu_driver.cuStreamQuery && gdx_cu_driver.cuEventQuery && gdx_cu_driver.cuMemHostAlloc
        && gdx_cu_driver.cuMemcpyDtoHAsync_v2 && gdx_cu_driver.cuStreamCreate && gdx_cu_driver.cuEventCreate
        && gdx_cu_driver.cuEventRecord && gdx_cu_driver.cuEventDestroy_v2
        && gdx_cu_driver.cuCtxPushCurrent_v2 && gdx_cu_driver.cuCtxPopCurrent_v2;
}

void gdx_cu_watch_make(CUdeviceptr address, size_t bytes, bool now)
{
    int saved = errno;
    CUcontext context = current();
    struct gdx_watched one = { .handle = address, .address = address, .bytes = bytes, .owner = GDX_CU_WORD(context) };
    gdx_watch_drop(&ways, address);  /* a variable that was asked for before, or one whose module is gone */
    const char *why = atomic_load(&gdx_cu_captures) > 0 ? "made while a stream was captured" : NULL;
    if (!why && (!context || !can_watch()))
        why = "a driver that does not have what looking needs";
    why = why ? why : gdx_watch_add(&ways, &one, now);
    if (why)
        gdx_watch_miss(address, bytes, why);
    errno = saved;
}

void gdx_cu_watch_drop(uint64_t address)
{
    gdx_watch_drop(&ways, address);
    gdx_watch_await(address);
}

void gdx_cu_watch_forget(CUcontext context)
{
    if (!gdx_watching() || !gdx_on())
        return;
    gdx_watch_drop_owned(&ways, GDX_CU_WORD(context));
    forget_own(context);
}

/* Only the last release ends a primary context; which of the contexts it was does not matter, what is left is few. */
void gdx_cu_watch_forget_inactive(CUdevice device)
{
    unsigned int flags;
    int active = 1;
    if (gdx_watching() && gdx_cu_driver.cuDevicePrimaryCtxGetState
        && gdx_cu_driver.cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && !active)
        gdx_cu_watch_forget(NULL);
}

void gdx_cu_watch_look(bool patient)
{
    gdx_watch_look(&ways, patient);
}
