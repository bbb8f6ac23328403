/* The recorder: how a hook writes down a call.
 *
 *     struct gdx_open open;
 *     if (gdx_begin(&open, GDX_CALL_x, __builtin_return_address(0))) {   reserve a slot, nothing visible yet
 *         open.slot->w[0] = ...;                                       fill in the parameters
 *         gdx_show(&open);                                             visible now
 *         gdx_put(&open, field, data, bytes);                          and what they point to: memory of the program
 *         gdx_commit(&open);                                           complete, before the driver is called
 *     }
 *     result = next(...);                                              may never return
 *     gdx_end(&open, status);                                          patch status and end time
 *
 * Rules: no malloc, no stdio, no lock on this path. Taking a new chunk (once in about 2000 calls) takes a lock and
 * makes system calls. Every failure of ours turns recording off for good and says why in the trace's header; the
 * program's call goes on either way. errno is never changed.
 *
 * States of a slot:   unwritten --begin--> being filled --show--> in flight (end = 0) --end--> done
 * gdx_commit shows a slot that was not shown before; what the program's memory holds is added between the two.
 * Only shown slots carry the sequence number that their place in the chunk demands, so a reader can tell.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/program_memory.h"
#include "gdx_abi.h"

#define GDX_EXPORT __attribute__((visibility("default")))
#define GDX_LIKELY(x) __builtin_expect(!!(x), 1)
#define GDX_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* What calls that come by the thousand run through and look at, side by side. Most programs sleep between two launches,
 * and find little of us in the caches and the TLB when they wake up: what counts then is how many pages we touch. */
#define GDX_HOT __attribute__((hot))
#define GDX_COLD __attribute__((cold, noinline))
#define GDX_INLINE static inline __attribute__((always_inline))
#define GDX_HOT_DATA __attribute__((section(".data.hot")))

/* Recorded as the status of calls that report failure by a null result alone (clSVMAlloc). */
#define GDX_STATUS_NULL (-100000)

enum { GDX_RING = 1, GDX_LEDGER = 2, GDX_LARGE = 3, GDX_CRUMBS = 4 };
enum {
    GDX_BLOB_MAX = 64 * 1024,
    GDX_BLOB_ROOM = 16 * 1024,  /* what every record may use in any case */
    GDX_TEXT_MAX = 4096,
    GDX_LIST_MAX = 512,
    GDX_LARGE_MAX = 16 << 20,
    GDX_RING_CHUNKS_MAX = 4096,
};

/* One chunk in use: where the next slot and the next blob go. */
struct gdx_track {
    struct gdx_chunk *chunk;
    uint64_t file_offset;  /* of the chunk */
    uint32_t next;         /* next slot */
    uint32_t blob_top;     /* blobs begin here; slots must stay below */
    uint64_t first_seq;    /* sequence number of slot 0; the next slot's is this plus `next` */
    uint32_t fetched;      /* from here on the chunk is in the cache, or was */
};

struct gdx_crumb_field;
/* What is decided about a crumb (crumbs.h) behind a call mostly holds for the calls after it. So each thread keeps, for the stream that it
 * used last, until when and for how many calls none is due, and most calls only compare. */
struct gdx_crumb_rest {
    const struct gdx_crumb_field *field;  /* NULL: every call is looked at */
    uint64_t queue, until;                /* ticks */
    struct gdx_crumb *row;
    uint32_t calls, skipped;              /* how many at most, and were so far */
};

/* What one thread writes to. Threads borrow a lane at their first call and give it back when they end, so there are
 * as many lanes as there were threads at the same time. */
struct gdx_lane {
    uint32_t generation;   /* of the process: differs after fork */
    uint32_t depth;        /* open calls of this thread */
    uintptr_t busy;        /* between begin and commit: the call's `frame`, else 0 */
    uintptr_t outermost;   /* `frame` of the outermost open call */
    bool calls_left;       /* some call never came back to its end */
    uint32_t stacks_left;  /* stacks.h */
    uint64_t next_stack;   /* ticks; earlier work gets no stack */
    uint32_t tid;
    struct gdx_reader reader;  /* this thread, for reading the program's memory */
    uint32_t number;
    uint32_t ring_count;   /* chunks in `ring` */
    uint32_t ring_at;      /* the current one */
    struct gdx_track track[2];  /* ring, ledger */
    struct gdx_crumb_rest rest;
    struct gdx_lane *next_free;
    struct { struct gdx_chunk *chunk; uint64_t file_offset; } ring[GDX_RING_CHUNKS_MAX];
};

struct gdx_open {
    struct gdx_slot *slot;  /* NULL: not recorded */
    struct gdx_lane *lane;
    struct gdx_track *track;
    uint64_t seq;
    uint64_t file_offset;   /* of the slot */
    uintptr_t frame;        /* where the hook's stack frame begins, however large it is */
    uint32_t generation;
    uint32_t part_bytes;    /* blob bytes so far */
    bool shown;
};

