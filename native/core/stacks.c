/* Stacks as notes. See stacks.h. */
#define _GNU_SOURCE
#include "core/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/process.h"
#include "core/python.h"
#include "core/scope.h"

enum { FRAMES_MAX = 48 };

bool gdx_stacks_on GDX_HOT_DATA;

void gdx_want_stacks(void)
{
    const char *value = getenv("GPUDX_STACKS");
    gdx_stacks_on = value && *value == '1';
}

void gdx_prepare_stacks(void)
{
    gdx_warm_backtrace();
    if (gdx_stacks_on)
        gdx_find_python();
}

static void put(struct gdx_open *note, uint32_t part, const void *data, size_t bytes)
{
    void *room = bytes ? gdx_part(note, part, bytes) : NULL;
    if (room)
        memcpy(room, data, bytes);
}

static void write_note(struct gdx_open *of, const struct gdx_python *python)
{
    void *frames[FRAMES_MAX];
    int count = gdx_backtrace(frames, FRAMES_MAX);
    struct gdx_open note;
    if (!gdx_begin(&note, GDX_CALL_note_stack, NULL))
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
    return gdx_stacks_on && gdx_runs_python() && !(of->slot->flags & GDX_FLAG_in_another_call) && !gdx_on_signal_stack();
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
