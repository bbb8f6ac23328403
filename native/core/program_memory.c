/* See program_memory.h. */
#define _GNU_SOURCE
#include "core/program_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/process.h"
#include "core/recorder.h"
#include "core/sandbox.h"

enum { PAGE = 4096, PIECES = 64, MAIN_STACK_MOST = 64 << 20 };

struct gdx_data gdx_own_data GDX_HOT_DATA;
struct gdx_data gdx_kept_heap GDX_HOT_DATA;
static pthread_t first_thread;

/* ---- memory that stays ---- */

static struct gdx_data own_code;
static bool own_malloc;  /* the program's malloc is the C library's */

/* The first object is the executable, which is never unloaded. Of its parts the last that is writable holds .data and .bss.
 * Of the others only ours is looked at, for its code. */
static int look_at_object(struct dl_phdr_info *info, size_t size, void *seen)
{
    bool first = !(*(int *)seen)++;
    uintptr_t us = (uintptr_t)gdx_find_own_data, library = (uintptr_t)gnu_get_libc_version, allocator = (uintptr_t)malloc;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        struct gdx_data at = { info->dlpi_addr + part->p_vaddr, info->dlpi_addr + part->p_vaddr + part->p_memsz };
        if (part->p_type != PT_LOAD)
            continue;
        if (first && part->p_flags & PF_W && part->p_flags & PF_R)
            gdx_own_data = at;
        if (!first && part->p_flags & PF_X && us >= at.low && us < at.top)
            own_code = at;
        if (part->p_flags & PF_X && library >= at.low && library < at.top)
            own_malloc = allocator >= at.low && allocator < at.top;
    }
    return 0;
}

void gdx_find_own_data(void)
{
    int seen = 0;
    first_thread = pthread_self();
    dl_iterate_phdr(look_at_object, &seen);
}

bool gdx_is_own_code(uintptr_t address)
{
    return address >= own_code.low && address < own_code.top;
}

/* The kernel leaves 128 MiB at least between the first thread's stack and what it maps for others (mmap_base in
 * arch/x86/mm/mmap.c), so a stack pointer that close below its end is in it. Asking pthread_getattr_np about that thread
 * would read /proc/self/maps. */
extern void *__libc_stack_end;

void gdx_find_stack(struct gdx_reader *me)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), top = (uintptr_t)__libc_stack_end;
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    me->low = top - MAIN_STACK_MOST;
    me->top = top;
    if ((here >= me->low && here < me->top) || pthread_equal(pthread_self(), first_thread))
        return;
    me->low = me->top = 0;
    if (gdx_is_shut_in() || pthread_getattr_np(pthread_self(), &attributes))
        return;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
        me->low = (uintptr_t)low;
        me->top = me->low + bytes;
    }
    pthread_attr_destroy(&attributes);
}

/* ---- the heap ----
 *
 * glibc's malloc takes its first arena's memory from the program break, and gives back only what lies above the last block in use
 * (systrim in malloc.c; malloc_trim empties pages below that and leaves them mapped). So below a block that we hold the heap stays. Where
 * the block lies is the allocator's choice: one larger than what is mostly free comes from the heap's end.
 *
 * A block is asked for rarely, and never where the calls of a signal handler may have interrupted the allocator: in a handler its signal is
 * blocked. */
enum { BLOCK = 120 << 10 /* below M_MMAP_THRESHOLD */, BLOCKS = 16, FIRST_TRY = 4, NEXT_TRY = 8 };

/* Where the part of the heap begins that has the address and can be read; 0: it is not on the heap. */
static uintptr_t heap_around(uintptr_t address)
{
    uintptr_t low = 0;
    char line[512], mode[5];
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx %4s", &from, &to, mode) != 3 || address >= to)
            continue;
        if (address >= from && !strncmp(mode, "rw", 2) && strstr(line, "[heap]"))
            low = from;
        break;
    }
    if (maps)
        fclose(maps);
    return low;
}

/* A block above the address, as far as it can be had within reason. */
static char *block_above(uintptr_t address)
{
    char *all[BLOCKS], *best = NULL;
    int count = 0;
    while (count < BLOCKS && (uintptr_t)best <= address && (all[count] = malloc(BLOCK))) {
        bool on_heap = (uintptr_t)all[count] >= gdx_own_data.top && (uintptr_t)all[count] < (uintptr_t)sbrk(0);
        best = on_heap && all[count] > best ? all[count] : best;
        count++;
    }
    for (int i = 0; i < count; i++)
        if (all[i] != best)
            free(all[i]);
    return best;
}

static void hold(uintptr_t address)
{
    static char *held;
    char *block = block_above(address);
    uintptr_t low = block ? heap_around((uintptr_t)block) : 0, top = (uintptr_t)block;
    bool first = !gdx_kept_heap.top;
    if (!low || top <= gdx_kept_heap.top || (!first && low > gdx_kept_heap.low)) {
        free(block);
        return;
    }
    if (first)
        __atomic_store_n(&gdx_kept_heap.low, low, __ATOMIC_RELAXED);
    __atomic_store_n(&gdx_kept_heap.top, top, __ATOMIC_RELEASE);
    free(held);
    held = block;
}