/* How a process was entered; bits of header.entries. */
enum { GDX_ENTRY_CL_LAYER = 1, GDX_ENTRY_CL_SYMBOLS = 2, GDX_ENTRY_CUDA = 4, GDX_ENTRY_HIP = 8, GDX_ENTRY_CL_MISSED = 16 };
void gdx_entered(uint32_t bit);

bool gdx_begin_on(struct gdx_open *open, uint32_t call, void *caller, unsigned which);  /* 0: ring, 1: ledger */
/* Inlined, so that the frame is the hook's. */
GDX_INLINE bool gdx_begin(struct gdx_open *open, uint32_t call, void *caller)
{
    open->frame = (uintptr_t)__builtin_dwarf_cfa();
    return gdx_begin_on(open, call, caller, gdx_in_ledger(call));
}
void gdx_show(struct gdx_open *open);
void gdx_commit(struct gdx_open *open);
bool gdx_still_open(const struct gdx_open *open);
void gdx_end(struct gdx_open *open, int32_t status);        /* a failing status also records the host stack */
void gdx_end_quiet(struct gdx_open *open, int32_t status);  /* for queries, where failing is ordinary */

/* Content that a parameter points to, as a part of the blob, read as program_memory.h says: unreadable or too long content
 * sets GDX_FLAG_cut and is left out. */
/* Returns where it is in the record; NULL: it was left out. */
const void *gdx_put(struct gdx_open *open, uint32_t field, const void *data, size_t bytes);
void gdx_put_text(struct gdx_open *open, uint32_t field, const char *text);
/* `count` elements; a count that cannot be true is left to gdx_put to refuse. */
static inline void gdx_put_array(struct gdx_open *open, uint32_t field, const void *data, size_t count, size_t element)
{
    gdx_put(open, field, data, count > GDX_BLOB_MAX ? GDX_BLOB_MAX + 1 : count * element);
}
/* A list of names with values behind them, up to the name 0. */
void gdx_put_properties(struct gdx_open *open, uint32_t field, const void *list);
/* Room for `bytes` in the blob that the caller fills with its own data; NULL when there is none. */
void *gdx_part(struct gdx_open *open, uint32_t field, size_t bytes);

/* A note of the recorder's own, written at once. Large texts get a chunk of their own. */
struct gdx_text { const char *data; size_t bytes; };
void gdx_note(uint32_t note, const uint64_t *words, unsigned count, struct gdx_text text, struct gdx_text text2,
              const uint64_t *numbers, unsigned number_count);
/* The same with one text, of which something may be missing. */
void gdx_note_cut(uint32_t note, const uint64_t *words, unsigned count, struct gdx_text text, bool cut);

/* What is mapped now, once in a process: a call has reported a fault of the device, after which nothing is fast any more. */
GDX_COLD void gdx_note_fault(void);

/* A chunk of the caller's own, which stays mapped; NULL: there is no room. Readers see it when it is published. */
struct gdx_chunk *gdx_own_chunk(uint32_t kind, uint32_t units, uint64_t *offset);
void gdx_publish_chunk(struct gdx_chunk *chunk);

/* The first 8 bytes of a value, zeros where it has fewer. The usual sizes without a call of memcpy, and without a word that
 * is written in parts and read as a whole, which processors cannot pass on from store to load. */
static inline uint64_t gdx_first_word(const void *at, size_t size)
{
    uint64_t word = 0;
    uint32_t half;
    if (GDX_LIKELY(size >= sizeof word)) {
        memcpy(&word, at, sizeof word);
        return word;
    }
    if (size == sizeof half) {
        memcpy(&half, at, sizeof half);
        return half;  /* the machines that we know have the low byte first */
    }
    memcpy(&word, at, size);
    return word;
}

struct gdx_lane *gdx_lane(void);

/* A lock that a forked child finds open, and that no signal handler of the program can meet while it is held. Only
 * where gdx_on(). */
enum gdx_lock { GDX_LOCK_FILE, GDX_LOCK_KERNELS, GDX_LOCK_SEEN, GDX_LOCK_PYTHON, GDX_LOCK_FENCE, GDX_LOCK_WATCH, GDX_LOCK_CHECKS,
                GDX_LOCK_CRUMBS, GDX_LOCK_CAPTURE, GDX_LOCKS };
struct gdx_calm { uint64_t mask; int cancel, saved_errno; };  /* the kernel's mask: a bit for each signal */
void gdx_lock(enum gdx_lock which, struct gdx_calm *calm);
void gdx_unlock(enum gdx_lock which, const struct gdx_calm *calm);
void gdx_wait(unsigned tries);  /* between two looks at something another thread will change soon */

bool gdx_on_signal_stack(void);  /* may the thread be running a signal handler on a stack of its own? */
bool gdx_on(void);  /* is a trace directory set, and has recording not failed? */
