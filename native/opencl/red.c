/* Buffers with a red zone: larger than the program asked for, with a pattern behind the end that nobody may write.
 *
 * For devices whose memory has no pages that the host could take away, and by choice (--fence=red). A cl_mem has no address
 * that could be moved, so there is no zone in front: a sub-buffer in the place of the buffer would be seen by the program (it
 * cannot be divided again, and names its parent; OpenCL 1.2 specification, 5.2.1).
 *
 * The zone is read and written by copies between buffers, which the flags CL_MEM_HOST_... do not forbid (the same, 5.2.2: they
 * are about reads, writes and maps of the host), through a buffer of ours that lives for one look. Each buffer is held by one
 * reference of ours until the program drops its last, so that it cannot go while somebody looks at it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "core/clock.h"
#include "core/gave_up.h"
#include "opencl/own.h"

enum { ZONE = GDX_RED_ZONE, AT_ONCE = 32, ARGUMENTS = 256 };
#define WORD(x) ((uint64_t)(uintptr_t)(x))

/* Nothing of it is reserved, so nothing goes into a quarantine. A block's address is its memory object. */
static struct gdx_fences zones = { .blocks_most = 1 << 16, .ranges_most = 1 };

bool gdx_cl_red_zone(cl_mem mem, struct gdx_block *block)
{
    return GDX_UNLIKELY(gdx_blocks(&zones)) && gdx_block_at(&zones, WORD(mem), block);
}

static cl_mem mem_of(const struct gdx_block *block)
{
    return (cl_mem)(uintptr_t)block->address;
}

static cl_context context_of(const struct gdx_block *block)
{
    return (cl_context)(uintptr_t)block->owner;
}

/* What the canary of a block depends on: so many zones from nowhere. */
static struct gdx_range pattern_of(const struct gdx_block *block)
{
    return (struct gdx_range){ (uint64_t)block->key * ZONE, ZONE };
}

static void *room_for(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* ---- filling and looking ---- */

static bool fill(const struct gdx_block *block, cl_command_queue queue)
{
    unsigned char pattern[ZONE];
    cl_context context = context_of(block);
    cl_int status;
    cl_event event;
    gdx_canary_fill(pattern, pattern_of(block));
    cl_mem source = gdx_cl_next.clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, ZONE, pattern, &status);
    if (!source)
        return false;
    status = gdx_cl_next.clEnqueueCopyBuffer(queue, source, mem_of(block), 0, block->bytes, ZONE, 0, NULL, &event);
    bool done = status == CL_SUCCESS && gdx_cl_own_ended(context, queue, event, GDX_CL_PATIENCE_MS);
    gdx_cl_next.clReleaseMemObject(source);  /* the driver keeps it for as long as the copy needs it */
    return done;
}

/* The zones of all blocks, one behind the other, in memory of ours. False: they may still be on their way there. */
static bool fetch(cl_context context, cl_command_queue queue, const struct gdx_block *blocks, uint32_t count, void *seen)
{
    cl_int status = CL_SUCCESS;
    cl_event event;
    cl_mem room = gdx_cl_next.clCreateBuffer(context, CL_MEM_READ_WRITE, (size_t)count * ZONE, NULL, &status);
    if (!room)
        return false;
    for (uint32_t i = 0; i < count && status == CL_SUCCESS; i++)
        status = gdx_cl_next.clEnqueueCopyBuffer(queue, mem_of(&blocks[i]), room, blocks[i].bytes, (size_t)i * ZONE, ZONE, 0,
                                                 NULL, NULL);
    if (status == CL_SUCCESS)
        status = gdx_cl_next.clEnqueueReadBuffer(queue, room, CL_FALSE, 0, (size_t)count * ZONE, seen, 0, NULL, &event);
    bool done = status == CL_SUCCESS && gdx_cl_own_ended(context, queue, event, GDX_CL_PATIENCE_MS);
    gdx_cl_next.clReleaseMemObject(room);
    return done;
}

static void judge(struct gdx_block *block, cl_command_queue queue, const void *seen, uint64_t now)
{
    struct gdx_damage damage;
    struct gdx_range pattern = pattern_of(block);
    gdx_fence_count(&zones, GDX_COUNT_CHECKS);
    if (gdx_canary_damaged(seen, pattern, &damage)) {
        damage.address += block->address + block->bytes - pattern.address;
        gdx_fence_note_damage(&zones, block, &damage);
        fill(block, queue);
    }
    block->clean = now;
}

/* Blocks of one context that nobody else looks at. */
static void look(cl_context context, struct gdx_block *blocks, uint32_t count)
{
    uint64_t now = gdx_ticks();
    cl_command_queue queue = count ? gdx_cl_own_hold(context, false) : NULL;
    char *seen = queue ? room_for((size_t)count * ZONE) : NULL;
    if (seen && fetch(context, queue, blocks, count, seen)) {
        for (uint32_t i = 0; i < count; i++)
            judge(&blocks[i], queue, seen + (size_t)i * ZONE, now);
        munmap(seen, (size_t)count * ZONE);  /* else it stays: it may still be written */
    } else if (count) {
        gdx_gave_up("The bytes behind buffers were not compared, because the device did not copy them within 2 s");
    }
    if (queue)
        gdx_cl_own_drop(context);
}

static void look_at_some(void)
{
    struct gdx_block blocks[AT_ONCE];
    for (int i = 0; i < GDX_CL_OWN_CONTEXTS; i++) {
        cl_context context = gdx_cl_own_number(i);
        uint32_t count = context ? gdx_blocks_borrow(&zones, WORD(context), blocks, AT_ONCE) : 0;
        look(context, blocks, count);
        gdx_blocks_return(&zones, blocks, count);
    }
}

