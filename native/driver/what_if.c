/* See what_if.h. */
#define _GNU_SOURCE
#include "driver/what_if.h"

#include <errno.h>
#include <string.h>

/* ---- memory ---- */

struct block { _Atomic uint64_t address, bytes; };
static struct { struct block from, to; } blocks[GDX_WHAT_IF_PAIRS];  /* of the pairs that are asked for */
static _Atomic uint64_t made;

static void keep(struct block *block, uint64_t address, uint64_t bytes)
{
    atomic_store(&block->address, address);
    atomic_store(&block->bytes, bytes);
}

static bool holds(struct block *block, uint64_t address)
{
    return address - atomic_load(&block->address) < atomic_load(&block->bytes);
}

void gdx_what_if_made(uint64_t address, uint64_t bytes)
{
    const uint64_t number = atomic_fetch_add(&made, 1) + 1;
    for (unsigned i = 0; i < gdx_asked.redirect.num_pairs; i++) {
        if (number == gdx_asked.redirect.pairs[i].old)
            keep(&blocks[i].from, address, bytes);
        else if (holds(&blocks[i].from, address))
            keep(&blocks[i].from, 0, 0);  /* that memory is gone, and its address in use again */
        if (number == gdx_asked.redirect.pairs[i].wanted)
            keep(&blocks[i].to, address, bytes);
    }
}

/* The same place in the other memory. */
static uint64_t instead_of(uint64_t address)
{
    for (unsigned i = 0; address && i < gdx_asked.redirect.num_pairs; i++)
        if (holds(&blocks[i].from, address) && atomic_load(&blocks[i].to.address))
            return address - atomic_load(&blocks[i].from.address) + atomic_load(&blocks[i].to.address);
    return address;
}

/* ---- launches ---- */

enum { BUFFER = 1, BUFFER_SIZE = 2 };  /* keys of `extra`, as in arguments.c */
struct change { uint32_t index; const void *with; };

static bool is_named(const char *kernel, const char *wanted)
{
    return *wanted && !strcmp(kernel, wanted);
}

/* Where the program has an argument: in a list of pointers, or packed. */
struct given { const struct gdx_layout *layout; void **params; const char *packed; };

static const void *place_of(const struct given *given, uint32_t index)
{
    return given->params ? given->params[index] : given->packed + given->layout->params[index].offset;
}

/* The structure that the number is part of, with the other number, in `copy`. False: it is not passed there. */
static bool replace_member(const struct given *given, char copy[GDX_TAIL])
{
    const uint32_t size = given->layout->params[gdx_asked.number.index].like.size, at = gdx_asked.number.at;
    const uint32_t before = (uint32_t)gdx_asked.number.before, after = (uint32_t)gdx_asked.number.after;
    if (size > GDX_TAIL || size < sizeof before || at > size - sizeof before
        || !gdx_read(&gdx_lane()->reader, copy, place_of(given, gdx_asked.number.index), size) || memcmp(copy + at, &before, sizeof before))
        return false;
    memcpy(copy + at, &after, sizeof after);
    return true;
}

/* What is to be changed in this launch; at most two arguments. */
static unsigned changes(const char *kernel, const struct given *given, const uint64_t *values, struct change *out, struct gdx_passed *passed)
{
    uint64_t *memory = &passed->memory;
    const uint32_t count = given->layout->count;
    const uint32_t index = gdx_asked.number.index, first = gdx_asked.exchange.first, second = gdx_asked.exchange.second;
    const uint32_t which = gdx_asked.redirect.which;
    const struct gdx_param *params = given->layout->params;
    if (is_named(kernel, gdx_asked.number.kernel) && index < count && gdx_asked.number.at != GDX_WHOLE && replace_member(given, passed->structure)) {
        out[0] = (struct change){ index, passed->structure };
        return 1;
    }
    if (is_named(kernel, gdx_asked.number.kernel) && index < count && gdx_asked.number.at == GDX_WHOLE && params[index].like.size <= sizeof *values
        && values[index] == gdx_asked.number.before) {
        out[0] = (struct change){ index, &gdx_asked.number.after };
        return 1;
    }
    if (is_named(kernel, gdx_asked.exchange.kernel) && first < count && second < count
        && params[first].like.size == params[second].like.size && gdx_exchange_is_here()) {
        out[0] = (struct change){ first, place_of(given, second) };
        out[1] = (struct change){ second, place_of(given, first) };
        return 2;
    }
    if (gdx_asked.redirect.what == GDX_OTHER_ARGUMENT && is_named(kernel, gdx_asked.redirect.name) && which < count
        && params[which].like.size == sizeof *memory && gdx_redirect_is_here()) {
        *memory = instead_of(values[which]);
        out[0] = (struct change){ which, memory };
        return 1;
    }
    return 0;
}

