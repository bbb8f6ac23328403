/* Watching CUDA memory: when all work is done, and how memory is read.
 *
 * Every stream that was given work is asked whether it is done (cuStreamQuery waits for nothing). As long as one is not,
 * there is no look; nor while a stream is captured, when asking would spoil the capture. Another thread's own default
 * stream cannot be asked from here: that thread's next wait settles it.
 *
 * A look reads into pinned memory of ours, through a stream of ours that does not synchronise with the default stream:
 * the order of the program's own work stays as it is. */
#define _GNU_SOURCE
#include "cuda/watch.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda/fence.h"

enum { STREAMS = 256, CONTEXTS = 64, PATIENCE = 16000 /* about two seconds */ };

/* ---- the program's streams ---- */

struct busy {
    CUcontext context;
    uint64_t queue;        /* 0 in a free place */
    uint32_t tid;          /* of a thread's own default stream */
    CUevent last;          /* of a stream that is gone: when its work is done */
    uint64_t given, done;
};
static struct busy streams[STREAMS];  /* with the lock held; a stream is kept as its handle plus 1 */
static bool hasty;                    /* a stream waits for the program: patience does not help */

static struct busy *place_of(const struct busy *like)
{
    struct busy *room = NULL;
    for (int i = 0; i < STREAMS; i++) {
        struct busy *one = &streams[i];
        if (one->queue == like->queue && one->context == like->context && one->tid == like->tid && !one->last)
            return one;
        if (!room && !one->queue)
            room = one;
    }
    if (room)
        *room = *like;
    return room;
}

static CUcontext current(void)
{
    CUcontext context = NULL;
    return gdx_cu_driver.cuCtxGetCurrent && gdx_cu_driver.cuCtxGetCurrent(&context) == CUDA_SUCCESS ? context : NULL;
}

void gdx_cu_watch_submit(uint64_t queue)
{
    struct gdx_calm calm;
    struct busy like = { .context = current(), .queue = queue + 1, .tid = queue == CU_STREAM_PER_THREAD ? (uint32_t)syscall(SYS_gettid) : 0 };
    if (!gdx_on() || !like.context)
        return;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    struct busy *place = place_of(&like);
    if (place)
        place->given++;
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    if (!place)
        gdx_watch_stop("the program has more streams than are followed");
}

/* What a stream that goes has still to do is known by an event. */
void gdx_cu_watch_queue_leaves(CUstream queue)
{
    struct gdx_calm calm;
    CUevent last = NULL;
    bool works = false;
    if (!gdx_on() || GDX_CU_WORD(queue) <= CU_STREAM_PER_THREAD || atomic_load(&gdx_cu_captures) > 0)
        return;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    for (int i = 0; i < STREAMS; i++)
        works |= streams[i].queue == GDX_CU_WORD(queue) + 1 && streams[i].given != streams[i].done;
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    if (works && gdx_cu_driver.cuStreamQuery(queue) == CUDA_ERROR_NOT_READY
        && gdx_cu_driver.cuEventCreate(&last, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS)
        gdx_cu_driver.cuEventRecord(last, queue);
    gdx_lock(GDX_LOCK_WATCH, &calm);
    for (int i = 0; i < STREAMS; i++)
        if (streams[i].queue == GDX_CU_WORD(queue) + 1 && !streams[i].last)
            streams[i] = last ? (struct busy){ streams[i].context, streams[i].queue, 0, last, 1, 0 } : (struct busy){ 0 };
    gdx_unlock(GDX_LOCK_WATCH, &calm);
}

static CUresult ask(const struct busy *one)
{
    if (one->last)
        return gdx_cu_driver.cuEventQuery(one->last);
    if (one->tid && one->tid != (uint32_t)syscall(SYS_gettid))
        return CUDA_ERROR_NOT_READY;
    struct gdx_cu_visit visit = gdx_cu_visit(one->context);
    CUresult status = visit.status == CUDA_SUCCESS ? gdx_cu_driver.cuStreamQuery((CUstream)(uintptr_t)(one->queue - 1)) : visit.status;
    gdx_cu_leave(visit);
    return status;
}

static void is_done(int i, const struct busy *was)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    if (streams[i].queue == was->queue && streams[i].last == was->last) {
        streams[i].done = was->given;
        if (was->last)
            streams[i] = (struct busy){ 0 };
    }
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    if (was->last)
        gdx_cu_driver.cuEventDestroy_v2(was->last);
}

