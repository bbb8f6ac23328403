/* Fresh memory holds a pattern (gpudx run --poison, GPUDX_POISON), so that a read of what nobody wrote is seen, and is the
 * same in every run. Who fills the memory is the API's business; what with, and what is noted of it, is here.
 *
 *   cb    bytes 0xCB: no value of any type that programs use often (float -26711958, int -875836469)
 *   nan   words 0x7FFF: not a number as float8 (both kinds), float16, bfloat16, float and double, all of them quiet; as
 *         integers near the largest of 16, 32 and 64 bits, so that an index leaves its array.
 *   4b    bytes 0x4B: large and positive in every type (float 13323083, int 1263225675), where cb is negative
 *   zero  what fresh memory most often holds, so that nobody looks for it in what comes back
 *
 * What comes back to the program is also noted by its digest: runs with different patterns that were given the same bytes do not
 * depend on fresh memory. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/recorder.h"

extern _Atomic int gdx_poison_setting;  /* -1: not read yet, 0: none, else the pattern's 16 bits and 1 above */
int gdx_poison_read(void);
static inline bool gdx_poisons(void)
{
    int known = atomic_load_explicit(&gdx_poison_setting, memory_order_relaxed);
    return (GDX_LIKELY(known >= 0) ? known : gdx_poison_read()) != 0;
}
static inline uint16_t gdx_poison(void)
{
    return (uint16_t)(gdx_poisons() ? atomic_load_explicit(&gdx_poison_setting, memory_order_relaxed) : 0);
}

void gdx_poison_fill(void *memory, size_t bytes);  /* from a multiple of two on */
void gdx_poison_note(uint64_t object, uint64_t size);
void gdx_poison_note_missing(uint64_t object, uint64_t size, const char *why);
/* What the program read back into its own memory, from `offset` bytes on in an object: does it hold the pattern? Noted the
 * first times that it does, and its digest as often as there is room for. */
void gdx_poison_came_back(uint64_t object, uint64_t offset, const void *memory, size_t bytes);