__attribute__((cold, noinline)) void gdx_keep_heap(const void *at)
{
    static _Atomic unsigned reads, next = FIRST_TRY;
    static atomic_flag trying = ATOMIC_FLAG_INIT;
    uintptr_t address = (uintptr_t)at;
    if (!own_malloc || gdx_is_shut_in() || address < gdx_own_data.top || address >= (uintptr_t)sbrk(0))
        return;
    if (atomic_fetch_add(&reads, 1) + 1 < atomic_load(&next) || atomic_flag_test_and_set(&trying))
        return;
    int saved = errno, cancel;
    const uint64_t all = UINT64_MAX;
    uint64_t blocked = 1;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &blocked, sizeof all);
    if (!blocked && !gdx_memory_is_limited() && !gdx_on_signal_stack()) {
        atomic_store(&next, atomic_load(&reads) * NEXT_TRY);
        hold(address);
    }
    errno = saved;
    atomic_flag_clear(&trying);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, NULL, sizeof blocked);
    pthread_setcancelstate(cancel, NULL);
}

/* ---- the kernel reads ---- */

static _Atomic bool refused;  /* process_vm_readv, by a sandbox (seccomp) */

/* What the kernel answers, in bytes; 0: nothing could be read. A thread's number serves as well as the process's. */
static size_t ask(const struct gdx_reader *me, const struct iovec *to, unsigned rooms, const struct iovec *from, unsigned count)
{
    if (atomic_load_explicit(&refused, memory_order_relaxed) || gdx_is_shut_in())
        return 0;
    long id = me && me->tid ? (long)me->tid : syscall(SYS_gettid);
    long got = syscall(SYS_process_vm_readv, id, to, (unsigned long)rooms, from, (unsigned long)count, 0ul);
    if (got < 0 && (errno == EPERM || errno == ENOSYS || errno == EACCES))
        atomic_store_explicit(&refused, true, memory_order_relaxed);
    return got > 0 ? (size_t)got : 0;
}

/* Within one page, through a pipe: the kernel copies as if the program had written it, which also works for memory that
 * belongs to devices. Only where process_vm_readv cannot: no descriptor of ours stays open. */
static bool by_pipe(char *to, const char *from, size_t bytes)
{
    int ends[2];
    if (gdx_is_shut_in() || syscall(SYS_pipe2, ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return false;
    bool ok = syscall(SYS_write, ends[1], from, bytes) == (long)bytes && syscall(SYS_read, ends[0], to, bytes) == (long)bytes;
    syscall(SYS_close, ends[0]);
    syscall(SYS_close, ends[1]);
    return ok;
}

static size_t rest_of_page(const char *at)
{
    return PAGE - ((uintptr_t)at & (PAGE - 1));
}

/* Pages are pieces of their own: pieces are what the kernel copies whole or not at all. */
static size_t by_readv(const struct gdx_reader *me, char *to, const char *from, size_t bytes)
{
    struct iovec pages[PIECES], room = { to, 0 };
    unsigned count = 0;
    for (size_t step; room.iov_len < bytes && count < PIECES; room.iov_len += step) {
        step = rest_of_page(from + room.iov_len);
        if (step > bytes - room.iov_len)
            step = bytes - room.iov_len;
        pages[count++] = (struct iovec){ (char *)from + room.iov_len, step };
    }
    return ask(me, &room, 1, pages, count);
}

__attribute__((cold, noinline)) size_t gdx_read_by_kernel(const struct gdx_reader *me, void *to, const void *from, size_t bytes)
{
    int saved = errno;
    size_t done = 0;
    if ((uintptr_t)from < PAGE || (uintptr_t)from + bytes < (uintptr_t)from)
        return 0;
    while (done < bytes) {
        char *into = (char *)to + done;
        const char *at = (const char *)from + done;
        size_t got = by_readv(me, into, at, bytes - done);
        if (!got) {
            got = rest_of_page(at) < bytes - done ? rest_of_page(at) : bytes - done;
            if (!by_pipe(into, at, got))
                break;
        }
        done += got;
    }
    errno = saved;
    return done;
}

__attribute__((cold, noinline))
bool gdx_read_pieces(const struct gdx_reader *me, const struct iovec *to, const struct iovec *from, unsigned count)
{
    int saved = errno;
    size_t all = 0;
    gdx_keep_heap(from->iov_base);
    for (unsigned i = 0; i < count; i++)
        all += from[i].iov_len;
    bool ok = ask(me, to, count, from, count) == all;
    errno = saved;
    return ok;
}

/* ---- texts ---- */

size_t gdx_read_text(const struct gdx_reader *me, char *to, size_t room, const char *from, bool *whole)
{
    size_t used = 0;
    *whole = false;
    while (used < room) {
        size_t step = rest_of_page(from + used) < room - used ? rest_of_page(from + used) : room - used;
        size_t got = gdx_read_some(me, to + used, from + used, step);
        size_t length = strnlen(to + used, got);
        used += length;
        *whole = length < got;
        if (*whole || got < step)
            break;
    }
    return used;
}

size_t gdx_text_length(const struct gdx_reader *me, const char *from, size_t most)
{
    char page[PAGE];
    for (size_t done = 0; done < most;) {
        size_t step = rest_of_page(from + done) < most - done ? rest_of_page(from + done) : most - done;
        size_t got = gdx_read_some(me, page, from + done, step), length = strnlen(page, got);
        if (length < got)
            return done + length;
        if (got < step)
            return SIZE_MAX;
        done += step;
    }
    return most;
}