/* What a launch was given: these are looked at in any case. */
static void look_at_given(cl_kernel kernel)
{
    uint64_t values[ARGUMENTS];
    struct gdx_block block;
    uint32_t count = gdx_cl_argument_words(kernel, values, ARGUMENTS);
    for (uint32_t i = 0; i < count; i++)
        if (gdx_block_borrow(&zones, values[i], &block)) {
            look(context_of(&block), &block, 1);
            gdx_blocks_return(&zones, &block, 1);
        }
}

void gdx_cl_red_check(cl_kernel launched)
{
    int saved = errno;
    if (!gdx_blocks(&zones) || !gdx_on() || gdx_cl_in_callback())
        return;
    if (launched)
        look_at_given(launched);
    uint64_t began = gdx_look_begins(&zones);
    if (began) {
        look_at_some();
        gdx_look_ended(began);
    }
    errno = saved;
}

/* ---- making ---- */

/* With content: the driver copies it, and the zone with it. */
static cl_mem ask_with_content(const struct gdx_cl_request *r, const struct gdx_block *block, cl_int *errcode)
{
    char *both = room_for(r->size + ZONE);
    if (!both)
        return NULL;
    struct gdx_lane *lane = gdx_lane();
    if (!lane || !gdx_read(&lane->reader, both, r->host_ptr, r->size)) {
        munmap(both, r->size + ZONE);
        return NULL;
    }
    gdx_canary_fill(both + r->size, pattern_of(block));
    cl_mem made = gdx_cl_ask(r, r->flags, r->size + ZONE, both, errcode);
    munmap(both, r->size + ZONE);
    return made;
}

static bool keep(struct gdx_block *block, cl_mem made, bool filled, cl_command_queue queue)
{
    gdx_red_place(block, WORD(made), block->bytes);
    block->clean = gdx_ticks();
    if (!filled && !fill(block, queue))
        return false;
    if (!gdx_block_add(&zones, block))
        return false;
    gdx_cl_next.clRetainMemObject(made);
    gdx_fence_note(block, block->address, GDX_BLOCK_MADE);
    return true;
}

static cl_mem make(const struct gdx_cl_request *r, cl_command_queue queue, cl_int *errcode, const char **why)
{
    static _Atomic uint32_t key;
    struct gdx_block block = { .owner = WORD(r->context), .bytes = r->size, .references = 1, .key = ++key };
    bool content = r->flags & CL_MEM_COPY_HOST_PTR;
    *why = "no room for a red zone";
    cl_mem made = content ? ask_with_content(r, &block, errcode) : gdx_cl_ask(r, r->flags, r->size + ZONE, NULL, errcode);
    if (!made || keep(&block, made, content, queue))
        return made;
    gdx_cl_next.clReleaseMemObject(made);
    *why = "a red zone that could not be filled";
    return NULL;
}

cl_mem gdx_cl_red_make(const struct gdx_cl_request *r, cl_int *errcode, const char **why)
{
    *why = r->flags & CL_MEM_USE_HOST_PTR     ? "memory of the program's own (CL_MEM_USE_HOST_PTR)"
        : gdx_cl_has_properties(r->properties) ? "a buffer with properties"
        : gdx_cl_in_callback()                ? "made in a callback"
        : r->size > SIZE_MAX - ZONE           ? "no room for a red zone"
                                              : NULL;
    if (*why || !gdx_blocks_ready(&zones))
        return NULL;
    cl_command_queue queue = gdx_cl_own_hold(r->context, false);
    *why = "a context with several devices, or without a queue of ours";
    cl_mem made = queue ? make(r, queue, errcode, why) : NULL;
    if (queue && !made)
        gdx_cl_own_drop(r->context);  /* else the block holds it */
    return made;
}

/* ---- what the program does with it ---- */

cl_int gdx_cl_red_clRetainMemObject(cl_mem mem)
{
    cl_int status = gdx_cl_next.clRetainMemObject(mem);
    if (GDX_UNLIKELY(gdx_blocks(&zones)) && status == CL_SUCCESS)
        gdx_block_refer(&zones, WORD(mem), 1);
    return status;
}

/* The program has dropped its last reference; ours is the last but those of work that goes on. */
static void end(cl_mem mem)
{
    struct gdx_block block;
    if (gdx_block_take(&zones, WORD(mem), 0, &block) != GDX_TAKEN)
        return;
    uint64_t began = gdx_cl_in_callback() ? 0 : gdx_look_begins(&zones);
    if (began) {
        look(context_of(&block), &block, 1);
        gdx_look_ended(began);
    }
    gdx_fence_note(&block, block.address, GDX_BLOCK_GIVEN_BACK);
    gdx_cl_own_drop(context_of(&block));
    gdx_cl_next.clReleaseMemObject(mem);
}

cl_int gdx_cl_red_clReleaseMemObject(cl_mem mem)
{
    cl_int status = gdx_cl_next.clReleaseMemObject(mem);
    int saved = errno;
    if (GDX_UNLIKELY(gdx_blocks(&zones)) && status == CL_SUCCESS && !gdx_block_refer(&zones, WORD(mem), -1))
        end(mem);
    errno = saved;
    return status;
}

void gdx_cl_red_tell(cl_mem mem, cl_mem_info what, void *value)
{
    struct gdx_block block;
    if ((what != CL_MEM_SIZE && what != CL_MEM_REFERENCE_COUNT) || !gdx_cl_red_zone(mem, &block))
        return;
    if (what == CL_MEM_SIZE)
        *(size_t *)value -= ZONE;
    else
        *(cl_uint *)value -= 1;
}
