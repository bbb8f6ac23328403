/* Slack and red zones: filled with a pattern, and looked at when the program has waited for its work, and before the memory goes.
 *
 * All of it goes through streams of our own that do not synchronise with the default stream. None is waited for without end:
 * a device may be waiting for what the program does next. Looking is bounded: 4 KB at each side of some blocks at each wait, in turn, and no more
 * than a share of the run's time. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>

#include "core/clock.h"
#include "core/gave_up.h"
#include "hip/red.h"

enum { ZONE = GDX_RED_ZONE, SIDES = 2, AT_ONCE = 32, NON_BLOCKING = 1 /* hipStreamNonBlocking */ };

/* ---- our streams, one for each device ---- */

static struct { _Atomic(hipStream_t) stream; _Atomic bool spent; } own[GDX_HIP_DEVICES];

hipStream_t gdx_hip_own_stream(int device)
{
    hipStream_t none = NULL, fresh = NULL;
    if (device < 0 || device >= GDX_HIP_DEVICES || atomic_load(&own[device].spent))
        return NULL;
    hipStream_t known = atomic_load(&own[device].stream);
    if (known || gdx_hip_driver.hipStreamCreateWithFlags(&fresh, NON_BLOCKING) != hipSuccess)
        return known;
    if (atomic_compare_exchange_strong(&own[device].stream, &none, fresh))
        return fresh;
    gdx_hip_driver.hipStreamDestroy(fresh);  /* another thread was faster */
    return none;
}

/* NULL: there is none, or it is not to be used any more. */
static hipStream_t known_stream(int device)
{
    return atomic_load(&own[device].spent) ? NULL : atomic_load(&own[device].stream);
}

void gdx_hip_look_forget(int device)
{
    for (int i = 0; i < GDX_HIP_DEVICES; i++)
        if (device < 0 || i == device) {
            atomic_store(&own[i].stream, NULL);
            atomic_store(&own[i].spent, false);
        }
}

static int ask_stream(void *stream)
{
    return (int)gdx_hip_driver.hipStreamQuery(stream);
}

hipError_t gdx_hip_ended(hipStream_t queue)
{
    return (hipError_t)gdx_ask_patiently(ask_stream, queue, hipErrorNotReady);
}

bool gdx_hip_own_ended(int device)
{
    hipError_t status = gdx_hip_ended(atomic_load(&own[device].stream));
    if (status != hipSuccess)
        atomic_store(&own[device].spent, true);
    return status == hipSuccess;
}

/* A question that failed is not to be the error that the program is told (hooks.h); this one cannot fail. */
static void settle(void)
{
    int device;
    gdx_hip_driver.hipGetDevice(&device);
}

/* ---- filling and looking ---- */

