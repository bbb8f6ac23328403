/* See gave_up.h. */
#define _GNU_SOURCE
#include "core/gave_up.h"

#include <stdatomic.h>
#include <string.h>

#include "core/recorder.h"

enum { KINDS = 32 };
static struct { _Atomic(const char *) what; _Atomic uint64_t count; } kinds[KINDS];

static _Atomic uint64_t *count_of(const char *what)
{
    for (int i = 0; i < KINDS; i++) {
        const char *none = NULL;
        if (atomic_compare_exchange_strong(&kinds[i].what, &none, what) || none == what)
            return &kinds[i].count;
    }
    return NULL;
}

/* Noted at the first, the second, the fourth time and so on: a note holds the count until then. */
void gdx_gave_up(const char *what)
{
    _Atomic uint64_t *place = count_of(what);
    uint64_t count = place ? atomic_fetch_add(place, 1) + 1 : 0;
    if (count && !(count & (count - 1)) && gdx_on())
        gdx_note(GDX_CALL_note_gave_up, &count, 1, (struct gdx_text){ what, strlen(what) }, (struct gdx_text){ 0 }, NULL, 0);
}
