/* See redirect.h. */
#define _GNU_SOURCE
#include "opencl/redirect.h"

#include <errno.h>
#include <string.h>

#include "opencl/hooks.h"
#include "opencl/what_if.h"

enum { MAPS = 256 };

static struct { _Atomic(cl_mem) from, to; } objects[GDX_WHAT_IF_PAIRS];  /* of the pairs that are asked for */
static _Atomic uint64_t made;
static struct { _Atomic(void *) where; cl_mem mem; } maps[MAPS];  /* of another object than the program asked for */

/* ---- objects ---- */

static void made_number(uint64_t number, cl_mem mem)
{
    for (unsigned i = 0; i < gdx_asked.redirect.num_pairs; i++) {
        if (number == gdx_asked.redirect.pairs[i].old)
            atomic_store(&objects[i].from, mem);
        else if (atomic_load(&objects[i].from) == mem)
            atomic_store(&objects[i].from, NULL);  /* that one is gone, and its address in use again */
        if (number == gdx_asked.redirect.pairs[i].wanted && gdx_cl_next.clRetainMemObject(mem) == CL_SUCCESS)
            atomic_store(&objects[i].to, mem);
    }
}

void gdx_cl_redirect_made(cl_mem mem)
{
    int saved = errno;
    if (mem && (gdx_asked.redirect.what == GDX_OTHER_MEMORY || gdx_asked.redirect.what == GDX_OTHER_ARGUMENT))
        made_number(atomic_fetch_add(&made, 1) + 1, mem);
    errno = saved;
}

static cl_mem instead_of(cl_mem mem)
{
    for (unsigned i = 0; mem && i < gdx_asked.redirect.num_pairs; i++)
        if (atomic_load(&objects[i].from) == mem && atomic_load(&objects[i].to))
            return atomic_load(&objects[i].to);
    return mem;
}

/* ---- calls ---- */

#define EXCHANGE_BOTH(part)                                                                                                      \
    do {                                                                                                                         \
        if (parts->part[0] && parts->part[1]) {                                                                                  \
            __typeof__(*parts->part[0]) first = *parts->part[0];                                                                 \
            *parts->part[0] = *parts->part[1];                                                                                   \
            *parts->part[1] = first;                                                                                             \
        }                                                                                                                        \
    } while (0)

static void exchange(const struct gdx_cl_parts *parts)
{
    EXCHANGE_BOTH(mem);
    EXCHANGE_BOTH(offset);
    EXCHANGE_BOTH(origin);
    EXCHANGE_BOTH(row);
    EXCHANGE_BOTH(slice);
}

/* A distance between slices goes with that between rows, of which it is a multiple. */
static void change_pitch(size_t *row, size_t *slice)
{
    const uint64_t old = gdx_asked.redirect.pairs[0].old, wanted = gdx_asked.redirect.pairs[0].wanted;
    if (!row || *row != old)
        return;
    if (slice && *row)
        *slice = *slice / *row * wanted;
    *row = wanted;
}

void gdx_cl_redirect_call(const char *called, const struct gdx_cl_parts *parts)
{
    const enum gdx_what what = gdx_asked.redirect.what;
    const unsigned which = gdx_asked.redirect.which;
    int saved = errno;
    const bool of_call = what != GDX_NO_REDIRECT && what != GDX_OTHER_ARGUMENT && what != GDX_OTHER_GRID;
    bool mine = of_call && !strcmp(called, gdx_asked.redirect.name) && gdx_redirect_is_here();
    errno = saved;
    if (!mine || which > 1)
        return;
    if (what == GDX_EXCHANGED)
        exchange(parts);
    else if (what == GDX_OTHER_PITCH)
        change_pitch(parts->row[which], parts->slice[which]);
    else if (what == GDX_OTHER_MEMORY && parts->mem[which])
        *parts->mem[which] = instead_of(*parts->mem[which]);
}

void gdx_cl_redirect_mapped(void *where, cl_mem mem, cl_mem asked)
{
    void *none;
    if (!where || mem == asked)
        return;
    for (unsigned i = 0; i < MAPS; i++)
        if (none = NULL, atomic_compare_exchange_strong(&maps[i].where, &none, where)) {
            maps[i].mem = mem;
            return;
        }
}

void gdx_cl_redirect_unmapped(void *where, cl_mem *mem)
{
    for (unsigned i = 0; where && i < MAPS; i++)
        if (atomic_load(&maps[i].where) == where) {
            *mem = maps[i].mem;
            atomic_store(&maps[i].where, NULL);
            return;
        }
}

/* ---- arguments ---- */

/* The value that the driver is to be given; `room` for one that is not the program's. */
const void *gdx_cl_redirect_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value, cl_mem *room)
{
    int saved = errno;
    struct gdx_lane *lane;
    bool mine = gdx_asked.redirect.what == GDX_OTHER_ARGUMENT && index == gdx_asked.redirect.which && value && size == sizeof *room
        && gdx_cl_is_named(kernel, gdx_asked.redirect.name) && gdx_redirect_is_here()
        && (lane = gdx_lane()) != NULL && gdx_read(&lane->reader, room, value, sizeof *room);
    if (mine)
        *room = instead_of(*room);
    errno = saved;
    return mine ? room : value;
}
