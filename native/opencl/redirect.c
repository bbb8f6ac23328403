/* See redirect.h. */
#define _GNU_SOURCE
#include "opencl/redirect.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/frames.h"
#include "opencl/hooks.h"

enum { LONGEST = 256, RANGES = 1024, PAIRS = 16, MAPS = 256 };
enum what { MEMORY, EXCHANGE, PITCH, ARGUMENT };

_Atomic int gdx_cl_redirect_setting GDX_HOT_DATA;
static char name[LONGEST];  /* of the call, or the kernel */
static enum what what;
static unsigned which;  /* memory object, or pitch, of the call; argument */
static struct { uint64_t first, last; } ranges[RANGES];
static struct gdx_cl_frames frames;
static unsigned num_ranges;  /* none of either: all calls */
static struct { uint64_t old, wanted; _Atomic(cl_mem) from, to; } pairs[PAIRS];
static unsigned num_pairs;
static _Atomic uint64_t came, made;
static struct { _Atomic(void *) where; cl_mem mem; } maps[MAPS];  /* of another object than the program asked for */

/* ---- the variable ---- */

/* "3,5-9"; up to `end`, or nothing is done. */
static bool read_ranges(const char *text, const char *end)
{
    char *rest;
    if (end - text == 3 && !strncmp(text, "all", 3))
        return true;
    while (text < end && *text >= '0' && *text <= '9' && num_ranges < RANGES) {
        ranges[num_ranges].first = ranges[num_ranges].last = strtoull(text, &rest, 10);
        if (*rest == '-')
            ranges[num_ranges].last = strtoull(rest + 1, &rest, 10);
        num_ranges++;
        text = *rest == ',' ? rest + 1 : rest;
    }
    return text == end && num_ranges;
}

/* "4>7,7>4" */
static bool read_pairs(const char *text)
{
    char *rest = NULL;
    for (num_pairs = 0; num_pairs < PAIRS && *text >= '0' && *text <= '9'; num_pairs++) {
        pairs[num_pairs].old = strtoull(text, &rest, 10);
        if (*rest != '>')
            return false;
        pairs[num_pairs].wanted = strtoull(rest + 1, &rest, 10);
        text = *rest == ',' ? rest + 1 : rest;
    }
    return num_pairs && !*text;
}

static bool read_what(const char *text)
{
    const char *colon = strchr(text, ':');
    if (!strcmp(text, "exchange")) {
        what = EXCHANGE;
        return true;
    }
    if (!colon)
        return false;
    if (!strncmp(text, "argument", 8)) {
        what = ARGUMENT;
        which = (unsigned)strtoul(text + 8, NULL, 10);
        return read_pairs(colon + 1);
    }
    what = strncmp(text, "pitch", 5) ? MEMORY : PITCH;
    which = colon[-1] == '1';
    return read_pairs(colon + 1);
}

static bool read_wish(const char *text)
{
    const char *first = text ? strchr(text, '=') : NULL, *second = first ? strchr(first + 1, '=') : NULL;
    if (!second || first - text >= LONGEST)
        return false;
    memcpy(name, text, (size_t)(first - text));
    return (first[1] == '@' ? gdx_cl_read_frames(&frames, first + 2, second) : read_ranges(first + 1, second)) && read_what(second + 1);
}

/* Once in a process. Another thread that comes meanwhile goes on as if it were off. */
static bool on(void)
{
    static _Atomic bool reading;
    if (!atomic_load(&gdx_cl_redirect_setting) && !atomic_exchange(&reading, true))
        atomic_store(&gdx_cl_redirect_setting, read_wish(getenv("GPUDX_REDIRECT")) ? 2 : 1);
    return atomic_load(&gdx_cl_redirect_setting) == 2;
}

/* ---- objects ---- */

static void made_number(uint64_t number, cl_mem mem)
{
    for (unsigned i = 0; i < num_pairs; i++) {
        if (number == pairs[i].old)
            atomic_store(&pairs[i].from, mem);
        else if (atomic_load(&pairs[i].from) == mem)
            atomic_store(&pairs[i].from, NULL);  /* that one is gone, and its address in use again */
        if (number == pairs[i].wanted && gdx_cl_next.clRetainMemObject(mem) == CL_SUCCESS)
            atomic_store(&pairs[i].to, mem);
    }
}

void gdx_cl_redirect_made(cl_mem mem)
{
    int saved = errno;
    if (mem && on() && (what == MEMORY || what == ARGUMENT))
        made_number(atomic_fetch_add(&made, 1) + 1, mem);
    errno = saved;
}

static cl_mem instead_of(cl_mem mem)
{
    for (unsigned i = 0; mem && i < num_pairs; i++)
        if (atomic_load(&pairs[i].from) == mem && atomic_load(&pairs[i].to))
            return atomic_load(&pairs[i].to);
    return mem;
}

/* ---- calls ---- */

/* Is it one of the calls that are meant? Asked once for each that could be. */
static bool is_counted(void)
{
    if (frames.count)
        return gdx_cl_is_from(&frames);
    uint64_t number = atomic_fetch_add(&came, 1) + 1;
    for (unsigned i = 0; i < num_ranges; i++)
        if (number >= ranges[i].first && number <= ranges[i].last)
            return true;
    return !num_ranges;
}

static bool is_here(const char *called)
{
    return what != ARGUMENT && !strcmp(called, name) && is_counted();
}

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
    if (!row || *row != pairs[0].old)
        return;
    if (slice && *row)
        *slice = *slice / *row * pairs[0].wanted;
    *row = pairs[0].wanted;
}

void gdx_cl_redirect_call(const char *called, const struct gdx_cl_parts *parts)
{
    int saved = errno;
    bool mine = on() && is_here(called);
    errno = saved;
    if (!mine)
        return;
    if (what == EXCHANGE)
        exchange(parts);
    else if (what == PITCH)
        change_pitch(parts->row[which], parts->slice[which]);
    else if (parts->mem[which])
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

static bool is_of(cl_kernel kernel)
{
    char own[LONGEST] = "";
    return gdx_cl_next.clGetKernelInfo
        && gdx_cl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof own, own, NULL) == CL_SUCCESS && !strcmp(own, name);
}

/* The value that the driver is to be given; `room` for one that is not the program's. */
const void *gdx_cl_redirect_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value, cl_mem *room)
{
    int saved = errno;
    struct gdx_lane *lane;
    bool mine = on() && what == ARGUMENT && index == which && value && size == sizeof *room && is_of(kernel) && is_counted()
        && (lane = gdx_lane()) != NULL && gdx_read(&lane->reader, room, value, sizeof *room);
    if (mine)
        *room = instead_of(*room);
    errno = saved;
    return mine ? room : value;
}
