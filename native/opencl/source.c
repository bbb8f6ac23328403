/* See source.h. */
#define _GNU_SOURCE
#include "opencl/source.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "opencl/hooks.h"

enum { LONGEST = 64 };  /* of what is replaced, and of what replaces it */

static _Atomic int setting GDX_HOT_DATA;  /* 0: not read yet, 1: off, 2: on */
static struct { size_t bytes, offset; char before[LONGEST], after[LONGEST]; } wish;

/* Appends one of the program's strings to `text`; false: there is no more to be had, or no room for it. */
static bool add_string(const struct gdx_reader *me, struct gdx_text *text, char *room, const char **strings,
                       const size_t *lengths, cl_uint i)
{
    const char *string = NULL;
    size_t length = 0, rest = GDX_LARGE_MAX - text->bytes, most;
    bool whole = false;
    if (!gdx_read(me, &string, strings + i, sizeof string)
        || (lengths && !gdx_read(me, &length, lengths + i, sizeof length)) || !string)
        return false;
    most = length && length < rest ? length : rest;
    size_t got = length ? gdx_read_some(me, room + text->bytes, string, most)
                        : gdx_read_text(me, room + text->bytes, most, string, &whole);
    text->bytes += got;
    return length ? got == length : whole;
}

static char *fresh(void)
{
    void *room = mmap(NULL, GDX_LARGE_MAX + LONGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return room == MAP_FAILED ? NULL : room;
}

/* The strings one behind the other; true: all of them. */
static bool joined(char *room, struct gdx_text *text, cl_uint count, const char **strings, const size_t *lengths)
{
    const struct gdx_lane *lane = gdx_lane();
    cl_uint i = 0;
    *text = (struct gdx_text){ room, 0 };
    while (lane && i < count && add_string(&lane->reader, text, room, strings, lengths, i))
        i++;
    return lane && i == count;
}

void gdx_cl_note_source(cl_program program, cl_uint count, const char **strings, const size_t *lengths)
{
    int saved = errno;
    uint64_t word = (uintptr_t)program;
    struct gdx_text text;
    char *room = fresh();
    if (room && gdx_lane()) {
        bool whole = joined(room, &text, count, strings, lengths);
        gdx_note_cut(GDX_CALL_note_source, &word, 1, text, !whole);
    }
    gdx_cl_source_freed((struct gdx_text){ room, 0 });
    errno = saved;
}

static bool on(void)
{
    int known = atomic_load(&setting);
    if (!known) {  /* two threads may both read it, and come to the same */
        const char *text = getenv("GPUDX_EDIT");
        int parts = text ? sscanf(text, "%zu:%zu:%63[^:]:%63[^:]", &wish.bytes, &wish.offset, wish.before, wish.after) : 0;
        known = parts == 4 ? 2 : 1;
        atomic_store(&setting, known);
    }
    return known == 2;
}

/* The change, in a text that is the one meant. */
static bool edit(char *room, struct gdx_text *text)
{
    size_t before = strlen(wish.before), after = strlen(wish.after);
    if (text->bytes != wish.bytes || wish.offset + before > text->bytes || memcmp(room + wish.offset, wish.before, before) != 0)
        return false;
    char *end = room + wish.offset + before;
    memmove(room + wish.offset + after, end, (size_t)(room + text->bytes - end));
    memcpy(room + wish.offset, wish.after, after);
    text->bytes += after - before;
    return true;
}

struct gdx_text gdx_cl_edited_source(cl_uint count, const char **strings, const size_t *lengths)
{
    struct gdx_text text = { NULL, 0 };
    int saved = errno;
    char *room = on() ? fresh() : NULL;
    if (room && !(joined(room, &text, count, strings, lengths) && edit(room, &text))) {
        gdx_cl_source_freed((struct gdx_text){ room, 0 });
        text = (struct gdx_text){ NULL, 0 };
    }
    errno = saved;
    return text;
}

void gdx_cl_source_freed(struct gdx_text text)
{
    if (text.data)
        munmap((void *)(uintptr_t)text.data, GDX_LARGE_MAX + LONGEST);
}