static void *room_for(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void *address_of(struct gdx_range range)
{
    return (void *)(uintptr_t)range.address;
}

/* Both sides of a block; a red zone has nothing before it. */
static bool fill(const struct gdx_block *block)
{
    hipStream_t stream = known_stream(block->device);
    char *pattern = stream ? room_for(SIDES * ZONE) : NULL;
    bool done = pattern != NULL;
    for (int side = GDX_BEFORE; done && side <= GDX_BEHIND; side++) {
        struct gdx_range slack = gdx_slack(block, side, ZONE);
        gdx_canary_fill(pattern + side * ZONE, slack);
        done = !slack.bytes
            || gdx_hip_driver.hipMemcpyAsync(address_of(slack), pattern + side * ZONE, slack.bytes, hipMemcpyHostToDevice,
                                             stream) == hipSuccess;
    }
    done = done && gdx_hip_own_ended(block->device);
    if (done)
        munmap(pattern, SIDES * ZONE);  /* else it stays: it may still be read */
    return done;
}

bool gdx_hip_zone_fill(struct gdx_block *block)
{
    block->clean = gdx_ticks();
    return fill(block);
}

static bool fetch_one(const struct gdx_block *block, char *seen)
{
    hipStream_t stream = known_stream(block->device);
    bool good = stream != NULL;
    for (int side = GDX_BEFORE; good && side <= GDX_BEHIND; side++) {
        struct gdx_range slack = gdx_slack(block, side, ZONE);
        good = !slack.bytes
            || gdx_hip_driver.hipMemcpyAsync(seen + side * ZONE, address_of(slack), slack.bytes, hipMemcpyDeviceToHost,
                                             stream) == hipSuccess;
    }
    return good;
}

/* The slack of all blocks, one behind the other. False: it may still be on its way. */
static bool fetch(const struct gdx_block *blocks, uint32_t count, char *seen)
{
    bool good = true;
    for (uint32_t i = 0; i < count && good; i++)
        good = fetch_one(&blocks[i], seen + (size_t)i * SIDES * ZONE);
    for (uint32_t i = 0; i < count && good; i++)
        if (!i || blocks[i].device != blocks[i - 1].device)
            good = gdx_hip_own_ended(blocks[i].device);
    return good;
}

static void judge(struct gdx_block *block, const char *seen, uint64_t now)
{
    struct gdx_damage damage;
    bool whole = true;
    gdx_fence_count(&gdx_hip_fences, GDX_COUNT_CHECKS);
    for (int side = GDX_BEFORE; side <= GDX_BEHIND; side++)
        if (gdx_canary_damaged(seen + side * ZONE, gdx_slack(block, side, ZONE), &damage)) {
            gdx_fence_note_damage(&gdx_hip_fences, block, &damage);
            whole = false;
        }
    if (!whole)
        fill(block);
    block->clean = now;
}

static void look(struct gdx_block *blocks, uint32_t count)
{
    uint64_t now = gdx_ticks();
    char *seen = count ? room_for((size_t)count * SIDES * ZONE) : NULL;
    if (!seen)
        return;
    if (!fetch(blocks, count, seen)) {
        gdx_gave_up("The bytes beside buffers were not compared, because the device did not copy them within 2 s");
        settle();
        return;  /* the room stays: it may still be written */
    }
    for (uint32_t i = 0; i < count; i++)
        judge(&blocks[i], seen + (size_t)i * SIDES * ZONE, now);
    munmap(seen, (size_t)count * SIDES * ZONE);
}

void gdx_hip_zone_check(struct gdx_block *block)
{
    look(block, 1);
}

/* ---- when ---- */

/* Nothing of ours is among the calls that a capture allows. */
static bool may_look(void)
{
    return gdx_blocks(&gdx_hip_fences) && atomic_load(&gdx_hip_captures) == 0 && gdx_on();
}

void gdx_hip_red_waited(void)
{
    struct gdx_block blocks[AT_ONCE];
    int saved = errno;
    uint64_t began = may_look() ? gdx_look_begins(&gdx_hip_fences) : 0;
    if (!began)
        return;
    uint32_t count = gdx_blocks_borrow(&gdx_hip_fences, 0, blocks, AT_ONCE);
    look(blocks, count);
    gdx_blocks_return(&gdx_hip_fences, blocks, count);
    gdx_look_ended(began);
    errno = saved;
}

/* What a launch was given is looked at in any case, so that this launch is named and no other. */
void gdx_hip_red_launched(const void *kernel, void **params, void **extra)
{
    uint64_t values[GDX_ARGUMENTS];
    struct gdx_block block;
    int saved = errno;
    const struct gdx_layout *layout = gdx_fence_edge() && may_look() ? gdx_hip_layout_of(kernel) : NULL;
    uint32_t count = layout ? gdx_argument_words(layout, params, extra, values) : 0;
    for (uint32_t i = 0; i < count; i++)
        if (gdx_block_holding(&gdx_hip_fences, values[i], &block)
            && gdx_block_borrow(&gdx_hip_fences, block.address, &block)) {
            look(&block, 1);
            gdx_blocks_return(&gdx_hip_fences, &block, 1);
        }
    errno = saved;
}

/* ---- the program's waits ---- */

#define WAITING(name, for_all, parameters, ...)                        \
    static hipError_t looking_##name parameters                        \
    {                                                                  \
        hipError_t status = gdx_hip_driver.name(__VA_ARGS__);          \
        if (for_all && status == hipSuccess)                           \
            gdx_hip_end_dead();                                        \
        if (status == hipSuccess)                                      \
            gdx_hip_red_waited();                                      \
        return status;                                                 \
    }
WAITING(hipDeviceSynchronize, true, (void))
WAITING(hipCtxSynchronize, false, (void))
WAITING(hipStreamSynchronize, false, (hipStream_t queue), queue)
WAITING(hipStreamSynchronize_spt, false, (hipStream_t queue), queue)
WAITING(hipEventSynchronize, false, (hipEvent_t event), event)

#define LOOKING(name) { GDX_HIP_##name, (void *)looking_##name }
const struct gdx_hip_stand_in gdx_hip_looking[] = {
    LOOKING(hipDeviceSynchronize), LOOKING(hipCtxSynchronize), LOOKING(hipStreamSynchronize),
    LOOKING(hipStreamSynchronize_spt), LOOKING(hipEventSynchronize), { -1, NULL },
};
