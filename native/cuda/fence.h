/* Fenced CUDA memory (gpudx run --fence): an access outside an allocation, or after its free, is a fault of the device.
 *
 * fence.c makes and unmakes fenced blocks, fence_around.c keeps what the program sees of them as it was (address ranges,
 * peers, pools, the end of contexts), fence_canary.c looks at their slack, fence_spares.c keeps memory for the next. All of
 * them stand between the recording wrappers and the driver: wrappers call gdx_cu_next, these call gdx_cu_driver. Nothing
 * here is called where fences were not asked for. docs/decisions/007-fenced-memory.md has the reasons. */
#pragma once

#include "core/fence.h"
#include "cuda/hooks.h"

struct gdx_cu_stand_in { int number; void *function; };

/* Puts our functions into a table of the driver's, if fences were asked for and this driver can make them. */
void gdx_cu_fence_table(void **functions);
void gdx_cu_put(void **functions, const struct gdx_cu_stand_in *list);  /* in the place of those that the driver has */
void gdx_cu_fence_forget(void);                      /* another driver: all that is known was about the old one */

/* poison.c: the same for memory that is filled; after the fences, whose memory it fills, too. */
void gdx_cu_poison_table(void **functions);
/* what_if.c: the same for what-if experiments; in front of all others. */
void gdx_cu_what_if_table(void **functions);

/* ---- fence_around.c ---- */

extern const struct gdx_cu_stand_in gdx_cu_around[];     /* ends with number -1 */
extern const struct gdx_cu_stand_in gdx_cu_looking[];    /* fence_canary.c; likewise */

uint64_t gdx_cu_peers(CUdevice device, bool ordered);    /* a bit for each other device that may access its memory */
int gdx_cu_pool_device(CUmemoryPool pool);               /* -1: not one whose blocks can be fenced */
void gdx_cu_around_forget(void);

/* ---- fence.c ---- */

extern struct gdx_fences gdx_cu_fences;
bool gdx_cu_grant(const struct gdx_block *block, uint64_t devices);  /* may these access its mapping? */
void gdx_cu_end_blocks(CUcontext context);               /* the context is gone, and with it its memory */
void gdx_cu_end_dead(CUcontext context);                 /* all its work is done: blocks that waited for that can go */

/* ---- fence_spares.c: handles of physical memory ---- */

uint64_t gdx_cu_spare_take(CUdevice device, uint64_t bytes);  /* 0: none of this size */
void gdx_cu_spare_keep(CUdevice device, uint64_t bytes, uint64_t memory);  /* or releases it */
bool gdx_cu_spares_release(void);                        /* were there any? */
void gdx_cu_spares_forget(void);

/* ---- fence_pool.c: freed blocks that stay mapped for the next, once fencing has taken its share of the run ---- */

uint64_t gdx_cu_fencing_begins(void);                    /* the time, for: */
void gdx_cu_fencing_ended(uint64_t began);
bool gdx_cu_fencing_is_dear(uint64_t now);               /* has it taken more than its share? */
/* Freed in the order of `queue`, a stream of the block's context, and now resting; false: it has to be unmade. `memory`: of its device. */
bool gdx_cu_rest(const struct gdx_block *block, CUstream queue, uint64_t memory);
uint64_t gdx_cu_resting(void);                           /* bytes of device memory that rest */
uint64_t gdx_cu_rest_asked(void);                        /* the same without slack */
/* One that fits to the byte, for use in `queue`; or one with a mapping that fits, that no work uses. */
bool gdx_cu_rest_over(const struct gdx_block *like, CUstream queue, struct gdx_block *block);
bool gdx_cu_rest_mapping(const struct gdx_block *like, struct gdx_block *block);
void gdx_cu_rest_stream_ends(CUcontext context, CUstream queue);  /* it is about to */
void gdx_cu_rest_wait(CUcontext context);                /* until no work uses what rests, but no longer than 2 s for a stream */
bool gdx_cu_rest_take(CUcontext context, struct gdx_block *block);  /* any of this context that no work uses */
bool gdx_cu_rest_end(CUcontext context, struct gdx_block *block);  /* any of this context, which ends; false: there are no more */
void gdx_cu_rest_forget(void);

/* Waits for a stream, but no longer than 2 s: not ready then. */
CUresult gdx_cu_wait_some(CUstream queue);

/* Makes `context` current until gdx_cu_leave. */
struct gdx_cu_visit { CUresult status; bool pushed; };
struct gdx_cu_visit gdx_cu_visit(CUcontext context);
void gdx_cu_leave(struct gdx_cu_visit visit);

/* ---- fence_canary.c: in the current context, which is the block's ---- */

CUstream gdx_cu_own_stream(CUcontext context);           /* for work of ours, apart from the program's; NULL: none */
CUresult gdx_cu_canary_fill(struct gdx_block *block);
CUresult gdx_cu_canary_check(struct gdx_block *block);   /* also waits for our own work with the block */
void gdx_cu_canary_forget(CUcontext context);            /* NULL: every context */
