/* See poison.h. */
#define _GNU_SOURCE
#include "core/poison.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/process.h"

enum { CB = 0xCBCB, NOT_A_NUMBER = 0x7FFF, NOTES_MOST = 256 };
static const size_t LOOKED_AT = 1 << 20;  /* bytes of one reading; looking must not take longer than reading */

_Atomic int gdx_poison_setting = -1;

int gdx_poison_read(void)
{
    if (!environ)
        return 0;  /* before the C library's own constructor; asked again later */
    const char *asked = gdx_directory() ? getenv("GPUDX_POISON") : NULL;
    int found = !asked ? 0 : !strcmp(asked, "nan") ? NOT_A_NUMBER : !strcmp(asked, "cb") ? CB : 0;
    atomic_store(&gdx_poison_setting, found);
    return found;
}

void gdx_poison_fill(void *memory, size_t bytes)
{
    unsigned char *to = memory, halves[] = { (unsigned char)gdx_poison(), (unsigned char)(gdx_poison() >> 8) };
    if (halves[0] == halves[1])
        memset(to, halves[0], bytes);
    else
        for (size_t i = 0; i < bytes; i++)
            to[i] = halves[i & 1];
}

static const struct gdx_text nothing;

void gdx_poison_note(uint64_t object, uint64_t size)
{
    const uint64_t words[] = { object, size, gdx_poison() };
    gdx_note(GDX_CALL_note_poisoned, words, 3, nothing, nothing, NULL, 0);
}

void gdx_poison_note_missing(uint64_t object, uint64_t size, const char *why)
{
    const uint64_t words[] = { object, size };
    gdx_note(GDX_CALL_note_not_poisoned, words, 2, (struct gdx_text){ why, strlen(why) }, nothing, NULL, 0);
}

/* Words of 4 bytes, at multiples of 4 in the object. */
void gdx_poison_came_back(uint64_t object, uint64_t offset, const void *memory, size_t bytes)
{
    static _Atomic uint32_t notes;
    uint32_t pattern = gdx_poison() * 0x10001u, word;
    uint64_t first = 0, count = 0, looked = bytes < LOOKED_AT ? bytes : LOOKED_AT;
    for (uint64_t at = -offset & 3; at + sizeof word <= looked; at += sizeof word) {
        memcpy(&word, (const char *)memory + at, sizeof word);
        if (word != pattern)
            continue;
        first = count ? first : offset + at;
        count++;
    }
    const uint64_t words[] = { object, offset, looked, count, first };
    if (count && gdx_on() && atomic_fetch_add(&notes, 1) < NOTES_MOST)
        gdx_note(GDX_CALL_note_poison_back, words, 5, nothing, nothing, NULL, 0);
}
