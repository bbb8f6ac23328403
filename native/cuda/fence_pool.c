/* Freed blocks that stay mapped between their fences, for the next allocations: a pool.
 *
 * To take a block out of reach means to wait for its stream, and to make the next one means a mapping of its own: a program that
 * allocates for every operator (PyTorch with the backend cudaMallocAsync) spends ten times as long on that as on its work. So that is
 * done as long as it takes no more than one part in four of the run, and the first half second of it in any case; beyond that a freed
 * block rests here. What it costs is a use after the free of such a block that is not found, and the report says how many there were.
 *
 * A block is used again in the order of its stream, as those of the driver's pools are (CUDA C++ Programming Guide, "Stream Ordered
 * Memory Allocator"): for an allocation in that stream at once, for all others when the stream has come past the free. An event says
 * that. It is recorded only when somebody else could use a block, one for each stream: it covers all blocks that were freed until then.
 * No stream is made to wait for another.
 *
 * An allocation of the same size to the byte takes a block as it is, and its canaries fit; oldest first, so that a block rests as long as
 * there are others. Failing that, it takes the mapping of a block that takes as many granules, if all work with it is done: it lies
 * elsewhere in that mapping, so its canaries are filled anew. Neither asks the driver for a mapping. */
#define _GNU_SOURCE
#include "cuda/fence.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/gave_up.h"

enum { MOST = 4096, ORDERS = 256, BUDGET = 10 /* percent of the run */, MEMORY_SHARE = 8 };
static const uint64_t FREE_NS = 500000000;
static const char rests[] = "A freed buffer stayed accessible until its memory was allocated again, because making freed buffers "
                            "inaccessible had taken its share of the run (GPUDX_FENCE_BUDGET=100 sets no limit)";

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

/* ---- streams in whose order blocks were freed ---- */

/* `freed` counts the frees; `event` was recorded behind the first `marked` of them, and the device has come past `done`. It stays with its
 * place until the context ends. */
static struct order {
    CUcontext context;
    uint64_t queue;  /* NOBODY: the stream is gone, and its handle may be another's; its work may still run */
    CUevent event;
    uint64_t freed, marked, done;
    uint32_t resting;
} orders[ORDERS];  /* with the lock held; a place without a context is free */
static const uint64_t NOBODY = UINT64_MAX;

/* CU_STREAM_LEGACY is 1; 0 means it, too. */
static uint64_t handle_of(CUstream queue)
{
    return queue ? GDX_CU_WORD(queue) : 1;
}

/* A handle that means another stream in each thread has no order here. */
static bool has_order(CUstream queue)
{
    return GDX_CU_WORD(queue) != CU_STREAM_PER_THREAD;
}

/* -1: there is none, and no room for one. */
static int order_of(CUcontext context, uint64_t queue, bool make)
{
    int room = -1;
    for (int i = 0; i < ORDERS; i++) {
        struct order *one = &orders[i];
        if (one->context == context && one->queue == queue)
            return i;
        bool empty = !one->context || (one->context == context && one->queue == NOBODY && !one->resting);
        room = room < 0 && empty ? i : room;
    }
    if (!make || room < 0)
        return -1;
    orders[room] = (struct order){ .context = context, .queue = queue, .event = orders[room].event };
    return room;
}

/* Has the device come past what was marked? */
static bool is_past(int at)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    struct order then = orders[at];
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    if (then.done < then.marked && gdx_cu_driver.cuEventQuery(then.event) != CUDA_SUCCESS)
        return false;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    if (orders[at].marked >= then.marked && orders[at].done < then.marked)  /* else it is another stream's place by now */
        orders[at].done = then.marked;
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return true;
}

