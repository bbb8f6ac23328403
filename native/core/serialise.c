/* See serialise.h. */
#define _GNU_SOURCE
#include "core/serialise.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

_Atomic int gdx_waits_setting GDX_HOT_DATA;
static char which[GDX_WAITS_ROOM];
static uint64_t number;  /* of the launch; 0: which one is said by name */
static _Atomic uint64_t launches;

static int of_text(const char *text)
{
    const char *after = "after:", *before = "before:";
    if (!text || !*text)
        return GDX_WAITS_NONE;
    int side = !strncmp(text, after, strlen(after)) ? GDX_WAITS_AFTER
             : !strncmp(text, before, strlen(before)) ? GDX_WAITS_BEFORE : 0;
    if (!side)
        return *text == '1' ? GDX_WAITS_ALL : GDX_WAITS_NONE;
    strncpy(which, strchr(text, ':') + 1, sizeof which - 1);
    if (which[0] && strspn(which, "0123456789") == strlen(which))
        number = strtoull(which, NULL, 10);
    return side;
}

/* Two threads that read at the same time write the same. */
int gdx_read_waits(void)
{
    int saved = errno, state = of_text(getenv("GPUDX_SERIALISE"));
    atomic_store(&gdx_waits_setting, state);
    errno = saved;
    return state;
}

/* fnmatch() may allocate. The last star takes one letter more whenever the rest does not fit. */
static bool matches(const char *pattern, const char *name)
{
    const char *star = NULL, *behind = NULL;
    while (*name) {
        if (*pattern == '*') {
            star = ++pattern;
            behind = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++, name++;
        } else if (star) {
            pattern = star;
            name = ++behind;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

bool gdx_wait_here(enum gdx_waits side, void *kernel, const char *(*name)(void *kernel, char room[GDX_WAITS_ROOM]))
{
    char room[GDX_WAITS_ROOM];
    int state = atomic_load(&gdx_waits_setting);
    if (state == GDX_WAITS_ALL)
        return side == GDX_WAITS_AFTER;
    if (state != (int)side)
        return false;
    if (number)
        return atomic_fetch_add(&launches, 1) + 1 == number;
    const char *found = name(kernel, room);
    return found && matches(which, found);
}
