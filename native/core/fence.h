/* Fenced memory, as far as it knows no vendor: where a block lies in its mapping, what its slack is filled with, which
 * blocks there are, and which addresses are kept from being used again.
 *
 *        range: addresses that are reserved, and of these only the middle is mapped
 *   | granule |            mapped                       | granule |
 *   |  fence  |  slack ...    ... canary | block |canary|  fence  |        high: against the upper fence
 *   |  fence  | block | canary ...      ... slack       |  fence  |        low: against the lower fence
 *
 * An access in a fence is a fault of the device. Alignment keeps the block from touching the upper fence: what lies
 * between is slack, filled with a pattern (the canary) and looked at later. A freed block's addresses stay reserved and
 * unmapped (the quarantine) until there are too many of them: a use after the free is a fault too.
 *
 * The table of blocks is wiped in a forked child, which cannot use its parent's device memory. No function here calls a
 * driver, and the lock is held for a search and a move of memory only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gdx_edge { GDX_EDGE_HIGH = 1, GDX_EDGE_LOW = 2 };
struct gdx_fence_policy { enum gdx_edge edge; size_t align; };
const struct gdx_fence_policy *gdx_fence_policy(void);  /* NULL: fences were not asked for */

/* One fenced block. */
enum { GDX_BLOCK_ORDERED = 1,  /* allocated in the order of a queue */
       GDX_BLOCK_DEAD = 2 };   /* freed by the program; its mapping goes when no work can use it any more */
struct gdx_block {
    uint64_t address, bytes;   /* as the program asked for it */
    uint64_t mapping, mapped;  /* what is mapped around it */
    uint64_t granule;          /* of a fence, one on each side of the mapping */
    uint64_t context;
    uint64_t clean;            /* ticks when its slack was last seen whole */
    int32_t device;
    uint16_t flags, users;     /* users: lookers who need the mapping; it stays until they are done */
};
struct gdx_range { uint64_t address, bytes; };

/* Fills in where a block of `bytes` lies in a mapping that begins at 0. False: such a size cannot be. */
bool gdx_fence_place(struct gdx_block *block, size_t bytes, size_t granule);
void gdx_fence_move(struct gdx_block *block, uint64_t range);  /* to where its range was reserved */
struct gdx_range gdx_fence_range(const struct gdx_block *block);

/* ---- the canary ---- */

/* Each block has a pattern of its own, so that a kernel which copies from behind one block to behind another is noticed. */
enum { GDX_CANARY_MOST = 4096 };  /* so much of the slack on each side is looked at */
enum gdx_side { GDX_BEFORE = 0, GDX_BEHIND = 1 };
struct gdx_damage { uint64_t distance, bytes, seen; };  /* a byte that got the pattern's value again is not told */
struct gdx_range gdx_slack(const struct gdx_block *block, enum gdx_side side);
void gdx_canary_pattern(const struct gdx_block *block, struct gdx_range slack, unsigned char *bytes);
bool gdx_canary_damaged(const struct gdx_block *block, enum gdx_side side, const unsigned char *bytes,
                        struct gdx_damage *damage);

/* ---- the table ---- */

bool gdx_blocks_ready(void);                 /* false: there is no memory for a table, or recording is off */
uint32_t gdx_blocks(void);
bool gdx_block_add(const struct gdx_block *block);                        /* false: there are too many */
/* Out of the table, if it has these flags. Where somebody looks at it for too long it stays there as dead. */
enum gdx_taken { GDX_NOT_THERE, GDX_TAKEN, GDX_LEFT_DEAD };
enum gdx_taken gdx_block_take(uint64_t address, uint16_t flags, struct gdx_block *block);
bool gdx_block_take_dead(uint64_t context, struct gdx_block *block);
bool gdx_block_take_any(uint64_t context, struct gdx_block *block);
bool gdx_block_holding(uint64_t address, struct gdx_block *block);        /* live, with the address in it */
bool gdx_block_number(uint32_t number, struct gdx_block *block);
uint32_t gdx_blocks_borrow(uint64_t context, struct gdx_block *blocks, uint32_t room);  /* the next ones in turn */
void gdx_blocks_give_back(const struct gdx_block *blocks, uint32_t count, const uint64_t *clean);
void gdx_blocks_forget(void);

/* Puts a range into the quarantine; true: `oldest` is to be given back to the driver. Ask again with no range. */
bool gdx_quarantine(const struct gdx_range *range, struct gdx_range *oldest);

/* ---- counts, in the order of note_fence ---- */

enum gdx_fence_count {
    GDX_FENCED, GDX_UNFENCED_managed, GDX_UNFENCED_captured, GDX_UNFENCED_memory, GDX_UNFENCED_addresses,
    GDX_UNFENCED_unsupported, GDX_UNFENCED_other, GDX_QUARANTINED, GDX_GIVEN_BACK,
    GDX_GRANULE, GDX_SHARED, GDX_CHECKS, GDX_DAMAGED, GDX_FREED_LATER, GDX_FENCE_COUNTS
};
void gdx_fence_counted(enum gdx_fence_count what);  /* one more; noted in the trace where it is news */
void gdx_fence_granule(uint64_t granule);