/* Events of one place are recorded by one thread after another: what was marked is covered by the last of them, whichever it was. */
static void mark(int at)
{
    struct gdx_calm calm;
    CUevent fresh = NULL;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    struct order then = orders[at];
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    if (then.queue == NOBODY || then.marked >= then.freed)
        return;
    if (!then.event) {
        if (gdx_cu_driver.cuEventCreate(&fresh, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
            return;
        gdx_lock(GDX_LOCK_FENCE, &calm);
        bool late = orders[at].event != NULL;
        then.event = orders[at].event = late ? orders[at].event : fresh;
        gdx_unlock(GDX_LOCK_FENCE, &calm);
        if (late)
            gdx_cu_driver.cuEventDestroy_v2(fresh);
    }
    if (gdx_cu_driver.cuEventRecord(then.event, (CUstream)(uintptr_t)then.queue) != CUDA_SUCCESS)
        return;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    if (orders[at].queue == then.queue && orders[at].freed >= then.freed && orders[at].marked < then.freed)
        orders[at].marked = then.freed;
    gdx_unlock(GDX_LOCK_FENCE, &calm);
}

void gdx_cu_rest_stream_ends(CUcontext context, CUstream queue)
{
    struct gdx_calm calm;
    if (!gdx_cu_resting())
        return;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    int at = order_of(context, handle_of(queue), false);
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    if (at < 0)
        return;
    if (!atomic_load(&gdx_cu_captures))
        mark(at);  /* else its blocks rest until the context ends */
    gdx_lock(GDX_LOCK_FENCE, &calm);
    orders[at].queue = NOBODY;
    gdx_unlock(GDX_LOCK_FENCE, &calm);
}

/* ---- resting blocks ---- */

static struct resting {
    struct gdx_block block;
    uint64_t peers, number, age;  /* number: of the free in its order */
    int order;
} resting[MOST];  /* with the lock held */
static uint64_t sizes[MOST];  /* the bytes of each, which most searches end with */
static uint32_t count;
static uint64_t bytes, asked_bytes, ages;  /* bytes: of device memory, and of these as the program asked for them */

uint64_t gdx_cu_resting(void)
{
    return __atomic_load_n(&bytes, __ATOMIC_RELAXED);
}

uint64_t gdx_cu_rest_asked(void)
{
    return __atomic_load_n(&asked_bytes, __ATOMIC_RELAXED);
}

/* One more or one less; both are read without the lock. */
static void tally(const struct gdx_block *block, bool more)
{
    __atomic_store_n(&bytes, more ? bytes + block->mapped : bytes - block->mapped, __ATOMIC_RELAXED);
    __atomic_store_n(&asked_bytes, more ? asked_bytes + block->bytes : asked_bytes - block->bytes, __ATOMIC_RELAXED);
}

static uint64_t peers_of(const struct gdx_block *block)
{
    return gdx_cu_peers(block->device, block->flags & GDX_BLOCK_ORDERED);
}

static struct gdx_block remove_at(uint32_t at)
{
    struct gdx_block block = resting[at].block;
    orders[resting[at].order].resting--;
    resting[at] = resting[--count];
    sizes[at] = sizes[count];
    tally(&block, false);
    return block;
}

static bool is_done(const struct resting *one)
{
    return one->number <= orders[one->order].done;
}

bool gdx_cu_rest(const struct gdx_block *block, CUstream queue, uint64_t memory)
{
    struct gdx_calm calm;
    if (!has_order(queue) || block->flags & (GDX_BLOCK_RED | GDX_BLOCK_DEAD))
        return false;
    uint64_t peers = peers_of(block);
    gdx_lock(GDX_LOCK_FENCE, &calm);
    bool room = count < MOST && bytes + block->mapped <= memory / MEMORY_SHARE;
    int at = room ? order_of((CUcontext)(uintptr_t)block->owner, handle_of(queue), true) : -1;
    if (at >= 0) {
        orders[at].resting++;
        sizes[count] = block->bytes;
        resting[count++] = (struct resting){ *block, peers, ++orders[at].freed, ++ages, at };
        tally(block, true);
    }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    if (at >= 0)
        gdx_gave_up(rests);
    return at >= 0;
}

static bool is_like(const struct resting *one, const struct gdx_block *like, uint64_t peers)
{
    const struct gdx_block *block = &one->block;
    return block->align == like->align && block->owner == like->owner && block->device == like->device && block->flags == like->flags
        && block->mapped == like->mapped && one->peers == peers;
}

bool gdx_cu_rest_over(const struct gdx_block *like, CUstream queue, struct gdx_block *block)
{
    struct gdx_calm calm;
    uint32_t best = MOST;
    if (!gdx_cu_resting())
        return false;
    uint64_t peers = peers_of(like), handle = has_order(queue) ? handle_of(queue) : 0;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    for (uint32_t i = 0; i < count; i++)
        if (sizes[i] == like->bytes && (best == MOST || resting[i].age < resting[best].age) && is_like(&resting[i], like, peers)
            && (orders[resting[i].order].queue == handle || is_done(&resting[i])))
            best = i;
    if (best < MOST)
        *block = remove_at(best);
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return best < MOST;
}

/* The oldest mapping that fits and that no work uses any more. `*late`: the order of the oldest one that work may still use. */
static bool take_done(const struct gdx_block *like, struct gdx_block *block, int *late)
{
    struct gdx_calm calm;
    uint32_t best = MOST, waiting = MOST;
    uint64_t peers = peers_of(like);
    gdx_lock(GDX_LOCK_FENCE, &calm);
    for (uint32_t i = 0; i < count; i++)
        if (is_like(&resting[i], like, peers)) {
            uint32_t *which = is_done(&resting[i]) ? &best : &waiting;
            *which = *which == MOST || resting[i].age < resting[*which].age ? i : *which;
        }
    *late = waiting < MOST ? resting[waiting].order : -1;
    if (best < MOST)
        *block = remove_at(best);
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return best < MOST;
}

bool gdx_cu_rest_mapping(const struct gdx_block *like, struct gdx_block *block)
{
    int late = -1;
    if (!gdx_cu_resting())
        return false;
    bool found = take_done(like, block, &late);
    if (late < 0 || !is_past(late))
        return found;
    found = found || take_done(like, block, &late);
    if (late >= 0)
        mark(late);  /* for those that come next */
    return found;
}

static int ask_order(void *at)
{
    return is_past((int)((struct order *)at - orders)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static bool first_of(CUcontext context, bool if_done, struct gdx_block *block)
{
    struct gdx_calm calm;
    bool found = false;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    for (uint32_t i = 0; i < count && !found; i++)
        if ((found = resting[i].block.owner == GDX_CU_WORD(context) && (!if_done || is_done(&resting[i]))))
            *block = remove_at(i);
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return found;
}

void gdx_cu_rest_wait(CUcontext context)
{
    for (int i = 0; i < ORDERS && gdx_cu_resting(); i++)
        if (orders[i].context == context && orders[i].resting) {
            mark(i);
            gdx_ask_patiently(ask_order, &orders[i], CUDA_ERROR_NOT_READY);
        }
}

bool gdx_cu_rest_take(CUcontext context, struct gdx_block *block)
{
    return first_of(context, true, block);
}

bool gdx_cu_rest_end(CUcontext context, struct gdx_block *block)
{
    struct gdx_calm calm;
    bool found = first_of(context, false, block);
    gdx_lock(GDX_LOCK_FENCE, &calm);
    for (int i = 0; i < ORDERS && !found; i++)
        if (orders[i].context == context)
            orders[i] = (struct order){ 0 };  /* its event is gone with the context */
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return found;
}

void gdx_cu_rest_forget(void)
{
    memset(orders, 0, sizeof orders);
    count = 0;
    bytes = asked_bytes = 0;
}
