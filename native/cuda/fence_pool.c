/* Freed blocks that stay as they are for the next allocation of the same size, once fencing has taken its share of the run.
 *
 * To take a block out of reach means to wait for its stream, and to make the next one means a mapping of its own: a program that
 * allocates for every operator (PyTorch with the backend cudaMallocAsync) spends ten times as long on that as on its work. So that is
 * done as long as it takes no more than one part in three of the run, and the first second of it in any case; beyond that a freed block
 * rests here, still mapped between its fences. What it costs is a use after the free of such a block that is not found, and the
 * report says how many there were.
 *
 * Only blocks of the legacy default stream rest: what is allocated there comes behind what was freed there, whoever asks. The size must
 * be the same to the byte, so that the canaries fit. The oldest goes first: a block rests as long as there are others. */
#define _GNU_SOURCE
#include "cuda/fence.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/gave_up.h"

enum { MOST = 4096, BUDGET = 33 /* percent of the run */, MEMORY_SHARE = 8 };
static const uint64_t FREE_NS = 1000000000;
static const char rests[] = "A freed buffer stayed accessible until its memory was allocated again, because making freed buffers "
                            "inaccessible had taken a third of the run";

/* ---- time ---- */

static _Atomic uint64_t first, spent;  /* ns */
static _Atomic int asked = -1;          /* percent; -1: not read yet */

/* GPUDX_FENCE_BUDGET: 100 takes every freed block out of reach, 0 none. */
static uint64_t budget(void)
{
    int percent = atomic_load(&asked);
    if (percent < 0) {
        const char *text = getenv("GPUDX_FENCE_BUDGET");
        percent = text && *text >= '0' && *text <= '9' ? atoi(text) : BUDGET;
        atomic_store(&asked, percent);
    }
    return (uint64_t)percent;
}

uint64_t gdx_cu_fencing_begins(void)
{
    uint64_t none = 0, now = gdx_clock_ns(CLOCK_MONOTONIC);
    atomic_compare_exchange_strong(&first, &none, now);
    return now;
}

void gdx_cu_fencing_ended(uint64_t began)
{
    uint64_t now = gdx_clock_ns(CLOCK_MONOTONIC);
    atomic_fetch_add(&spent, now > began ? now - began : 0);
}

bool gdx_cu_fencing_is_dear(uint64_t now)
{
    uint64_t used = atomic_load(&spent), share = budget();
    return share < 100 && used >= (share ? FREE_NS : 0) && used * 100 >= (now - atomic_load(&first)) * share;
}

/* ---- resting blocks ---- */

static struct resting { struct gdx_block block; uint64_t peers; } resting[MOST];  /* oldest first, with the lock held */
static uint32_t count;
static uint64_t bytes;  /* of device memory */

static uint64_t peers_of(const struct gdx_block *block)
{
    return gdx_cu_peers(block->device, block->flags & GDX_BLOCK_ORDERED);
}

static struct gdx_block remove_at(uint32_t at)
{
    struct gdx_block block = resting[at].block;
    memmove(&resting[at], &resting[at + 1], (--count - at) * sizeof *resting);
    bytes -= block.mapped;
    return block;
}

/* CU_STREAM_LEGACY is 1; 0 means it, too. */
bool gdx_cu_rest(const struct gdx_block *block, CUstream queue, uint64_t memory)
{
    struct gdx_calm calm;
    if (GDX_CU_WORD(queue) > 1 || block->flags & (GDX_BLOCK_RED | GDX_BLOCK_DEAD))
        return false;
    uint64_t peers = peers_of(block);
    gdx_lock(GDX_LOCK_FENCE, &calm);
    bool room = count < MOST && bytes + block->mapped <= memory / MEMORY_SHARE;
    if (room) {
        resting[count++] = (struct resting){ *block, peers };
        bytes += block->mapped;
    }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    if (room)
        gdx_gave_up(rests);
    return room;
}

bool gdx_cu_rest_over(const struct gdx_block *like, CUstream queue, struct gdx_block *block)
{
    struct gdx_calm calm;
    bool found = false;
    if (GDX_CU_WORD(queue) > 1 || !__atomic_load_n(&count, __ATOMIC_RELAXED))
        return false;
    uint64_t peers = peers_of(like);
    gdx_lock(GDX_LOCK_FENCE, &calm);
    for (uint32_t i = 0; i < count && !found; i++) {
        const struct gdx_block *one = &resting[i].block;
        found = one->bytes == like->bytes && one->align == like->align && one->owner == like->owner && one->device == like->device
            && one->flags == like->flags && resting[i].peers == peers;
        if (found)
            *block = remove_at(i);
    }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return found;
}

bool gdx_cu_rest_take(CUcontext context, struct gdx_block *block)
{
    struct gdx_calm calm;
    bool found = false;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    for (uint32_t i = 0; i < count && !found; i++)
        if ((found = resting[i].block.owner == GDX_CU_WORD(context)))
            *block = remove_at(i);
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return found;
}

void gdx_cu_rest_forget(void)
{
    count = 0;
    bytes = 0;
}
