/* Memory of the program: the only way in which the recorder reads it.
 *
 * A pointer that the program passes says nothing: the memory may be gone, or go while we look, because another thread
 * unmaps it. So nothing is checked first and read later. Bytes are copied
 *
 *   - directly, where the memory cannot go while this call runs: the part of the calling thread's stack that its
 *     callers use, the data of the executable itself, and the heap below a block of ours (gdx_keep_heap). Arguments of launches are
 *     nearly always there.
 *   - by the kernel everywhere else (process_vm_readv, or a pipe), which reports what is not there instead of faulting.
 *
 * docs/decisions/016-reading-program-memory.md has the reasons and the cost. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Who reads: a thread and its stack. */
struct gdx_reader {
    uintptr_t low, top;  /* both 0: not known */
    uint32_t tid;        /* 0: whatever thread calls */
};

void gdx_find_own_data(void);               /* once, when we are loaded */
bool gdx_is_own_code(uintptr_t address);    /* of the recorder, where it is a library of its own */
void gdx_find_stack(struct gdx_reader *me); /* of the calling thread; not with a lock held */
/* `at` had to be read by the kernel. If it is on the C library's heap: now and then makes sure that the heap stays up to there. */
void gdx_keep_heap(const void *at);

/* Copies by the kernel alone: how many bytes could be had, from the first on. Signal-safe; errno stays. */
size_t gdx_read_by_kernel(const struct gdx_reader *me, void *to, const void *from, size_t bytes);
/* Small pieces in one step, each to its place. False: some may be missing. */
bool gdx_read_pieces(const struct gdx_reader *me, const struct iovec *to, const struct iovec *from, unsigned count);

extern struct gdx_data { uintptr_t low, top; } gdx_own_data, gdx_kept_heap;

/* Can this memory not go while the current call runs? */
static inline bool gdx_stays(const struct gdx_reader *me, const void *from, size_t bytes)
{
    uintptr_t at = (uintptr_t)from, here = (uintptr_t)__builtin_frame_address(0);
    if (at >= here && here >= me->low && at < me->top)
        return bytes <= me->top - at;
    const uintptr_t top = __atomic_load_n(&gdx_kept_heap.top, __ATOMIC_ACQUIRE);
    if (at >= __atomic_load_n(&gdx_kept_heap.low, __ATOMIC_RELAXED) && at < top)
        return bytes <= top - at;
    return at >= gdx_own_data.low && at < gdx_own_data.top && bytes <= gdx_own_data.top - at;
}

/* Not memcpy: a sanitizer in the program may stand in for that, and end the program. */
__attribute__((no_sanitize("address", "thread", "undefined")))
static inline void gdx_copy_bytes(void *to, const void *from, size_t bytes)
{
    typedef uint64_t __attribute__((may_alias, aligned(1))) word;
    typedef uint32_t __attribute__((may_alias, aligned(1))) half;
    if (__builtin_expect(bytes == sizeof(word), 1)) {
        *(word *)to = *(const volatile word *)from;
        return;
    }
    if (bytes == sizeof(half)) {
        *(half *)to = *(const volatile half *)from;
        return;
    }
    size_t at = 0;
    for (; at + sizeof(word) <= bytes; at += sizeof(word))
        *(word *)((char *)to + at) = *(const volatile word *)((const char *)from + at);
    for (; at < bytes; at++)
        ((char *)to)[at] = ((const volatile char *)from)[at];
}

/* How many of the bytes could be had, from the first on. Never faults. */
static inline size_t gdx_read_some(const struct gdx_reader *me, void *to, const void *from, size_t bytes)
{
    if (__builtin_expect(gdx_stays(me, from, bytes), 1)) {
        gdx_copy_bytes(to, from, bytes);
        return bytes;
    }
    gdx_keep_heap(from);
    return gdx_read_by_kernel(me, to, from, bytes);
}

static inline bool gdx_read(const struct gdx_reader *me, void *to, const void *from, size_t bytes)
{
    return gdx_read_some(me, to, from, bytes) == bytes;
}

/* A text with its zero, or as much of it as there is room for or can be read: its length without the zero. `whole`: the
 * zero was found. */
size_t gdx_read_text(const struct gdx_reader *me, char *to, size_t room, const char *from, bool *whole);
/* The length alone, at most `most`; SIZE_MAX: it cannot all be read. */
size_t gdx_text_length(const struct gdx_reader *me, const char *from, size_t most);
