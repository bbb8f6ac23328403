/* Fenced HIP memory (gpudx run --fence): where the device can map memory, between addresses where an access is a fault; else,
 * and by choice, with a red zone, a pattern behind the end of an allocation, so that a write there is seen.
 *
 * red.c stands in for the calls that make and free memory, fence_map.c makes and unmakes mappings, red_look.c fills slack and
 * zones and looks at them, red_around.c keeps what the program sees of its memory as it was. All of them stand between the
 * recording wrappers and the runtime: wrappers call gdx_hip_next, these call gdx_hip_driver. Nothing here is called where
 * fences were not asked for. docs/decisions/007-fenced-memory.md and 008-red-zones-and-poison.md have the reasons. */
#pragma once

#include "core/fence.h"
#include "hip/hooks.h"

struct gdx_hip_stand_in { int number; void *function; };

void gdx_hip_red_table(void **functions);  /* puts our functions into a table of the runtime's, if fences were asked for */
void gdx_hip_put(void **functions, const struct gdx_hip_stand_in *list);  /* in the place of those that the runtime has */
void gdx_hip_red_forget(void);             /* another runtime: all that is known was about the old one */

/* poison.c: the same for memory that is filled; after the zones, whose memory it fills, too. */
void gdx_hip_poison_table(void **functions);
/* room.c: the same for experiments with freed memory and with room behind the end. */
void gdx_hip_room_table(void **functions);
/* what_if.c: the same for what-if experiments; in front of all others. */
void gdx_hip_what_if_table(void **functions);

/* ---- red.c ---- */

extern struct gdx_fences gdx_hip_fences;
uint64_t gdx_hip_owner(int device);                             /* of its blocks */
void gdx_hip_red_end_device(int device);                        /* all memory of the device is gone */
void gdx_hip_end_dead(void);                                    /* the current device has no work: what waited for that goes */

/* ---- fence_map.c ---- */

bool gdx_hip_maps(int device);                                  /* can memory of this device be put between fences? */
const char *gdx_hip_map(void **result, size_t bytes, int device);  /* on the current device. NULL: done, else why not */
hipError_t gdx_hip_unmap(const struct gdx_block *block);        /* no work may use it any more */
bool gdx_hip_grant(const struct gdx_block *block, uint64_t others);  /* its device and these may access it */
void gdx_hip_give_back(struct gdx_range range);
void gdx_hip_map_forget(void);

/* ---- red_around.c ---- */

extern const struct gdx_hip_stand_in gdx_hip_around[];          /* ends with number -1 */
uint64_t gdx_hip_peers(int device);                             /* a bit for each other device that may access its memory */
void gdx_hip_try_refusal(int device);                           /* once: does the runtime refuse copies that are too long? */
void gdx_hip_around_forget(int device);                         /* -1: every one */

/* ---- red_look.c ---- */

enum { GDX_HIP_DEVICES = 64 };
extern const struct gdx_hip_stand_in gdx_hip_looking[];         /* likewise */
hipStream_t gdx_hip_own_stream(int device);  /* for work of ours, apart from the program's. Made where it is the current device */
hipError_t gdx_hip_ended(hipStream_t queue); /* waits for a stream, but no longer than 2 s: not ready then */
bool gdx_hip_own_ended(int device);          /* waits, but no longer than 2 s; then nothing more is asked of this device */
bool gdx_hip_zone_fill(struct gdx_block *block);
void gdx_hip_zone_check(struct gdx_block *block);
void gdx_hip_red_waited(void);               /* the program has waited for work, and it went well */
void gdx_hip_red_launched(const void *kernel, void **params, void **extra);  /* a launch that was waited for: what it was given */
void gdx_hip_look_forget(int device);        /* -1: every one */
