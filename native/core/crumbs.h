/* Crumbs: behind a launch, copy or fill the device writes a number into memory that outlives the context. After a fault, in a
 * hang, or when somebody looks from outside, the number says how far each stream has come.
 *
 * Each context has a chunk of the trace file for this (schema/events.toml, "Crumbs"). Each stream has a row: a cell that the
 * device writes, and a table of which call each number stands behind. Drivers do not take memory of files on a disk (NVIDIA
 * 580: ext4 is refused, tmpfs is not). There the cells are a file in /dev/shm, or else memory of the process; they are copied to the
 * trace at the process's end, at a fatal signal and at the first error of the device. Who kills a process copies them before
 * (src/gpudx/lab/crumbs.py).
 *
 * A crumb costs about 1 us of host time and 2 us of the stream's time on the device (H200, cuStreamWriteValue32 with its barrier;
 * the flag that leaves the barrier out is refused by the v2 API). So by default
 *
 *   - a stream gets one per INTERVAL and a thread asks for one per THREAD_INTERVAL, on average. The first 1,024 of each are paid for in
 *     advance, and so are some after a pause: a program which launches little is followed call by call;
 *   - while the device is behind (two crumbs that it has not come to), also one per DEVICE_INTERVAL of the device's time: long
 *     kernels have one each.
 *
 * GPUDX_CRUMBS=all puts one behind every call, GPUDX_CRUMBS=off none. What refuses a crumb turns them off for the context, and
 * the trace says why (note_crumbs); the program never sees an error of ours.
 *
 * Number N in a cell says that every call of the stream which took a number up to N is done: a call takes its number after its
 * work was put into the stream and before the crumb is, also where several threads use one stream. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/recorder.h"

enum gdx_crumbs { GDX_CRUMBS_UNREAD, GDX_CRUMBS_OFF, GDX_CRUMBS_SOME, GDX_CRUMBS_ALL };
extern _Atomic int gdx_crumbs_setting;
enum gdx_crumbs gdx_read_crumbs(void);
static inline enum gdx_crumbs gdx_crumbs(void)
{
    int known = atomic_load_explicit(&gdx_crumbs_setting, memory_order_relaxed);
    return GDX_LIKELY(known) ? (enum gdx_crumbs)known : gdx_read_crumbs();
}

enum gdx_crumb_answer { GDX_CRUMB_TAKEN, GDX_CRUMB_BROKEN /* the device has failed already */, GDX_CRUMB_REFUSED };

/* What an API does for crumbs, in the thread's current context. */
struct gdx_crumb_api {
    /* Lets the device write to `bytes` of memory, from `device` on. NULL: it does; else why not. */
    const char *(*attach)(void *memory, size_t bytes, uint64_t *device);
    enum gdx_crumb_answer (*write)(const struct gdx_crumb *row, uint64_t device, uint32_t value);
    const char *refused;  /* what the trace says when write was refused */
};

/* The crumbs of one context. */
struct gdx_crumb_field {
    const struct gdx_crumb_api *api;
    struct gdx_chunk *chunk;
    struct gdx_crumb *rows;
    char *cells;         /* where the device writes, as the host sees it */
    uint64_t device;     /* and as the device sees it */
    uint32_t *marks;
    uint64_t interval, thread_interval, device_interval;  /* ticks */
    uint64_t at;         /* file offset of the chunk */
    char path[64];       /* of a file in /dev/shm; "": none */
    uint32_t generation, context, pid;
    _Atomic bool off;
    struct gdx_crumb_field *next;  /* of all that were ever made */
};

/* Makes the crumbs of a context; NULL, noted: there will be none. */
struct gdx_crumb_field *gdx_crumbs_open(const struct gdx_crumb_api *api, uint32_t context);
void gdx_crumbs_none(uint32_t context, const char *why);

static inline bool gdx_crumb_rests(const struct gdx_crumb_field *field, const struct gdx_open *open, uint64_t queue)
{
    struct gdx_crumb_rest *rest = open->slot ? &open->lane->rest : NULL;
    if (!rest || rest->field != field || rest->queue != queue || rest->skipped >= rest->calls || open->slot->begin >= rest->until)
        return false;
    rest->skipped++;
    return true;
}

/* In two steps, for APIs that must know before the call. NULL: none is due. */
struct gdx_crumb *gdx_crumb_decide(struct gdx_crumb_field *field, struct gdx_open *open, uint64_t queue, bool own_stream);
static inline struct gdx_crumb *gdx_crumb_due(struct gdx_crumb_field *field, struct gdx_open *open, uint64_t queue, bool own_stream)
{
    return GDX_LIKELY(gdx_crumb_rests(field, open, queue)) ? NULL : gdx_crumb_decide(field, open, queue, own_stream);
}
void gdx_crumb_put(struct gdx_crumb_field *field, struct gdx_open *open, struct gdx_crumb *row);
/* The driver accepted the work of a call that is still open: puts a crumb behind it, if one is due. */
static inline void gdx_crumb(struct gdx_crumb_field *field, struct gdx_open *open, uint64_t queue, bool own_stream)
{
    struct gdx_crumb *row = gdx_crumb_due(field, open, queue, own_stream);
    if (GDX_UNLIKELY(row != NULL))
        gdx_crumb_put(field, open, row);
}
uint32_t *gdx_crumb_mark(const struct gdx_crumb_field *field, const struct gdx_crumb *row, uint32_t number);
void gdx_crumbs_leave(struct gdx_crumb_field *field, uint64_t queue);  /* the stream is about to go */

/* Copies cells that are not in the trace file to it. Stores and system calls only: signal handlers call it. */
void gdx_crumbs_keep(void);
void gdx_crumbs_end(void);  /* the same for the last time: files in /dev/shm go */
