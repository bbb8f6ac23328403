/* HIP memory with a red zone (gpudx run --fence): a pattern behind the end of an allocation, so that a write there is seen.
 *
 * red.c makes and unmakes such memory, red_look.c fills zones and looks at them, red_around.c keeps what the program sees of
 * its memory as it was. All of them stand between the recording wrappers and the runtime: wrappers call gdx_hip_next, these
 * call gdx_hip_driver. Nothing here is called where fences were not asked for. docs/decisions/008-red-zones-and-poison.md
 * has the reasons. */
#pragma once

#include "core/fence.h"
#include "hip/hooks.h"

struct gdx_hip_stand_in { int number; void *function; };

void gdx_hip_red_table(void **functions);  /* puts our functions into a table of the runtime's, if fences were asked for */
void gdx_hip_put(void **functions, const struct gdx_hip_stand_in *list);  /* in the place of those that the runtime has */
void gdx_hip_red_forget(void);             /* another runtime: all that is known was about the old one */

/* poison.c: the same for memory that is filled; after the zones, whose memory it fills, too. */
void gdx_hip_poison_table(void **functions);

/* ---- red.c ---- */

extern struct gdx_fences gdx_hip_fences;
void gdx_hip_red_end_device(int device);                        /* all memory of the device is gone */

/* ---- red_around.c ---- */

extern const struct gdx_hip_stand_in gdx_hip_around[];          /* ends with number -1 */
void gdx_hip_try_refusal(int device);                           /* once: does the runtime refuse copies that are too long? */
void gdx_hip_around_forget(void);

/* ---- red_look.c ---- */

enum { GDX_HIP_DEVICES = 64 };
extern const struct gdx_hip_stand_in gdx_hip_looking[];         /* likewise */
hipStream_t gdx_hip_own_stream(int device);  /* for work of ours, apart from the program's. Made where it is the current device */
bool gdx_hip_own_ended(int device);          /* waits, but no longer than 2 s; then nothing more is asked of this device */
bool gdx_hip_zone_fill(struct gdx_block *block);
void gdx_hip_zone_check(struct gdx_block *block);
void gdx_hip_red_waited(void);               /* the program has waited for work, and it went well */
void gdx_hip_red_launched(const void *kernel, void **params, void **extra);  /* a launch that was waited for: what it was given */
void gdx_hip_look_forget(int device);        /* -1: every one */
