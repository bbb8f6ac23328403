/* See functions.h. */
#define _GNU_SOURCE
#include "driver/functions.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

enum { ROWS = 1 << 16, PROBES = 64, ARENA = 64 << 20, HUGE = 2 << 20 };
enum state { UNKNOWN = 0, KNOWN = 1, DEAD = 2 };

struct memory {
    struct gdx_function rows[ROWS];
    char arena[ARENA];
};
static struct memory *_Atomic memory GDX_HOT_DATA;
static _Atomic size_t arena_used;

/* Untouched pages cost nothing, so it can be generous. Each kernel's row is in a page of its own, and its layout in another:
 * where the system can, the rows and the first layouts lie in huge pages, so that a launch does not wait for theirs to be found. */
static struct memory *reserve(void)
{
    const size_t more = HUGE - 1, often = (offsetof(struct memory, arena) + more) & ~more;
    char *at = mmap(NULL, sizeof(struct memory) + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    struct memory *aligned = (struct memory *)(((uintptr_t)at + more) & ~more);
    int saved = errno;
    madvise(aligned, often, MADV_HUGEPAGE);  /* may be refused */
    errno = saved;
    return aligned;
}

/* Two threads may reserve at once: the second's is never touched. */
static struct memory *all_memory(void)
{
    struct memory *now = atomic_load_explicit(&memory, memory_order_acquire);
    if (now)
        return now;
    struct memory *fresh = reserve();
    return !fresh || atomic_compare_exchange_strong(&memory, &now, fresh) ? fresh : now;
}

void *gdx_keep(size_t bytes)
{
    struct memory *here = all_memory();
    bytes = (bytes + 15) & ~(size_t)15;
    size_t at = here ? atomic_fetch_add(&arena_used, bytes) : 0;
    return here && at + bytes <= ARENA ? here->arena + at : NULL;
}

static size_t home(uintptr_t function)
{
    return (size_t)((function >> 4) * 0x9e3779b97f4a7c15ull >> 40) % ROWS;
}

GDX_HOT static struct gdx_function *find(uintptr_t function)
{
    struct memory *known = atomic_load_explicit(&memory, memory_order_acquire);
    if (!known || !function)
        return NULL;
    struct gdx_function *all = known->rows;
    for (size_t i = 0, at = home(function); i < PROBES; i++, at = (at + 1) % ROWS) {
        uintptr_t here = atomic_load_explicit(&all[at].function, memory_order_acquire);
        if (here == function)
            return &all[at];
        if (!here)
            return NULL;
    }
    return NULL;
}

static struct gdx_function *find_or_claim(uintptr_t function)
{
    struct memory *known = all_memory();
    if (!known || !function)
        return NULL;
    struct gdx_function *all = known->rows;
    for (size_t i = 0, at = home(function); i < PROBES; i++, at = (at + 1) % ROWS) {
        uintptr_t here = 0;
        if (atomic_compare_exchange_strong(&all[at].function, &here, function) || here == function)
            return &all[at];
    }
    return NULL;
}

GDX_HOT struct gdx_function *gdx_known(uintptr_t function)
{
    struct gdx_function *row = find(function);
    return GDX_LIKELY(row && atomic_load_explicit(&row->state, memory_order_acquire) == KNOWN) ? row : NULL;
}

void gdx_meet(uintptr_t function, uintptr_t owner, enum gdx_kind kind, const void *about)
{
    struct gdx_function *row = gdx_on() ? find_or_claim(function) : NULL;
    if (!row || (atomic_load(&row->state) == KNOWN && atomic_load(&row->owner) == owner))
        return;
    atomic_store(&row->layout, NULL);
    atomic_store(&row->owner, owner);
    atomic_store(&row->about, about);
    atomic_store(&row->kind, (uint8_t)kind);
    atomic_store(&row->tries, 0);
    atomic_store_explicit(&row->state, KNOWN, memory_order_release);
}

static void kill_row(struct gdx_function *row)
{
    atomic_store(&row->state, DEAD);
    atomic_store(&row->layout, NULL);
}

void gdx_forget_owner(uintptr_t owner)
{
    struct memory *known = atomic_load(&memory);
    for (size_t i = 0; known && owner && i < ROWS; i++)
        if (atomic_load_explicit(&known->rows[i].owner, memory_order_relaxed) == owner)
            kill_row(&known->rows[i]);
}

void gdx_forget_functions(unsigned kinds)
{
    struct memory *known = atomic_load(&memory);
    for (size_t i = 0; known && i < ROWS; i++)
        if (atomic_load_explicit(&known->rows[i].kind, memory_order_relaxed) & kinds)
            kill_row(&known->rows[i]);
}

/* ---- layouts ---- */

struct gdx_layout *gdx_layout_begin(uint32_t count)
{
    uint32_t kept = count < GDX_ARGUMENTS ? count : GDX_ARGUMENTS;
    struct gdx_layout *layout = gdx_keep(sizeof *layout + kept * sizeof *layout->params);
    if (layout)
        *layout = (struct gdx_layout){ .count = kept, .all = count };
    return layout;
}

/* Room among the long values, in order, as far as it goes; UINT32_MAX: there is none. */
static uint32_t tail_place(struct gdx_layout *layout, uint32_t size)
{
    uint32_t need = (size + 7) & ~7u, at = layout->tail_bytes;
    if (need > GDX_TAIL - at)
        return UINT32_MAX;
    layout->tail_bytes += need;
    return at;
}

void gdx_layout_add(struct gdx_layout *layout, uint32_t index, size_t offset, size_t size)
{
    if (offset + size > layout->bytes)
        layout->bytes = (uint32_t)(offset + size);
    if (index >= layout->count)
        return;
    struct gdx_argument like = { .index = (uint16_t)index, .flags = GDX_ARG_set, .size = (uint32_t)size };
    like.tail = size > 8 ? tail_place(layout, like.size) : 0;
    layout->params[index] = (struct gdx_param){ like, (uint32_t)offset };
}

void gdx_note_layout(uintptr_t function, const struct gdx_layout *layout)
{
    uint64_t numbers[2 * GDX_ARGUMENTS];
    const uint64_t words[] = { function, layout->all, layout->bytes };
    for (uint32_t i = 0; i < layout->count; i++) {
        numbers[2 * i] = layout->params[i].offset;
        numbers[2 * i + 1] = layout->params[i].like.size;
    }
    gdx_note(GDX_CALL_note_kernel_params, words, 3, (struct gdx_text){ 0 }, (struct gdx_text){ 0 }, numbers,
             2 * layout->count);
}
