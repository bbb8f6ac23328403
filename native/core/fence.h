/* Fenced memory, as far as it is the same for every API: where a block lies in its mapping, the canaries beside it, which
 * blocks there are, and which addresses are kept from being used again. Where the memory comes from is the API's business.
 *
 *        range: addresses that are reserved, and of these only the middle can be accessed
 *   |  guard  |            mapping                      |  guard  |
 *   |  fence  |  slack ...    ... canary | block |canary|  fence  |        high: against the upper fence
 *   |  fence  | block | canary ...      ... slack       |  fence  |        low: against the lower fence
 *
 *   no range, no fence:   | block | red zone |                          where pages cannot be had, or by choice
 *
 * An access in a fence is a fault. Alignment keeps the block from touching the upper fence: what lies between is slack,
 * filled with a pattern (the canary) and looked at later. A freed block's addresses stay reserved and out of reach (the
 * quarantine) until there are too many of them: a use after the free is a fault too. A red zone is memory that was asked for
 * behind the block and holds a canary; it faults never, and shows writes only.
 *
 * A table of blocks is wiped in a forked child, which cannot use its parent's memory. No function here calls a driver,
 * and the lock is held for a search and a move of memory only. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/recorder.h"

/* ---- what was asked for: GPUDX_FENCE, GPUDX_FENCE_ALIGN ---- */

enum gdx_edge { GDX_EDGE_NONE, GDX_EDGE_HIGH, GDX_EDGE_LOW, GDX_EDGE_RED };
extern _Atomic int gdx_fence_setting;  /* -1: not read yet */
enum gdx_edge gdx_fence_read(void);
static inline enum gdx_edge gdx_fence_edge(void)
{
    int known = atomic_load_explicit(&gdx_fence_setting, memory_order_relaxed);
    return GDX_LIKELY(known >= 0) ? (enum gdx_edge)known : gdx_fence_read();
}

/* A power of two: what was asked for, but not less than `least`, else what the API promises to programs. A smaller one
 * leaves less slack, and may break programs that rely on the promise. */
uint64_t gdx_fence_align(uint64_t promised, uint64_t least);

/* ---- a block ---- */

enum { GDX_BLOCK_ORDERED = 1,  /* allocated in the order of a queue */
       GDX_BLOCK_DEAD = 2,     /* freed by the program; its mapping goes when no work can use it any more */
       GDX_BLOCK_ON_HOST = 4,  /* the processor can access it: a fault is a signal */
       GDX_BLOCK_RED = 8 };    /* a red zone behind it instead of fences */
enum { GDX_RED_ZONE = 4096 };  /* bytes */
struct gdx_block {
    uint64_t address, bytes;   /* as the program asked for it */
    uint64_t mapping, mapped;  /* what can be accessed around it */
    uint64_t guard;            /* bytes of a fence, one on each side of the mapping */
    uint64_t align;
    uint64_t owner;            /* its context; of a fenced OpenCL buffer its memory object */
    uint64_t memory;           /* CUDA and HIP, fenced: the handle of what is mapped */
    uint64_t clean;            /* ticks when its slack was last seen whole */
    union {
        int32_t device;        /* CUDA: of its memory */
        uint32_t hidden;       /* OpenCL, fenced: flags that the program gave and the driver did not get */
        uint32_t key;          /* OpenCL, red zone: what its canary depends on, for it has no address */
    };
    uint32_t references;       /* OpenCL, red zone: the program's */
    uint16_t flags, users;     /* users: lookers who need the mapping; it stays until they are done */
};
struct gdx_range { uint64_t address, bytes; };

/* Fills in where a block lies in a range that begins at 0, in whole granules. False: such a size cannot be. */
bool gdx_fence_place(struct gdx_block *block, uint64_t bytes, uint64_t align, uint64_t granule, uint64_t guard);
void gdx_red_place(struct gdx_block *block, uint64_t address, uint64_t bytes);  /* no fences, a red zone */
void gdx_fence_move(struct gdx_block *block, uint64_t range);  /* to where its range was reserved */
struct gdx_range gdx_fence_range(const struct gdx_block *block);

/* ---- the canary ---- */

/* It depends on its address, so that neither one value written over much of it fits, nor what was copied from beside
 * another block. The slack of a block, as far as `reach` bytes from it: */
enum gdx_side { GDX_BEFORE, GDX_BEHIND };
struct gdx_range gdx_slack(const struct gdx_block *block, enum gdx_side side, uint64_t reach);
void gdx_canary_fill(void *room, struct gdx_range slack);
/* From the lowest byte that changed to behind the highest, and the first of them as a word. */
struct gdx_damage { uint64_t address, bytes, seen; };
bool gdx_canary_damaged(const void *room, struct gdx_range slack, struct gdx_damage *damage);

/* ---- the blocks of one API ---- */