/* The program's pairs with our buffer in place of its own; `packed`: its own. False: they are not what they should be. */
static bool take_packed(const struct gdx_reader *me, void **extra, struct gdx_passed *passed)
{
    const void *buffer = NULL;
    const size_t *size = NULL;
    size_t bytes = 0;
    for (int i = 0; i < GDX_PAIRS_OF_EXTRA && gdx_read(me, &passed->pairs[2 * i], extra + 2 * i, sizeof *extra); i++) {
        const uintptr_t key = (uintptr_t)passed->pairs[2 * i];
        if (key != BUFFER && key != BUFFER_SIZE)
            break;
        if (!gdx_read(me, &passed->pairs[2 * i + 1], extra + 2 * i + 1, sizeof *extra))
            return false;
        if (key == BUFFER_SIZE) {
            size = passed->pairs[2 * i + 1];
        } else {
            buffer = passed->pairs[2 * i + 1];
            passed->pairs[2 * i + 1] = passed->packed;
        }
    }
    return buffer && size && gdx_read(me, &bytes, size, sizeof bytes) && bytes <= sizeof passed->packed
        && gdx_read(me, passed->packed, buffer, bytes);
}

static bool take(const struct gdx_layout *layout, void **params, void **extra, struct gdx_passed *passed, struct given *given,
                 uint64_t values[GDX_ARGUMENTS])
{
    struct gdx_lane *lane = gdx_lane();
    if (!lane || layout->count != layout->all || !gdx_argument_words(layout, params, extra, values))
        return false;
    *given = (struct given){ layout, params ? passed->list : NULL, passed->packed };
    return params ? gdx_read(&lane->reader, passed->list, params, layout->count * sizeof *params)
                  : extra && take_packed(&lane->reader, extra, passed);
}

/* Packed values change places by way of a copy. */
static void apply(const struct given *given, const struct change *change, unsigned count, struct gdx_passed *passed)
{
    char copies[2][GDX_TAIL];
    if (given->params) {
        for (unsigned i = 0; i < count; i++)
            passed->list[change[i].index] = (void *)(uintptr_t)change[i].with;
        passed->params = passed->list;
        return;
    }
    for (unsigned i = 0; i < count; i++)
        memcpy(copies[i], change[i].with, given->layout->params[change[i].index].like.size);
    for (unsigned i = 0; i < count; i++)
        memcpy(passed->packed + given->layout->params[change[i].index].offset, copies[i],
               given->layout->params[change[i].index].like.size);
    passed->extra = passed->pairs;
}

void gdx_what_if_launch(const char *kernel, const struct gdx_layout *layout, void **params, void **extra, struct gdx_passed *passed)
{
    int saved = errno;
    uint64_t values[GDX_ARGUMENTS];
    struct given given;
    struct change change[2];
    passed->params = params;
    passed->extra = extra;
    if (kernel && layout && take(layout, params, extra, passed, &given, values))
        apply(&given, change, changes(kernel, &given, values, change, passed), passed);
    errno = saved;
}

void gdx_what_if_grid(const char *kernel, unsigned int groups[3])
{
    const unsigned axis = gdx_asked.redirect.which, in_x = groups[0];
    int saved = errno;
    if (kernel && gdx_asked.exchange.grid && is_named(kernel, gdx_asked.exchange.kernel) && gdx_exchange_is_here()) {
        groups[0] = groups[1];
        groups[1] = in_x;
    }
    if (kernel && gdx_asked.redirect.what == GDX_OTHER_GRID && axis < 3 && is_named(kernel, gdx_asked.redirect.name) && gdx_redirect_is_here()
        && groups[axis] == gdx_asked.redirect.pairs[0].old)
        groups[axis] = (unsigned int)gdx_asked.redirect.pairs[0].wanted;
    errno = saved;
}

/* ---- copies and fills ---- */

static void exchange(uint64_t both[2])
{
    const uint64_t first = both[0];
    both[0] = both[1];
    both[1] = first;
}

static void change(struct gdx_transfer *transfer)
{
    const uint64_t old = gdx_asked.redirect.pairs[0].old, wanted = gdx_asked.redirect.pairs[0].wanted;
    const unsigned which = gdx_asked.redirect.which & 1;
    switch (gdx_asked.redirect.what) {
    case GDX_EXCHANGED:
        exchange(transfer->memory);
        exchange(transfer->pitch);
        transfer->backwards = true;
        break;
    case GDX_OTHER_PITCH:
        transfer->pitch[which] = transfer->pitch[which] == old ? wanted : transfer->pitch[which];
        break;
    case GDX_OTHER_SIZE:
        transfer->bytes = transfer->bytes == old ? wanted : transfer->bytes;
        break;
    case GDX_OTHER_MEMORY:
        transfer->memory[which] = instead_of(transfer->memory[which]);
        break;
    default:
        break;
    }
}

void gdx_what_if_transfer(const char *call, struct gdx_transfer *transfer)
{
    int saved = errno;
    const enum gdx_what what = gdx_asked.redirect.what;
    if (what != GDX_OTHER_ARGUMENT && what != GDX_OTHER_GRID && is_named(call, gdx_asked.redirect.name) && gdx_redirect_is_here())
        change(transfer);
    errno = saved;
}
