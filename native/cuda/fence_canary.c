/* The slack of fenced blocks: filled with a pattern, and looked at when the program has waited for its work, and before a
 * block goes.
 *
 * All of it goes through a stream of our own that does not synchronise with the default stream: the order of the
 * program's own work stays as it is. Looking is bounded: a few KB at each side of a block, some blocks at each wait, in
 * turn, and no more than a share of the run's time. */
#define _GNU_SOURCE
#include "cuda/fence.h"

#include <stdatomic.h>

#include "core/clock.h"

enum { STREAMS = 64, AT_ONCE = 32, REACH = 4096 /* so much of the slack on each side */ };

/* ---- our streams, one for each context ---- */

/* `room` is page-locked, so that copies into it need not be waited for one by one; one thread at a time has it. */
static struct { CUcontext context; CUstream stream; unsigned char *room; bool lent; } streams[STREAMS];  /* with the lock held */

static CUstream known_stream(CUcontext context, CUstream fresh)
{
    struct gdx_calm calm;
    CUstream found = NULL;
    int room = -1;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    for (int i = 0; !found && i < STREAMS; i++) {
        if (streams[i].context == context)
            found = streams[i].stream;
        if (!streams[i].context && room < 0)
            room = i;
    }
    if (!found && fresh && room >= 0) {
        streams[room].context = context;
        streams[room].stream = found = fresh;
    }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return found;
}

/* Room for both sides of a block; NULL: somebody else has it, or there is none. */
static unsigned char *borrow_room(CUstream stream)
{
    struct gdx_calm calm;
    unsigned char *room = NULL;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    for (int i = 0; i < STREAMS; i++)
        if (streams[i].stream == stream && streams[i].room && !streams[i].lent) {
            streams[i].lent = true;
            room = streams[i].room;
        }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return room;
}

static void return_room(const unsigned char *room)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    for (int i = 0; room && i < STREAMS; i++)
        if (streams[i].room == room)
            streams[i].lent = false;
    gdx_unlock(GDX_LOCK_FENCE, &calm);
}

static void put_room(CUstream stream)
{
    struct gdx_calm calm;
    void *room = NULL;
    if (!gdx_cu_driver.cuMemAllocHost_v2 || gdx_cu_driver.cuMemAllocHost_v2(&room, 2 * REACH) != CUDA_SUCCESS)
        return;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    for (int i = 0; i < STREAMS; i++)
        if (streams[i].stream == stream)
            streams[i].room = room;
    gdx_unlock(GDX_LOCK_FENCE, &calm);
}