struct gdx_fences {
    uint32_t blocks_most, ranges_most;            /* live ones, and those in the quarantine */
    uint64_t bytes_most;                          /* of the addresses in the quarantine */
    void (*give_back)(struct gdx_range range);    /* the oldest of these can be used again */
    struct gdx_block_table *_Atomic table;
    _Atomic uint64_t slack;                       /* what mappings cost in device memory, in bytes */
};

/* A mapping takes whole granules. Small blocks must not take the memory that the program's next large one needs, so the slack
 * of all together is limited to a share of the device's memory. False: there would be too much of it. */
bool gdx_slack_take(struct gdx_fences *fences, const struct gdx_block *block, uint64_t memory);
void gdx_slack_return(struct gdx_fences *fences, const struct gdx_block *block);

bool gdx_blocks_ready(struct gdx_fences *fences);  /* false: there is no memory for a table, or recording is off */
uint32_t gdx_blocks(struct gdx_fences *fences);
uint64_t gdx_blocks_bytes(struct gdx_fences *fences);  /* of all addresses that are taken, in the quarantine or not */
bool gdx_block_add(struct gdx_fences *fences, const struct gdx_block *block);  /* false: there are too many */
/* Out of the table, if it has these flags. Where somebody looks at it for too long it stays there as dead. */
enum gdx_taken { GDX_NOT_THERE, GDX_TAKEN, GDX_LEFT_DEAD };
enum gdx_taken gdx_block_take(struct gdx_fences *fences, uint64_t address, uint16_t flags, struct gdx_block *block);
bool gdx_block_take_dead(struct gdx_fences *fences, uint64_t owner, struct gdx_block *block);
bool gdx_block_take_any(struct gdx_fences *fences, uint64_t owner, struct gdx_block *block);
bool gdx_block_holding(struct gdx_fences *fences, uint64_t address, struct gdx_block *block);  /* live, with the address in it */
bool gdx_block_owned(struct gdx_fences *fences, uint64_t owner, struct gdx_block *block);      /* the first live one */
bool gdx_block_at(struct gdx_fences *fences, uint64_t address, struct gdx_block *block);       /* live, beginning there */
/* One reference more, or one less; how many there are then, -1: there is no such live block. */
int64_t gdx_block_refer(struct gdx_fences *fences, uint64_t address, int change);
bool gdx_block_number(struct gdx_fences *fences, uint32_t number, struct gdx_block *block);
/* The next live ones with slack that nobody looks at, in turn; owner 0: of anybody. */
uint32_t gdx_blocks_borrow(struct gdx_fences *fences, uint64_t owner, struct gdx_block *blocks, uint32_t room);
bool gdx_block_borrow(struct gdx_fences *fences, uint64_t address, struct gdx_block *block);  /* this one; to be returned */
void gdx_blocks_return(struct gdx_fences *fences, const struct gdx_block *blocks, uint32_t count);  /* with what is clean */
void gdx_blocks_forget(struct gdx_fences *fences);

void gdx_quarantine(struct gdx_fences *fences, struct gdx_range range);
bool gdx_quarantine_less(struct gdx_fences *fences);  /* gives the oldest back; false: there is none */

/* ---- time ---- */

/* May somebody look at canaries in a device's memory now? No more than one part in eight of the run goes into looking.
 * Gives the time that gdx_look_ended wants, 0: no. */
uint64_t gdx_look_begins(struct gdx_fences *fences);
void gdx_look_ended(uint64_t began);

/* Asks until the answer is another than `busy`, or for two seconds: what a queue has to do may wait for the program. Gives the
 * last answer. Most work takes less time than the shortest sleep, so the first moments pass awake. */
int gdx_ask_patiently(int (*ask)(void *queue), void *queue, int busy);

/* ---- notes ---- */

enum gdx_block_state { GDX_BLOCK_MADE = 1, GDX_BLOCK_FREED = 2, GDX_BLOCK_GIVEN_BACK = 3 };
void gdx_fence_note(const struct gdx_block *block, uint64_t object, enum gdx_block_state state);
void gdx_fence_note_missing(uint64_t object, uint64_t size, const char *why);  /* memory that has no fence */
void gdx_fence_note_damage(struct gdx_fences *fences, const struct gdx_block *block, const struct gdx_damage *damage);

enum gdx_fence_count { GDX_COUNT_CHECKS, GDX_COUNT_DAMAGED, GDX_COUNT_SHARED, GDX_COUNT_SKIPPED, GDX_COUNT_EXTRA_MB, GDX_COUNTS };  /* as in note_fence */
void gdx_fence_count(struct gdx_fences *fences, enum gdx_fence_count what);  /* one more; noted now and then, and at the end */
void gdx_fence_extra(struct gdx_fences *fences, uint64_t bytes);  /* of device memory that fences take now; the most is noted */
