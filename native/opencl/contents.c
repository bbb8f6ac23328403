/* See contents.h. */
#include "opencl/contents.h"

#include <stdatomic.h>

#include "core/program_memory.h"

enum { MOST = 128, PIECES = 4, WORDS = 16, BYTES = WORDS * sizeof(uint64_t) };

static void look(const struct gdx_open *open, const void *address, size_t size, _Atomic unsigned *looked_at)
{
    uint64_t words[PIECES * WORDS];
    unsigned count = 0;
    if (!address || size < BYTES / 4 || atomic_load_explicit(looked_at, memory_order_relaxed) >= MOST)
        return;
    if (atomic_fetch_add_explicit(looked_at, 1, memory_order_relaxed) >= MOST)
        return;
    size_t room = size > BYTES ? size - BYTES : 0;
    size_t pieces = size / BYTES ? size / BYTES : 1;
    pieces = pieces < PIECES ? pieces : PIECES;
    for (size_t i = 0; i < pieces; i++) {
        size_t at = pieces > 1 ? room / (pieces - 1) * i & ~(size_t)7 : 0;
        size_t bytes = (size < BYTES ? size : BYTES) & ~(size_t)7;
        if (!gdx_read(&open->lane->reader, words + count, (const char *)address + at, bytes))
            return;
        count += (unsigned)(bytes / sizeof *words);
    }
    gdx_note(GDX_CALL_note_contents, (uint64_t[]){ open->slot->begin, size }, 2, (struct gdx_text){ 0 }, (struct gdx_text){ 0 }, words,
             count);
}

void gdx_cl_contents(const struct gdx_open *open, const void *address, size_t size)
{
    static _Atomic unsigned uploads;
    look(open, address, size, &uploads);
}

void gdx_cl_contents_back(const struct gdx_open *open, const void *address, size_t size)
{
    static _Atomic unsigned reads;
    look(open, address, size, &reads);
}