CUstream gdx_cu_own_stream(CUcontext context)
{
    CUstream found = known_stream(context, NULL), fresh;
    if (found || gdx_cu_driver.cuStreamCreate(&fresh, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        return found;
    found = known_stream(context, fresh);
    if (found != fresh)
        gdx_cu_driver.cuStreamDestroy_v2(fresh);  /* another thread was faster, or there are too many contexts */
    else if (gdx_fence_edge())
        put_room(fresh);
    return found;
}

void gdx_cu_canary_forget(CUcontext context)
{
    struct gdx_calm calm;
    if (!gdx_on())
        return;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    for (int i = 0; i < STREAMS; i++)
        if (!context || streams[i].context == context) {
            streams[i].context = NULL;
            streams[i].stream = NULL;
            streams[i].room = NULL;  /* gone with its context */
            streams[i].lent = false;
        }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
}

/* ---- filling and looking ---- */

/* CUDA driver API reference, "API synchronization behavior": a copy from pageable memory has read it when it returns. */
static CUresult fill(const struct gdx_block *block, enum gdx_side side, CUstream stream)
{
    unsigned char pattern[REACH];
    struct gdx_range slack = gdx_slack(block, side, REACH);
    if (!slack.bytes)
        return CUDA_SUCCESS;
    gdx_canary_fill(pattern, slack);
    return gdx_cu_driver.cuMemcpyHtoDAsync_v2(slack.address, pattern, slack.bytes, stream);
}

/* Not waited for: the slack is not the program's, and whoever looks at it later comes behind this in our stream. */
CUresult gdx_cu_canary_fill(struct gdx_block *block)
{
    CUstream stream = gdx_cu_own_stream((CUcontext)(uintptr_t)block->owner);
    if (!stream)
        return CUDA_ERROR_INVALID_CONTEXT;
    block->clean = gdx_ticks();
    CUresult status = fill(block, GDX_BEFORE, stream);
    if (status == CUDA_SUCCESS)
        status = fill(block, GDX_BEHIND, stream);
    if (status == CUDA_SUCCESS)
        status = gdx_cu_driver.cuStreamQuery(stream);
    return status == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : status;
}

static CUresult fetch(const struct gdx_block *block, enum gdx_side side, unsigned char *seen, CUstream stream)
{
    struct gdx_range slack = gdx_slack(block, side, REACH);
    return slack.bytes ? gdx_cu_driver.cuMemcpyDtoHAsync_v2(seen, slack.address, slack.bytes, stream) : CUDA_SUCCESS;
}

/* One side of a block, told and mended where it is damaged. */
static CUresult judge(const struct gdx_block *block, enum gdx_side side, const unsigned char *seen, CUstream stream)
{
    struct gdx_damage damage;
    struct gdx_range slack = gdx_slack(block, side, REACH);
    if (!slack.bytes || !gdx_canary_damaged(seen, slack, &damage))
        return CUDA_SUCCESS;
    gdx_fence_note_damage(&gdx_cu_fences, block, &damage);
    CUresult status = fill(block, side, stream);
    return status == CUDA_SUCCESS ? gdx_cu_driver.cuStreamSynchronize(stream) : status;
}

/* The wait is also for what was filled before and may still be on its way. */
static CUresult look(const struct gdx_block *block, unsigned char *seen, CUstream stream)
{
    CUresult status = fetch(block, GDX_BEFORE, seen, stream);
    if (status == CUDA_SUCCESS)
        status = fetch(block, GDX_BEHIND, seen + REACH, stream);
    if (status == CUDA_SUCCESS)
        status = gdx_cu_driver.cuStreamSynchronize(stream);
    if (status == CUDA_SUCCESS)
        status = judge(block, GDX_BEFORE, seen, stream);
    return status == CUDA_SUCCESS ? judge(block, GDX_BEHIND, seen + REACH, stream) : status;
}

CUresult gdx_cu_canary_check(struct gdx_block *block)
{
    unsigned char ordinary[2 * REACH];
    CUstream stream = gdx_cu_own_stream((CUcontext)(uintptr_t)block->owner);
    uint64_t now = gdx_ticks();
    if (!stream)
        return CUDA_ERROR_INVALID_CONTEXT;
    unsigned char *room = borrow_room(stream);
    CUresult status = look(block, room ? room : ordinary, stream);
    return_room(room);
    if (status == CUDA_SUCCESS) {
        block->clean = now;
        gdx_fence_count(&gdx_cu_fences, GDX_COUNT_CHECKS);
    }
    return status;
}

/* ---- at the program's waits ---- */

static void look_at_some(CUcontext context)
{
    struct gdx_block blocks[AT_ONCE];
    CUresult status = CUDA_SUCCESS;
    uint32_t count = gdx_blocks_borrow(&gdx_cu_fences, GDX_CU_WORD(context), blocks, AT_ONCE);
    for (uint32_t i = 0; i < count && status == CUDA_SUCCESS; i++)
        status = gdx_cu_canary_check(&blocks[i]);
    gdx_blocks_return(&gdx_cu_fences, blocks, count);
}

static void waited(bool for_all)
{
    CUcontext context = NULL;
    if (!gdx_blocks(&gdx_cu_fences) || atomic_load(&gdx_cu_captures) > 0 || !gdx_on()
        || gdx_cu_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context)
        return;
    if (for_all)
        gdx_cu_end_dead(context);
    uint64_t began = gdx_look_begins(&gdx_cu_fences);
    if (!began)
        return;
    look_at_some(context);
    gdx_look_ended(began);
}

/* NULL: the current one (CUDA driver API reference, cuCtxSynchronize_v2). */
static bool is_current(CUcontext context)
{
    CUcontext current = NULL;
    return !context || (gdx_cu_driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context);
}

#define WAITING(name, for_all, parameters, ...)                    \
    static CUresult looking_##name parameters                      \
    {                                                              \
        CUresult status = gdx_cu_driver.name(__VA_ARGS__);         \
        if (status == CUDA_SUCCESS)                                \
            waited(for_all);                                       \
        return status;                                             \
    }
WAITING(cuCtxSynchronize, true, (void))
WAITING(cuCtxSynchronize_v2, is_current(context), (CUcontext context), context)
WAITING(cuStreamSynchronize, false, (CUstream queue), queue)
WAITING(cuStreamSynchronize_ptsz, false, (CUstream queue), queue)
WAITING(cuEventSynchronize, false, (CUevent event), event)
WAITING(cuMemcpyDtoH_v2, false, (void *dst, CUdeviceptr src, size_t size), dst, src, size)
WAITING(cuMemcpyDtoH_v2_ptds, false, (void *dst, CUdeviceptr src, size_t size), dst, src, size)

#define LOOKING(name) { GDX_CU_##name, (void *)looking_##name }
const struct gdx_cu_stand_in gdx_cu_looking[] = {
    LOOKING(cuCtxSynchronize), LOOKING(cuCtxSynchronize_v2), LOOKING(cuStreamSynchronize), LOOKING(cuStreamSynchronize_ptsz),
    LOOKING(cuEventSynchronize), LOOKING(cuMemcpyDtoH_v2), LOOKING(cuMemcpyDtoH_v2_ptds), { -1, NULL },
};
