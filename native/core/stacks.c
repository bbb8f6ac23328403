/* Stacks as notes. See stacks.h. */
#define _GNU_SOURCE
#include "core/stacks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/process.h"
#include "core/python.h"
#include "core/scope.h"

/* A stack takes some microseconds. Most programs that fail soon get one for every piece of work; in one that runs long they cost a
 * thousandth of its time. */
enum { FRAMES_MAX = 48, FIRST_OF_THREAD = 256, FIRST_OF_KIND = 128, INTERVAL_NS = 10 * 1000 * 1000 };

enum gdx_stacks gdx_stacks;
static _Atomic uint32_t taken[GDX_CALLS];

void gdx_want_stacks(void)
{
    const char *value = getenv("GPUDX_STACKS");
    gdx_stacks = value && *value == '1' ? GDX_STACKS_ALL : value && *value == '0' ? GDX_STACKS_FAILURES : GDX_STACKS_FIRST;
}

void gdx_first_stacks(struct gdx_lane *lane)
{
    lane->stacks_left = FIRST_OF_THREAD;
    lane->next_stack = gdx_stacks == GDX_STACKS_FAILURES ? UINT64_MAX : 0;
}

void gdx_prepare_stacks(void)
{
    gdx_warm_backtrace();
    if (gdx_stacks == GDX_STACKS_ALL)
        gdx_find_python();
}

static void put(struct gdx_open *note, uint32_t part, const void *data, size_t bytes)
{
    void *room = bytes ? gdx_part(note, part, bytes) : NULL;
    if (room)
        memcpy(room, data, bytes);
}

/* What was allocated long ago is still in the ledger; so are the stacks of the first allocations. */
static bool stays(const struct gdx_open *of)
{
    return of->lane->stacks_left && of->track == &of->lane->track[1];
}

static void write_note(struct gdx_open *of, const struct gdx_python *python)
{
    void *frames[FRAMES_MAX];
    int count = gdx_backtrace(frames, FRAMES_MAX);
    struct gdx_open note;
    note.frame = (uintptr_t)__builtin_dwarf_cfa();
    if (!gdx_begin_on(&note, GDX_CALL_note_stack, NULL, stays(of)))
        return;
    note.slot->w[0] = of->file_offset / 8;
    note.slot->w[1] = python ? python->answer : GDX_PYTHON_NONE;
    note.slot->w[2] = gdx_sequence();
    put(&note, GDX_PART_frames, frames, count > 0 ? (size_t)count * sizeof *frames : 0);
    if (python)
        put(&note, GDX_PART_python, python->text, python->bytes);
    put(&note, GDX_PART_scope, gdx_scope(), strlen(gdx_scope()));
    gdx_commit(&note);
    gdx_end_quiet(&note, 0);
    of->slot->flags |= GDX_FLAG_stack;
}

/* A function of its own: its text takes more of the stack than threads that run no Python need to have. */
__attribute__((noinline)) static void write_both(struct gdx_open *of)
{
    struct gdx_python python;
    gdx_python_frames(&python, of->generation);
    write_note(of, &python);
}

/* A signal handler may have interrupted anything, Python's allocator too, so nothing is asked of Python in a call that a
 * handler can have made: one inside another recorded call, or on the stack for signals. */
static bool may_ask_python(const struct gdx_open *of)
{
    return gdx_stacks == GDX_STACKS_ALL && gdx_runs_python() && !(of->slot->flags & GDX_FLAG_in_another_call) && !gdx_on_signal_stack();
}

void gdx_take_stack(struct gdx_open *of)
{
    int saved = errno;
    if (may_ask_python(of))
        write_both(of);
    else
        write_note(of, NULL);
    errno = saved;
}

/* A handler that interrupted something takes no stack: it may have little room on its own. */
static bool in_handler(const struct gdx_open *of)
{
    return (of->slot->flags & GDX_FLAG_in_another_call) || gdx_on_signal_stack();
}

GDX_COLD void gdx_stack_in_turn(struct gdx_open *of)
{
    struct gdx_lane *lane = of->lane;
    bool all = gdx_stacks == GDX_STACKS_ALL;
    if (!all && in_handler(of))
        return;
    gdx_take_stack(of);
    if (lane->stacks_left)
        lane->stacks_left--;
    else if (!all)
        lane->next_stack = of->slot->begin + gdx_ticks_of(INTERVAL_NS);
}

void gdx_stack_of_kind(struct gdx_open *of)
{
    _Atomic uint32_t *mine = &taken[of->slot->call];
    if (atomic_load_explicit(mine, memory_order_relaxed) >= FIRST_OF_KIND || in_handler(of)
        || atomic_fetch_add_explicit(mine, 1, memory_order_relaxed) >= FIRST_OF_KIND)
        return;
    int saved = errno;
    write_note(of, NULL);
    errno = saved;
}
