/* Bystanders (gpudx run --watch): memory that work was not given must not change under it. This is what is the same for
 * every API: which memory is watched, a copy of what was in it when it was last looked at, and the notes of what changed.
 *
 * A look is made when the program has waited and all that it asked for is done; with --serialise before and after each
 * launch too. Only then is the memory read, through queues of our own, and compared with the copy. Who was given what is
 * decided later, from the record (src/gpudx/facts/watch.py): here only changed bytes are noted.
 *
 * A change that is seen in a look was made by work whose call was over after `since`, when the look before began: all
 * that was asked for by then is known to have been done. Whoever submits work says so before the end of its call is
 * recorded, so nothing falls between the two.
 *
 * Only one thread looks at a time. Tables are wiped in a forked child, which cannot use its parent's memory. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/recorder.h"

/* ---- what was asked for: GPUDX_WATCH, GPUDX_WATCH_LIMIT, GPUDX_WATCH_SIZES, GPUDX_SERIALISE ---- */

enum gdx_watch { GDX_WATCH_NOT, GDX_WATCH_WAITS, GDX_WATCH_LAUNCHES };
extern _Atomic int gdx_watch_setting;  /* -1: not read yet */
enum gdx_watch gdx_watch_read(void);
static inline enum gdx_watch gdx_watching(void)
{
    int known = atomic_load_explicit(&gdx_watch_setting, memory_order_relaxed);
    return GDX_LIKELY(known >= 0) ? (enum gdx_watch)known : gdx_watch_read();
}
void gdx_watch_stop(const char *why);  /* something of ours failed: noted, and no more looks */

/* ---- what is watched ---- */

struct gdx_watch_ways;
struct gdx_watched {
    const struct gdx_watch_ways *ways;  /* its API's: each looks at its own */
    uint64_t handle;        /* as it is recorded */
    uint64_t address;       /* where the device has it, 0: not known; may be found in other memory */
    uint64_t bytes;
    uint64_t owner, device; /* as the API likes; owner: its context */
    uint64_t seen;          /* ticks: what was submitted by then is in the copy */
    unsigned char *copy;
    uint32_t users;         /* lookers that need it */
    bool dead;              /* gone for the program; goes when nobody looks */
    bool filled;            /* the copy holds something */
    bool held;              /* its address was once seen in watched memory: work may have it from there */
};

enum { GDX_WATCH_PIECE = 4 << 20, GDX_WATCH_PATIENCE = 16000 };  /* bytes read at a time, at most; calls of gdx_wait, about 2 s */

/* How an API gives content to a look. Memory is read, never mapped: a program's own map of it would get mixed up with
 * ours. `read` gives the bytes in `room`, or, in a look of an API that has `own_room`, in a place of its own: only one
 * thread looks, but others may read what they have just made. NULL: it cannot be read. */
struct gdx_watch_ways {
    bool (*idle)(bool patient);  /* is all work done that the program asked for? patient: wait for it, within reason */
    const unsigned char *(*read)(const struct gdx_watched *one, uint64_t offset, size_t bytes, unsigned char *room);
    bool own_room;
    bool (*is_gone)(const struct gdx_watched *one); /* has the program let go of it? NULL: its end is always told */
    void (*let_go)(const struct gdx_watched *one);  /* it is not watched any more; NULL: nothing is held */
};

/* Watches memory that was just made, before the program has it. NULL: it is watched from now on; else why it is not,
 * which is noted. `now`: its content can be read at once. */
const char *gdx_watch_add(const struct gdx_watch_ways *ways, const struct gdx_watched *fresh, bool now);
void gdx_watch_miss(uint64_t handle, uint64_t bytes, const char *why);
void gdx_watch_drop(const struct gdx_watch_ways *ways, uint64_t handle);
void gdx_watch_drop_if_gone(const struct gdx_watch_ways *ways, uint64_t handle);
void gdx_watch_drop_owned(const struct gdx_watch_ways *ways, uint64_t owner);  /* 0: all */
bool gdx_watch_has(uint64_t handle);
void gdx_watch_await(uint64_t handle);  /* waits for who still reads what was dropped, which may go now; 0: any of it */

/* ---- looking ---- */

void gdx_watch_look(const struct gdx_watch_ways *ways, bool patient);
