/* Fenced memory: geometry, canaries, records, notes. See fence.h. */
#define _GNU_SOURCE
#include "core/fence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int gdx_fence_setting = -1;

enum gdx_fence_side gdx_fence_read(void)
{
    if (!environ)
        return GDX_FENCE_OFF;  /* before the C library's own constructor; asked again later */
    const char *value = getenv("GPUDX_FENCE");
    bool high = value && !strcmp(value, "high"), low = value && !strcmp(value, "low");
    gdx_fence_setting = high ? GDX_FENCE_HIGH : low ? GDX_FENCE_LOW : GDX_FENCE_OFF;
    return (enum gdx_fence_side)gdx_fence_setting;
}

uint64_t gdx_fence_align(uint64_t promised)
{
    const char *value = getenv("GPUDX_FENCE_ALIGN");
    uint64_t align = value ? strtoull(value, NULL, 10) : 0;
    return align && !(align & (align - 1)) ? align : promised;
}

static uint64_t round_up(uint64_t number, uint64_t unit)
{
    return (number + unit - 1) / unit * unit;
}

bool gdx_fence_place(struct gdx_fenced *block, uint64_t size, uint64_t align, uint64_t page, uint64_t guard)
{
    if (!size || !align || align > page || size > UINT64_MAX / 4 || guard > UINT64_MAX / 4)
        return false;
    guard = round_up(guard, page);
    block->begin = 0;
    block->front = guard;
    block->back = guard + round_up(size, page);
    block->end = block->back + guard;
    block->size = size;
    block->align = align;
    block->address = gdx_fence_side() == GDX_FENCE_LOW ? block->front : (block->back - size) / align * align;
    return true;
}

void gdx_fence_move(struct gdx_fenced *block, uint64_t base)
{
    block->begin += base;
    block->front += base;
    block->address += base;
    block->back += base;
    block->end += base;
}

/* ---- records ---- */

/* With the lock of the API that asks held; APIs have one lock for this between them. */
static struct gdx_fenced *store, *unused;
static size_t taken;

static bool make_store(void)
{
    size_t bytes = (GDX_FENCE_LIVE_MOST + GDX_FENCE_FREED_MOST) * sizeof *store;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    store = at == MAP_FAILED ? NULL : at;
    return store != NULL;
}

struct gdx_fenced *gdx_fence_new(void)
{
    struct gdx_fenced *block = unused;
    if (block)
        unused = block->after;
    else if ((store || make_store()) && taken < GDX_FENCE_LIVE_MOST + GDX_FENCE_FREED_MOST)
        block = &store[taken++];
    if (block)
        memset(block, 0, sizeof *block);
    return block;
}

void gdx_fence_drop(struct gdx_fenced *block)
{
    block->after = unused;
    unused = block;
}

void gdx_fence_append(struct gdx_fence_list *list, struct gdx_fenced *block)
{
    block->before = list->last;
    block->after = NULL;
    *(list->last ? &list->last->after : &list->first) = block;
    list->last = block;
    list->blocks++;
    list->bytes += block->end - block->begin;
}

void gdx_fence_remove(struct gdx_fence_list *list, struct gdx_fenced *block)
{
    *(block->before ? &block->before->after : &list->first) = block->after;
    *(block->after ? &block->after->before : &list->last) = block->before;
    list->blocks--;
    list->bytes -= block->end - block->begin;
}

/* ---- canaries ---- */

static unsigned char canary(uint64_t address)
{
    return (unsigned char)(0xa7 ^ (address * 0x6d));
}

void gdx_canary_stretches(const struct gdx_fenced *block, uint64_t reach, struct gdx_stretch out[2])
{
    uint64_t below = block->address - block->front, end = block->address + block->size, above = block->back - end;
    below = below < reach ? below : reach;
    out[0] = (struct gdx_stretch){ block->address - below, below };
    out[1] = (struct gdx_stretch){ end, above < reach ? above : reach };
}

void gdx_canary_fill(void *room, uint64_t address, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)room)[i] = canary(address + i);
}

size_t gdx_canary_damage(const void *room, uint64_t address, size_t bytes, size_t *reach)
{
    const unsigned char *at = room;
    size_t first = 0, last = bytes;
    while (first < bytes && at[first] == canary(address + first))
        first++;
    while (last > first && at[last - 1] == canary(address + last - 1))
        last--;
    *reach = last - first;
    return first;
}

/* ---- notes ---- */

static const struct gdx_text nothing;

void gdx_fence_note(const struct gdx_fenced *block, enum gdx_fence_state state)
{
    const uint64_t words[] = { block->object, block->address, block->size, block->begin, block->end,
                               state, block->align, gdx_fence_side() };
    gdx_note(GDX_CALL_note_fence_block, words, 8, nothing, nothing, NULL, 0);
}

void gdx_fence_note_damage(const struct gdx_fenced *block, uint64_t address, size_t bytes)
{
    const uint64_t words[] = { block->address, block->size, address - block->address, bytes, block->checked };
    gdx_note(GDX_CALL_note_canary, words, 5, nothing, nothing, NULL, 0);
}

void gdx_fence_note_miss(uint64_t object, uint64_t size, const char *why)
{
    const uint64_t words[] = { object, size };
    gdx_note(GDX_CALL_note_not_fenced, words, 2, (struct gdx_text){ why, strlen(why) }, nothing, NULL, 0);
}
