/* Fenced memory, as far as it is the same for every API: where a block lies in what was reserved for it, the canaries
 * beside it, and which freed blocks are still kept out of reach. Where the pages come from is the API's business.
 *
 *     begin          front      address            address + size    back           end
 *       |  no access   |  canary  |  the program's     |   canary      |  no access  |
 *
 * `high` pushes the block against the upper fence, `low` against the lower. What the alignment of blocks and the size of
 * pages leave between block and fences is filled with canaries: a write there is found at the next check, a read is not.
 *
 * Lists are the API's; whoever touches one holds the lock that the API has for it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/recorder.h"

enum gdx_fence_side { GDX_FENCE_OFF, GDX_FENCE_HIGH, GDX_FENCE_LOW };
enum gdx_fence_state { GDX_FENCE_MADE = 1, GDX_FENCE_FREED = 2, GDX_FENCE_GIVEN_BACK = 3 };  /* note_fence_block */
enum {
    GDX_FENCE_LIVE_MOST = 4096,   /* each takes two lines of /proc/self/maps, of which last_words.c keeps 1 MB */
    GDX_FENCE_FREED_MOST = 4096,  /* the quarantine's bound in blocks; the oldest is given back first */
    GDX_CANARY_NEAR = 256,        /* bytes on each side of a block that are checked at every wait; all are when it is freed */
};

struct gdx_fenced {
    uint64_t object;              /* handle of the memory object, or the address itself */
    uint64_t begin, end;          /* all that was reserved */
    uint64_t front, back;         /* what can be accessed */
    uint64_t address, size;       /* the block */
    uint64_t align;
    uint64_t checked;             /* when its canaries were last known to be whole, in ticks */
    uint64_t own;                 /* a word for the API */
    struct gdx_fenced *before, *after;
};

struct gdx_fence_list {
    struct gdx_fenced *first, *last;
    size_t blocks;
    uint64_t bytes;               /* reserved by all of them */
};

/* GPUDX_FENCE: high or low; anything else, or nothing: off. */
extern int gdx_fence_setting;     /* -1: not read yet */
enum gdx_fence_side gdx_fence_read(void);
static inline enum gdx_fence_side gdx_fence_side(void)
{
    return GDX_LIKELY(gdx_fence_setting >= 0) ? (enum gdx_fence_side)gdx_fence_setting : gdx_fence_read();
}

/* GPUDX_FENCE_ALIGN, a power of two, in place of what the API promises to programs. A smaller one leaves less room
 * between a block and the fence, and may break programs that rely on the promise. */
uint64_t gdx_fence_align(uint64_t promised);

/* Lays a block out from address 0 on; gdx_fence_move puts it where the reservation is. False: it cannot be done. */
bool gdx_fence_place(struct gdx_fenced *block, uint64_t size, uint64_t align, uint64_t page, uint64_t guard);
void gdx_fence_move(struct gdx_fenced *block, uint64_t base);

/* A record for a block, from a fixed store; NULL when that is used up. */
struct gdx_fenced *gdx_fence_new(void);
void gdx_fence_drop(struct gdx_fenced *block);

void gdx_fence_append(struct gdx_fence_list *list, struct gdx_fenced *block);
void gdx_fence_remove(struct gdx_fence_list *list, struct gdx_fenced *block);

/* Canaries depend on their address, so that no value written over many of them fits. The two stretches beside a block,
 * at most `reach` bytes from it: */
struct gdx_stretch { uint64_t from, bytes; };
void gdx_canary_stretches(const struct gdx_fenced *block, uint64_t reach, struct gdx_stretch out[2]);
void gdx_canary_fill(void *room, uint64_t address, size_t bytes);
/* The first changed byte of `bytes`, whose address is `address`, and how far the last reaches from it; `bytes` if whole. */
size_t gdx_canary_damage(const void *room, uint64_t address, size_t bytes, size_t *reach);

void gdx_fence_note(const struct gdx_fenced *block, enum gdx_fence_state state);
void gdx_fence_note_damage(const struct gdx_fenced *block, uint64_t address, size_t bytes);
void gdx_fence_note_miss(uint64_t object, uint64_t size, const char *why);
