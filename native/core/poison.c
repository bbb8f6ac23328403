/* See poison.h. */
#define _GNU_SOURCE
#include "core/poison.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/process.h"

enum { ON = 0x10000, CB = 0xCBCB, NOT_A_NUMBER = 0x7FFF, LARGE = 0x4B4B, NOTES_MOST = 256, READINGS_MOST = 4096 };
static const size_t LOOKED_AT = 1 << 20;  /* bytes of one reading; looking must not take longer than reading */

_Atomic int gdx_poison_setting GDX_HOT_DATA = -1;

static int named(const char *pattern)
{
    static const struct { const char *name; int bits; } known[] =
        { { "cb", ON | CB }, { "nan", ON | NOT_A_NUMBER }, { "4b", ON | LARGE }, { "zero", ON } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(pattern, known[i].name))
            return known[i].bits;
    return 0;
}

int gdx_poison_read(void)
{
    if (!environ)
        return 0;  /* before the C library's own constructor; asked again later */
    const char *asked = gdx_directory() ? getenv("GPUDX_POISON") : NULL;
    int found = asked ? named(asked) : 0;
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

/* The program's memory comes in pieces of this size. */
enum { PIECE = 4096 };

static bool read_piece(char *piece, const char *memory, size_t bytes)
{
    struct gdx_lane *lane = gdx_lane();
    return lane && gdx_read(&lane->reader, piece, memory, bytes);
}

/* Words of 4 bytes, at multiples of 4 in the object. */
static void look_for_it(uint64_t object, uint64_t offset, const char *memory, size_t bytes)
{
    static _Atomic uint32_t notes;
    uint32_t pattern = gdx_poison() * 0x10001u, word;
    uint64_t first = 0, count = 0, looked = bytes < LOOKED_AT ? bytes : LOOKED_AT, at = -offset & 3;
    char piece[PIECE];
    while (at + sizeof word <= looked) {
        uint64_t step = looked - at < PIECE ? (looked - at) & ~3ull : PIECE;
        if (!read_piece(piece, memory + at, step)) {
            looked = at;
            break;
        }
        for (uint64_t i = 0; i < step; i += sizeof word) {
            memcpy(&word, piece + i, sizeof word);
            if (word != pattern)
                continue;
            first = count ? first : offset + at + i;
            count++;
        }
        at += step;
    }
    const uint64_t words[] = { object, offset, looked, count, first };
    if (count && gdx_on() && atomic_fetch_add(&notes, 1) < NOTES_MOST)
        gdx_note(GDX_CALL_note_poison_back, words, 5, nothing, nothing, NULL, 0);
}

/* Of all bytes: one that differs must be seen. Each word is mixed in by an odd factor and a turn, so that its place counts. */
static bool digest(const char *memory, size_t bytes, uint64_t *result)
{
    uint64_t mixed = bytes, word;
    char piece[PIECE];
    for (size_t done = 0, step; done < bytes; done += step) {
        step = bytes - done < PIECE ? bytes - done : PIECE;
        if (!read_piece(piece, memory + done, step))
            return false;
        for (size_t at = 0; at < step; at += sizeof word) {
            word = 0;
            memcpy(&word, piece + at, step - at < sizeof word ? step - at : sizeof word);
            mixed = (mixed ^ word) * 0x9e3779b97f4a7c15ull;
            mixed ^= mixed >> 29;
        }
    }
    *result = mixed;
    return true;
}

void gdx_poison_came_back(uint64_t object, uint64_t offset, const void *memory, size_t bytes)
{
    static _Atomic uint32_t readings;
    if (gdx_poison())
        look_for_it(object, offset, memory, bytes);
    if (!gdx_on() || atomic_fetch_add(&readings, 1) >= READINGS_MOST)
        return;
    uint64_t mixed;
    if (!digest(memory, bytes, &mixed))
        return;
    const uint64_t words[] = { object, bytes, mixed };
    gdx_note(GDX_CALL_note_read_back, words, 3, nothing, nothing, NULL, 0);
}