static bool is_idle(int i, bool patient)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    struct busy was = streams[i];
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    if (!was.queue || was.given == was.done)
        return true;
    CUresult status = ask(&was);
    for (unsigned tries = 0; status == CUDA_ERROR_NOT_READY && patient && !hasty && tries < PATIENCE; tries++) {
        gdx_wait(tries);
        status = ask(&was);
    }
    if (status == CUDA_SUCCESS)
        is_done(i, &was);
    else if (status != CUDA_ERROR_NOT_READY)
        gdx_watch_stop("a stream reported an error");
    hasty |= patient && status == CUDA_ERROR_NOT_READY;
    return status == CUDA_SUCCESS;
}

static bool all_idle(bool patient)
{
    bool idle = !atomic_load(&gdx_cu_captures);
    for (int i = 0; i < STREAMS && idle; i++)
        idle = is_idle(i, patient);
    return idle && gdx_watching();
}

/* ---- our own streams ---- */

struct own { CUcontext context; CUstream stream; void *room; };
static struct own own[CONTEXTS];  /* with the lock held */

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
    if (gdx_cu_driver.cuMemHostAlloc(&fresh.room, GDX_WATCH_PIECE, 0) != CUDA_SUCCESS)
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
    for (int i = 0; i < STREAMS; i++)
        if (!context || streams[i].context == context)
            streams[i] = (struct busy){ 0 };
    gdx_unlock(GDX_LOCK_WATCH, &calm);
}

/* ---- content ---- */

static const unsigned char *read_memory(const struct gdx_watched *one, uint64_t offset, size_t bytes, unsigned char *room)
{
    CUcontext context = (CUcontext)(uintptr_t)one->owner;
    struct gdx_cu_visit visit = gdx_cu_visit(context);
    struct own with = visit.status == CUDA_SUCCESS && !atomic_load(&gdx_cu_captures) ? own_of(context) : (struct own){ 0 };
    void *to = room ? room : with.room;
    CUresult status = with.room ? gdx_cu_driver.cuMemcpyDtoHAsync_v2(to, one->handle + offset, bytes, with.stream)
                                : CUDA_ERROR_INVALID_CONTEXT;
    if (status == CUDA_SUCCESS)
        status = gdx_cu_driver.cuStreamSynchronize(with.stream);
    gdx_cu_leave(visit);
    return status == CUDA_SUCCESS ? to : NULL;
}

static bool is_gone(const struct gdx_watched *one)
{
    (void)one;
    return false;
}

static void let_go(const struct gdx_watched *one)
{
    (void)one;
}

static const struct gdx_watch_ways ways = { all_idle, read_memory, true, is_gone, let_go };

/* ---- what is watched ---- */

static bool can_watch(void)
{
    return gdx_cu_driver.cuStreamQuery && gdx_cu_driver.cuEventQuery && gdx_cu_driver.cuMemHostAlloc
        && gdx_cu_driver.cuMemcpyDtoHAsync_v2 && gdx_cu_driver.cuStreamCreate && gdx_cu_driver.cuStreamSynchronize
        && gdx_cu_driver.cuEventCreate && gdx_cu_driver.cuEventRecord && gdx_cu_driver.cuEventDestroy_v2
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

/* The driver may take the memory away as soon as it is freed: whoever reads it just now is waited for. */
void gdx_cu_watch_drop(uint64_t address)
{
    gdx_watch_drop(&ways, address);
    for (unsigned tries = 0; tries < PATIENCE && gdx_watch_in_use(address); tries++)
        gdx_wait(tries);
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
