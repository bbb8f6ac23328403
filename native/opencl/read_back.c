/* See read_back.h. */
#include "opencl/read_back.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/program_memory.h"

enum { MOST = 512, WAITING = 32, PIECE = 512 };
static const size_t MOST_BYTES = (size_t)64 << 20;
static const uint32_t NAN_32 = 0x7fc00000, INFINITY_32 = 0x7f800000;
static const uint64_t NAN_64 = 0x7ff8000000000000, INFINITY_64 = 0x7ff0000000000000;

_Atomic int gdx_cl_read_back_setting GDX_HOT_DATA;
/* Reads and maps that may not be complete. A place is free while its size is 0; who takes the size owns the rest. */
static struct { _Atomic size_t size; const void *_Atomic buffer; const void *_Atomic address; } waiting[WAITING];
static _Atomic unsigned looked_at;

bool gdx_cl_read_back_wanted(void)
{
    int known = atomic_load(&gdx_cl_read_back_setting);
    if (!known) {  /* two threads may both read it, and come to the same */
        const char *text = getenv("GPUDX_READ_BACK");
        known = text && *text == '1' ? 2 : 1;
        atomic_store(&gdx_cl_read_back_setting, known);
    }
    return known == 2;
}

/* What devices compute: other patterns of a NaN may be data of other types. */
static void look(const void *buffer, const void *address, size_t size)
{
    uint64_t words[PIECE], first = 0, nan = 0, infinite = 0, wide_nan = 0, wide_infinite = 0, varies = 0;
    struct gdx_lane *lane = gdx_lane();
    if (!lane || !address || atomic_fetch_add_explicit(&looked_at, 1, memory_order_relaxed) >= MOST)
        return;
    size_t most = size < MOST_BYTES ? size : MOST_BYTES;
    for (size_t at = 0; at < most; at += sizeof words) {
        size_t bytes = most - at < sizeof words ? most - at : sizeof words;
        memset(words, 0, sizeof words);
        if (!gdx_read(&lane->reader, words, (const char *)address + at, bytes))
            break;
        first = at ? first : words[0];
        for (size_t i = 0; i < bytes / 8; i++) {
            uint32_t half[2] = { (uint32_t)words[i] & INT32_MAX, (uint32_t)(words[i] >> 32) & INT32_MAX };
            uint64_t whole = words[i] & INT64_MAX;
            nan += (half[0] == NAN_32) + (half[1] == NAN_32);
            infinite += (half[0] == INFINITY_32) + (half[1] == INFINITY_32);
            wide_nan += whole == NAN_64;
            wide_infinite += whole == INFINITY_64;
            varies += words[i] != first;
        }
    }
    gdx_note(GDX_CALL_note_brought,
             (uint64_t[]){ (uint64_t)(uintptr_t)buffer, size, nan, infinite, wide_nan, wide_infinite, varies }, 7,
             (struct gdx_text){ 0 }, (struct gdx_text){ 0 }, NULL, 0);
}

void gdx_cl_read_back_is(const void *buffer, const void *address, size_t size, bool done)
{
    int saved = errno;
    if (done)
        look(buffer, address, size);
    for (int i = 0; !done && address && size && i < WAITING; i++) {
        if (atomic_load(&waiting[i].address))
            continue;
        const void *nothing = NULL;
        if (!atomic_compare_exchange_strong(&waiting[i].address, &nothing, address))
            continue;
        atomic_store(&waiting[i].buffer, buffer);
        atomic_store(&waiting[i].size, size);  /* from here on it may be looked at */
        break;
    }
    errno = saved;
}

void gdx_cl_read_back_waited(void)
{
    int saved = errno;
    for (int i = 0; i < WAITING; i++) {
        size_t size = atomic_exchange(&waiting[i].size, 0);
        if (!size)
            continue;
        look(atomic_load(&waiting[i].buffer), atomic_load(&waiting[i].address), size);
        atomic_store(&waiting[i].address, NULL);
    }
    errno = saved;
}
