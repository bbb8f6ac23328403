/* The trace file, its chunks, and the path every recorded call takes. See recorder.h for the contract. */
#define _GNU_SOURCE
#include "core/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/crumbs.h"
#include "core/process.h"
#include "core/rank.h"
#include "core/sandbox.h"
#include "core/stacks.h"

enum { SLOT = sizeof(struct gdx_slot), HEAD = sizeof(struct gdx_chunk), STACKS_MAX = 256, MAPPED_MAX = 16384,
       LEDGER_RETRY = 256, SLOTS_AHEAD = 5, BLOB_AHEAD = 1536, LINE = 64, PAGE = 4096, UIO_PAGES = 64 };
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  /* linux/mman.h; C libraries before glibc 2.35 do not have it */
#endif
static const uint64_t FILE_MAX = 30ull << 30;     /* blob offsets reach 32 GiB */
static const uint64_t WRITEBACK_NS = 4000000000u;
static const uint64_t LEDGER_MAX = 2ull << 30;

/* State of this process. The page is wiped in a forked child (MADV_WIPEONFORK, Linux 4.14), so that the child sees
 * generation 0 and open locks, and starts a trace of its own, however it was forked. */
struct state {
    _Atomic uint32_t generation;   /* 0: not open in this process */
    _Atomic uint32_t failed;
    _Atomic uint32_t stacks;
    atomic_flag locks[GDX_LOCKS];
    struct gdx_header *header;
    uint64_t file_end, ledger_bytes;
    uint64_t writeback_ticks;
    uint32_t lanes, ring_chunks;   /* ring chunks per lane; 0: keep all */
    uint32_t mapped;               /* ring chunks of all lanes */
    struct gdx_lane *free_lanes;
    char path[1024];
};

static struct state *state GDX_HOT_DATA;
static _Atomic uint32_t generations;
static _Atomic uint32_t entries;  /* for the traces of forked children too */
static pthread_key_t lane_key;
static bool has_lane_key;  /* without it lanes are not given back: each thread has one of its own */
static __thread struct gdx_lane *own_lane __attribute__((tls_model("initial-exec")));

/* ---- slow path: everything here runs with signals blocked and cancellation off ---- */

/* Not pthread_sigmask, which leaves out the C library's own signals. That of pthread_cancel may be on its way when cancellation is
 * switched off, and glibc 2.36 obeys it inside a system call that is a cancellation point all the same (sigcancel_handler looks at the
 * type, which __pthread_enable_asynccancel has just changed): the thread would end with the lock. */
static void set_mask(const uint64_t *mask, uint64_t *old)
{
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, old, sizeof *mask);
}

static void calm_down(struct gdx_calm *calm)
{
    const uint64_t all = UINT64_MAX;
    calm->saved_errno = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &calm->cancel);
    set_mask(&all, &calm->mask);
}

static void calm_end(const struct gdx_calm *calm)
{
    errno = calm->saved_errno;
    set_mask(&calm->mask, NULL);
    pthread_setcancelstate(calm->cancel, NULL);
}

/* Yielding alone would wait for ever where the waiting thread has a real-time priority and the other has not. */
void gdx_wait(unsigned tries)
{
    const struct timespec moment = { .tv_nsec = 50000 };
    if (tries < 100)
        sched_yield();
    else
        nanosleep(&moment, NULL);
}

static bool try_lock(enum gdx_lock which)
{
    return !atomic_flag_test_and_set_explicit(&state->locks[which], memory_order_acquire);
}

void gdx_lock(enum gdx_lock which, struct gdx_calm *calm)
{
    calm_down(calm);
    for (unsigned tries = 0; !try_lock(which); tries++)
        gdx_wait(tries);
}

void gdx_unlock(enum gdx_lock which, const struct gdx_calm *calm)
{
    atomic_flag_clear_explicit(&state->locks[which], memory_order_release);
    calm_end(calm);
}

static void say_why(uint32_t why, int err)
{
    if (state->header && !state->header->error) {
        state->header->error_errno = (uint32_t)err;
        state->header->error = why;
    }
}

static void fail(uint32_t why, int err)
{
    say_why(why, err);
    atomic_store(&state->failed, 1);
}

bool gdx_on(void)
{
    return state && !atomic_load_explicit(&state->failed, memory_order_relaxed);
}

/* Writes zeros from `offset` on: a quarter of the time that fallocate and the page faults after it take, because the
 * pages are left in memory. ext4 and XFS reserve room for delayed allocation when they accept a write. */
static int write_zeros(int fd, uint64_t offset, size_t bytes)
{
    static const char zeros[PAGE];
    struct iovec pages[UIO_PAGES];
    for (size_t i = 0; i < UIO_PAGES; i++)
        pages[i] = (struct iovec){ (void *)zeros, PAGE };
    for (size_t done = 0; done < bytes;) {
        size_t count = (bytes - done) / PAGE < UIO_PAGES ? (bytes - done) / PAGE : UIO_PAGES;
        ssize_t n = pwritev(fd, pages, (int)count, (off_t)(offset + done));
        if (n <= 0 || n % PAGE)
            return n < 0 ? errno : ENOSPC;
        done += (size_t)n;
    }
    return 0;
}

/* Gives the file the blocks from `offset` on. Its length is always that of whole units, whenever the process is killed. */
static int reserve(int fd, uint64_t offset, size_t bytes)
{
    if (ftruncate(fd, (off_t)(offset + bytes)) < 0)
        return errno;
    int err = write_zeros(fd, offset, bytes);
    if (err && ftruncate(fd, (off_t)offset) < 0)
        return errno;
    return err;
}

/* Gets the pages ready for writing in one step: a page fault for each, in the middle of the program's calls, costs
 * several times as much. False: there is no room for them. */
static bool prepare(void *at, size_t bytes)
{
    return madvise(at, bytes, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;  /* EINVAL: before Linux 5.14 */
}

/* Maps `bytes` of the file at `offset`, after making sure that the disk has them: writing to a mapped hole of a
 * full disk would be a SIGBUS in the program. No descriptor stays open, because programs close or count theirs.
 *
 * A forked child inherits the mapping. It never writes there, with one exception: fork in a signal handler that
 * interrupted the recorder. Its child finishes the record that the parent finishes too; without the mapping it would
 * crash. */
static void *map_file(const char *path, uint64_t offset, size_t bytes, int *err)
{
    void *at = MAP_FAILED;
    if (gdx_is_shut_in() || !gdx_may_write(offset + bytes)) {
        *err = gdx_is_shut_in() ? EPERM : EFBIG;
        return NULL;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        *err = errno;
        return NULL;
    }
    *err = reserve(fd, offset, bytes);
    if (!*err) {
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
        if (at == MAP_FAILED)
            *err = errno;
    }
    close(fd);
    if (at != MAP_FAILED && !prepare(at, bytes)) {
        *err = ENOSPC;
        munmap(at, bytes);
        at = MAP_FAILED;
    }
    return at == MAP_FAILED ? NULL : at;
}

static uint32_t error_for(int err)
{
    if (gdx_is_shut_in())
        return GDX_ERROR_seccomp_filter;
    if (err == EFBIG)
        return GDX_ERROR_file_too_large;
    return err == ENOSPC || err == EDQUOT ? GDX_ERROR_disk_full : GDX_ERROR_cannot_map;
}

/* A fresh chunk at the end of the file; with the lock held. */
static struct gdx_chunk *new_chunk(uint32_t kind, uint32_t units, uint64_t *offset, int *err)
{
    size_t bytes = (size_t)units * GDX_UNIT_BYTES;
    if (state->file_end + bytes > FILE_MAX) {
        *err = EFBIG;
        return NULL;
    }
    struct gdx_chunk *chunk = map_file(state->path, state->file_end, bytes, err);
    if (!chunk)
        return NULL;
    *offset = state->file_end;
    state->file_end += bytes;
    chunk->kind = kind;
    chunk->units = units;
    gdx_clock_pair(&state->header->late_ticks, &state->header->late_mono_ns);
    return chunk;
}

static void publish(struct gdx_chunk *chunk)
{
    atomic_thread_fence(memory_order_release);
    __atomic_store_n(&chunk->magic, GDX_CHUNK_MAGIC, __ATOMIC_RELEASE);
}

/* Opens `track` on a chunk: from now on its old content does not count. */
static void start_track(struct gdx_lane *lane, struct gdx_track *track, struct gdx_chunk *chunk, uint64_t offset)
{
    if (chunk->magic)
        chunk->laps++;
    track->first_seq += track->next;
    __atomic_store_n(&chunk->first_seq, track->first_seq, __ATOMIC_RELEASE);
    chunk->lane = lane->number;
    publish(chunk);
    track->chunk = chunk;
    track->file_offset = offset;
    track->next = 0;
    track->blob_top = track->fetched = GDX_UNIT_BYTES;
}

/* A full chunk that is never written again stays in the file; its mapping goes, unless an open call of this thread may
 * still be patched in it. Where calls were left by longjmp, or so it looked, one can never be sure. */
static void let_go(const struct gdx_lane *lane, struct gdx_track *track)
{
    if (track->chunk && lane->depth == 0 && !lane->calls_left)
        munmap(track->chunk, GDX_UNIT_BYTES);
}

/* The kernel writes changed pages to disk every few seconds (vm.dirty_writeback_centisecs, 5 s) and makes them read-only
 * for that. */
static void prepare_again(struct gdx_chunk *chunk)
{
    const struct gdx_slot *first = (const struct gdx_slot *)((const char *)chunk + HEAD);
    if (gdx_ticks() - first->begin > state->writeback_ticks && !gdx_is_shut_in())
        prepare(chunk, GDX_UNIT_BYTES);
}

/* May this lane have another ring chunk? Every mapping counts against vm.max_map_count (65530 unless changed), which
 * the program needs too. */
static bool may_grow(const struct gdx_lane *lane)
{
    if (state->ring_chunks == 0)
        return true;
    return lane->ring_count < state->ring_chunks && (lane->ring_count < 2 || state->mapped < MAPPED_MAX);
}

static bool more_ring(struct gdx_lane *lane)
{
    int err = ENOSPC;
    uint64_t offset;
    struct gdx_chunk *chunk = may_grow(lane) ? new_chunk(GDX_RING, 1, &offset, &err) : NULL;
    if (chunk) {
        if (state->ring_chunks) {
            state->mapped++;
            lane->ring_at = lane->ring_count++;
            lane->ring[lane->ring_at].chunk = chunk;
            lane->ring[lane->ring_at].file_offset = offset;
        } else {
            let_go(lane, &lane->track[0]);
        }
        start_track(lane, &lane->track[0], chunk, offset);
        return true;
    }
    if (lane->ring_count == 0 && gdx_is_shut_in()) {  /* other threads have chunks, and go on */
        say_why(GDX_ERROR_seccomp_filter, err);
        return false;
    }
    if (lane->ring_count == 0) {
        fail(error_for(err), err);
        return false;
    }
    if (may_grow(lane) && !state->header->full) {
        state->header->full_errno = (uint32_t)err;
        state->header->full = error_for(err);
    }
    lane->ring_at = (lane->ring_at + 1) % lane->ring_count;
    prepare_again(lane->ring[lane->ring_at].chunk);
    start_track(lane, &lane->track[0], lane->ring[lane->ring_at].chunk, lane->ring[lane->ring_at].file_offset);
    return true;
}

static bool more_ledger(struct gdx_lane *lane)
{
    int err = EFBIG;
    uint64_t offset;
    struct gdx_chunk *chunk = NULL;
    /* A full disk may have room again later, but asking at every call would be slow. */
    if (state->ledger_bytes < LEDGER_MAX && state->header->lost_ledger % LEDGER_RETRY == 0)
        chunk = new_chunk(GDX_LEDGER, 1, &offset, &err);
    if (!chunk) {
        state->header->lost_ledger++;
        return false;
    }
    state->ledger_bytes += GDX_UNIT_BYTES;
    let_go(lane, &lane->track[1]);
    start_track(lane, &lane->track[1], chunk, offset);
    return true;
}

GDX_COLD static bool more(struct gdx_lane *lane, struct gdx_track *track)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_FILE, &calm);
    bool ok = track == &lane->track[0] ? more_ring(lane) : more_ledger(lane);
    gdx_unlock(GDX_LOCK_FILE, &calm);
    return ok;
}

/* ---- lanes ---- */

static void give_back(void *lane_)
{
    struct gdx_lane *lane = lane_;
    own_lane = NULL;
    if (!state || lane->generation != atomic_load(&state->generation))
        return;
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_FILE, &calm);
    lane->next_free = state->free_lanes;
    state->free_lanes = lane;
    gdx_unlock(GDX_LOCK_FILE, &calm);
}

/* With the lock held. */
static struct gdx_lane *take_lane(void)
{
    struct gdx_lane *lane = state->free_lanes;
    if (lane) {
        state->free_lanes = lane->next_free;
    } else {
        lane = mmap(NULL, sizeof *lane, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (lane == MAP_FAILED) {
            fail(GDX_ERROR_no_memory, errno);
            return NULL;
        }
        lane->number = ++state->lanes;
        lane->track[0].first_seq = lane->track[1].first_seq = 1;
    }
    lane->generation = atomic_load(&state->generation);
    lane->busy = lane->depth = 0;
    lane->calls_left = false;  /* those of the thread that had it before: their records are over */
    gdx_first_stacks(lane);
    lane->tid = (uint32_t)syscall(SYS_gettid);
    lane->reader = (struct gdx_reader){ .tid = lane->tid };
    return lane;
}

/* ---- opening ---- */

/* A trace has its final name only when its header is complete, so that a process that is killed before leaves nothing
 * that looks like a trace. `try` tells the images of one process (exec) apart. */
enum { NAME_TRIES = 1000 };

/* On file systems that copy on write (btrfs) even an existing page may find no room, which would be a SIGBUS in the
 * program. Others do not know the flag. */
static void write_in_place(int fd)
{
    int flags;
    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_NOCOW_FL;
        ioctl(fd, FS_IOC_SETFLAGS, &flags);
    }
}

static bool create_part(const char *dir, char *part, size_t room)
{
    int fd = -1;
    for (unsigned try = 0; fd < 0 && try < NAME_TRIES; try++) {
        snprintf(part, room, "%s/%d-%u.part", dir, (int)getpid(), try);
        fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        return false;
    write_in_place(fd);
    close(fd);
    return true;
}

static bool give_name(const char *dir, const char *part)
{
    for (unsigned try = 0; try < NAME_TRIES; try++) {
        snprintf(state->path, sizeof state->path, "%s/%d-%u.gdx", dir, (int)getpid(), try);
        if (syscall(SYS_renameat2, AT_FDCWD, part, AT_FDCWD, state->path, RENAME_NOREPLACE) == 0)
            return true;
        /* File systems that cannot do this in one step (EINVAL), kernels before 3.15 (ENOSYS). */
        if ((errno == EINVAL || errno == ENOSYS) && access(state->path, F_OK) < 0)
            return rename(part, state->path) == 0;
        if (errno != EEXIST && errno != EINVAL && errno != ENOSYS)
            return false;
    }
    return false;
}

static void fill_header(struct gdx_header *header, uint64_t first_unit)
{
    memcpy((char *)header + GDX_HEADER_BYTES, gdx_schema_text, gdx_schema_bytes);
    header->version = GDX_VERSION;
    header->header_bytes = GDX_HEADER_BYTES;
    header->schema_offset = GDX_HEADER_BYTES;
    header->schema_bytes = gdx_schema_bytes;
    header->unit_bytes = GDX_UNIT_BYTES;
    header->first_unit = first_unit;
    header->pid = (uint32_t)getpid();
    header->ppid = (uint32_t)getppid();
    header->clock = gdx_clock_kind();
    header->start_real_ns = gdx_real_ns();
    gdx_clock_pair(&header->start_ticks, &header->start_mono_ns);
    gdx_clock_calibrate(&header->late_ticks, &header->late_mono_ns);
    header->entries = atomic_load(&entries);
    gdx_describe_process(header);
    memcpy(header->magic, GDX_MAGIC, sizeof header->magic);
}

static struct gdx_header *make_trace(const char *dir, uint64_t first_unit, int *err)
{
    char part[sizeof state->path];
    if (!create_part(dir, part, sizeof part)) {
        *err = errno;
        return NULL;
    }
    struct gdx_header *header = map_file(part, 0, first_unit, err);
    if (header) {
        fill_header(header, first_unit);
        if (give_name(dir, part))
            return header;
        *err = errno;
        munmap(header, first_unit);
    }
    unlink(part);
    return NULL;
}

static void open_trace(void)
{
    const char *dir = gdx_directory();
    uint64_t first_unit = (GDX_HEADER_BYTES + gdx_schema_bytes + 4095u) & ~4095ull;
    int err = EPERM;
    struct gdx_header *header = gdx_is_shut_in() ? NULL : make_trace(dir, first_unit, &err);
    if (!header) {
        fail(GDX_ERROR_cannot_create_file, err);
        gdx_roll(GDX_ROLL_CANNOT_WRITE, dir);
        return;
    }
    state->header = header;
    state->file_end = first_unit;
    state->writeback_ticks = (header->late_ticks - header->start_ticks) * WRITEBACK_NS
        / (header->late_mono_ns - header->start_mono_ns + 1);
    state->ring_chunks = gdx_ring_chunks();
    gdx_watch_signals();
    atomic_store(&state->generation, atomic_fetch_add(&generations, 1) + 1);
}

static void keep_maps(void);
static void load(void);

GDX_COLD static struct gdx_lane *enter_thread(void)
{
    struct gdx_calm calm, inner;
    struct gdx_lane *lane = NULL;
    bool opened = false;
    calm_down(&calm);
    gdx_lock(GDX_LOCK_FILE, &inner);
    if (!atomic_load(&state->generation) && !atomic_load(&state->failed)) {
        open_trace();
        opened = true;
    }
    if (!atomic_load(&state->failed))
        lane = take_lane();
    gdx_unlock(GDX_LOCK_FILE, &inner);
    own_lane = lane;
    if (lane) {
        if (has_lane_key)
            pthread_setspecific(lane_key, lane);
        gdx_find_stack(&lane->reader);
    }
    if (lane && opened) {
        gdx_prepare_stacks();
        gdx_note_rank();
        keep_maps();
    }
    calm_end(&calm);
    return lane;
}

GDX_HOT struct gdx_lane *gdx_lane(void)
{
    struct gdx_lane *lane = own_lane;
    if (GDX_UNLIKELY(!state))
        load();  /* a static constructor of the program runs before ours */
    if (GDX_UNLIKELY(!state || atomic_load_explicit(&state->failed, memory_order_relaxed)))
        return NULL;
    if (GDX_UNLIKELY(!lane || lane->generation != atomic_load_explicit(&state->generation, memory_order_relaxed)))
        return enter_thread();
    return lane;
}

/* ---- the hot path ---- */

GDX_COLD bool gdx_on_signal_stack(void)
{
    stack_t now;
    int saved = errno;
    bool other = gdx_is_shut_in() || (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_ONSTACK));
    errno = saved;
    return other;
}

/* A call that a signal handler left by longjmp never ends. It is noticed when a call is made from the same depth of the
 * stack or from further out: whatever is really nested in it lies deeper, or on the signal stack. */
static bool was_left(uintptr_t earlier, const struct gdx_open *now)
{
    return now->frame >= earlier && !gdx_on_signal_stack();
}

static void set_busy(struct gdx_lane *lane, uintptr_t value)
{
    atomic_signal_fence(memory_order_seq_cst);
    *(volatile uintptr_t *)&lane->busy = value;
    atomic_signal_fence(memory_order_seq_cst);
}

static bool has_room(const struct gdx_track *track)
{
    return track->chunk && HEAD + (track->next + 1) * (size_t)SLOT + GDX_BLOB_ROOM <= track->blob_top;
}

GDX_HOT bool gdx_begin_on(struct gdx_open *open, uint32_t call, void *caller, unsigned which)
{
    open->slot = NULL;
    struct gdx_lane *lane = gdx_lane();
    if (GDX_UNLIKELY(!lane))
        return false;
    if (GDX_UNLIKELY(lane->busy) && !was_left(lane->busy, open)) {  /* a handler interrupted this very function */
        __atomic_fetch_add(&state->header->dropped, 1, __ATOMIC_RELAXED);
        return false;
    }
    set_busy(lane, open->frame);
    if (GDX_UNLIKELY(lane->depth) && was_left(lane->outermost, open)) {
        lane->depth = 0;
        lane->calls_left = true;
    }
    struct gdx_track *track = &lane->track[which];
    if (GDX_UNLIKELY(!has_room(track)) && !more(lane, track)) {
        set_busy(lane, 0);
        return false;
    }
    struct gdx_slot *slot = (struct gdx_slot *)((char *)track->chunk + HEAD) + track->next;
    slot->end = 0;
    slot->caller = (uint64_t)(uintptr_t)caller;
    slot->status = 0;
    slot->call = (uint16_t)call;
    slot->flags = lane->depth ? GDX_FLAG_in_another_call : 0;
    slot->blob = 0;
    slot->blob_bytes = 0;
    slot->tid = lane->tid;
    slot->context = 0;
    slot->begin = gdx_ticks();
    open->slot = slot;
    open->lane = lane;
    open->track = track;
    open->seq = track->first_seq + track->next;
    open->generation = lane->generation;
    open->file_offset = track->file_offset + HEAD + track->next * (uint64_t)SLOT;
    open->part_bytes = 0;
    open->shown = false;
    return true;
}

/* A ring is larger than the caches. What the calls after the next ones will write is fetched now, so that no call, nor
 * the first lock that the driver takes, waits for memory: 1 us of a launch, where it is not done. Blobs differ in size, so
 * what lies ahead of them is fetched as far as most launches need, each line once. */
static void fetch_ahead(const struct gdx_open *open)
{
    struct gdx_track *track = open->track;
    const char *slot = (const char *)(open->slot + SLOTS_AHEAD), *chunk = (const char *)track->chunk;
    for (size_t at = 0; at < SLOT; at += LINE)
        __builtin_prefetch(slot + at, 1);
    uint32_t until = track->blob_top > BLOB_AHEAD ? track->blob_top - BLOB_AHEAD : 0;
    for (; track->fetched > until; track->fetched -= LINE)
        __builtin_prefetch(chunk + track->fetched - LINE, 1);
}

/* The first of the hot functions: from here on they lie together, so that most launches need one page of code. */
GDX_HOT __attribute__((aligned(PAGE), noinline)) void gdx_show(struct gdx_open *open)
{
    if (open->shown)
        return;
    struct gdx_lane *lane = open->lane;
    if (lane->depth++ == 0)
        lane->outermost = open->frame;
    /* In this order: a handler that leaves in between loses this record, not its place in the sequence. */
    open->track->next++;
    atomic_signal_fence(memory_order_seq_cst);
    __atomic_store_n(&open->slot->seq, open->seq, __ATOMIC_RELEASE);
    open->shown = true;
}

GDX_HOT void gdx_commit(struct gdx_open *open)
{
    struct gdx_track *track = open->track;
    if (open->part_bytes) {
        open->slot->blob = (uint32_t)((track->file_offset + track->blob_top) / 8);
        __atomic_store_n(&open->slot->blob_bytes, open->part_bytes, __ATOMIC_RELEASE);  /* 0 until all parts are there */
    }
    gdx_show(open);
    set_busy(open->lane, 0);
    fetch_ahead(open);
}

GDX_HOT bool gdx_still_open(const struct gdx_open *open)
{
    /* After a fork inside the driver's call the record is the parent's to finish, not the child's. A slot that was
     * overwritten by calls made from callbacks must not be patched. */
    return open->slot && open->generation == atomic_load_explicit(&state->generation, memory_order_relaxed)
        && open->slot->seq == open->seq;
}

GDX_HOT void gdx_end_quiet(struct gdx_open *open, int32_t status)
{
    if (GDX_UNLIKELY(!open->slot))
        return;
    if (GDX_LIKELY(gdx_still_open(open))) {
        open->slot->status = status;
        open->slot->flags |= GDX_FLAG_patched;
        __atomic_store_n(&open->slot->end, gdx_ticks(), __ATOMIC_RELEASE);
    }
    if (open->lane->depth)
        open->lane->depth--;
}

/* Of a program that goes on failing, the first stacks tell enough. */
GDX_COLD static void stack_of_failure(struct gdx_open *open)
{
    if (open->slot->flags & GDX_FLAG_stack)
        return;
    if (atomic_fetch_add_explicit(&state->stacks, 1, memory_order_relaxed) < STACKS_MAX)
        gdx_take_stack(open);
}

GDX_HOT void gdx_end(struct gdx_open *open, int32_t status)
{
    if (GDX_UNLIKELY(status != 0 && gdx_still_open(open)))
        stack_of_failure(open);
    gdx_end_quiet(open, status);
}

/* ---- blobs ---- */

GDX_HOT void *gdx_part(struct gdx_open *open, uint32_t field, size_t bytes)
{
    struct gdx_track *track = open->track;
    size_t need = sizeof(struct gdx_part) + ((bytes + 7) & ~(size_t)7);
    size_t slots_end = HEAD + (track->next + !open->shown) * (size_t)SLOT;
    if (bytes > GDX_BLOB_MAX || slots_end + need > track->blob_top) {
        open->slot->flags |= GDX_FLAG_cut;
        return NULL;
    }
    /* Parts grow downwards, so earlier parts stay where they are and the blob begins at the newest. */
    track->blob_top -= (uint32_t)need;
    open->part_bytes += (uint32_t)need;
    struct gdx_part *part = (struct gdx_part *)((char *)track->chunk + track->blob_top);
    part->field = field;
    part->bytes = (uint32_t)bytes;
    return part + 1;
}

/* Takes the newest part back. */
GDX_COLD static void take_back(struct gdx_open *open, size_t bytes)
{
    size_t need = sizeof(struct gdx_part) + ((bytes + 7) & ~(size_t)7);
    open->track->blob_top += (uint32_t)need;
    open->part_bytes -= (uint32_t)need;
    open->slot->flags |= GDX_FLAG_cut;
}

GDX_HOT const void *gdx_put(struct gdx_open *open, uint32_t field, const void *data, size_t bytes)
{
    if (!data || !bytes)
        return NULL;
    void *room = gdx_part(open, field, bytes);
    if (room && !gdx_read(&open->lane->reader, room, data, bytes)) {
        take_back(open, bytes);
        return NULL;
    }
    return room;
}

static void put_own(struct gdx_open *open, uint32_t field, struct gdx_text text)
{
    void *room = text.bytes ? gdx_part(open, field, text.bytes) : NULL;
    if (room)
        memcpy(room, text.data, text.bytes);
}

GDX_COLD void gdx_put_text(struct gdx_open *open, uint32_t field, const char *text)
{
    char room[GDX_TEXT_MAX];
    bool whole;
    if (!text)
        return;
    size_t bytes = gdx_read_text(&open->lane->reader, room, sizeof room, text, &whole);
    if (!whole)
        open->slot->flags |= GDX_FLAG_cut;
    put_own(open, field, (struct gdx_text){ room, bytes });
}

/* Names whose value is a list of its own that ends with 0 (cl.h: CL_DEVICE_PARTITION_BY_COUNTS; cl_ext.h: ..._BY_COUNTS_EXT,
 * CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR, CL_MEM_DEVICE_HANDLE_LIST_KHR, CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR). All others have
 * one value, which may be 0. */
static bool has_list(uint64_t name)
{
    return name == 0x1087 || name == 0x4051 || name == 0x203f || name == 0x2051 || name == 0x2053;
}

GDX_COLD void gdx_put_properties(struct gdx_open *open, uint32_t field, const void *list)
{
    uint64_t room[GDX_LIST_MAX / sizeof(uint64_t)], name = 0;
    size_t most = sizeof room / sizeof *room, count = 0;
    bool is_name = true;
    if (!list)
        return;
    for (;; count++) {
        if (count == most || !gdx_read(&open->lane->reader, &room[count], (const uint64_t *)list + count, sizeof *room)) {
            open->slot->flags |= GDX_FLAG_cut;
            break;
        }
        if (is_name && !room[count])
            break;
        if (is_name)
            name = room[count];
        is_name = !is_name && (!has_list(name) || !room[count]);
    }
    put_own(open, field, (struct gdx_text){ (const char *)room, count * sizeof *room });
}

/* A text of any size as a chunk of its own; returns its offset in units of 8 bytes, 0 when there is no room. */
static uint32_t put_large(const char *data, size_t bytes)
{
    struct gdx_calm calm;
    uint64_t offset = 0;
    int err;
    uint32_t units = (uint32_t)((HEAD + bytes + GDX_UNIT_BYTES - 1) / GDX_UNIT_BYTES);
    gdx_lock(GDX_LOCK_FILE, &calm);
    struct gdx_chunk *chunk = new_chunk(GDX_LARGE, units, &offset, &err);
    gdx_unlock(GDX_LOCK_FILE, &calm);
    if (chunk) {
        memcpy((char *)chunk + HEAD, data, bytes);
        publish(chunk);
        munmap(chunk, (size_t)units * GDX_UNIT_BYTES);
    }
    return chunk ? (uint32_t)((offset + HEAD) / 8) : 0;
}

struct gdx_chunk *gdx_own_chunk(uint32_t kind, uint32_t units, uint64_t *offset)
{
    struct gdx_calm calm;
    int err;
    gdx_lock(GDX_LOCK_FILE, &calm);
    struct gdx_chunk *chunk = new_chunk(kind, units, offset, &err);
    gdx_unlock(GDX_LOCK_FILE, &calm);
    return chunk;
}

void gdx_publish_chunk(struct gdx_chunk *chunk)
{
    publish(chunk);
}

struct note {
    uint32_t call;
    unsigned count, number_count;
    const uint64_t *words, *numbers;
    struct gdx_text text, text2;
    bool cut;
};

static void write_note(struct note *note)
{
    struct gdx_open open;
    bool large = note->text.bytes > GDX_TEXT_MAX;
    if (note->text.bytes > GDX_LARGE_MAX) {
        note->text.bytes = GDX_LARGE_MAX;
        note->cut = true;
    }
    uint32_t where = large && gdx_lane() ? put_large(note->text.data, note->text.bytes) : 0;
    if (!gdx_begin(&open, note->call, NULL))
        return;
    for (unsigned i = 0; i < GDX_WORDS; i++)
        open.slot->w[i] = i < note->count ? note->words[i] : 0;
    if (note->cut || (large && !where))
        open.slot->flags |= GDX_FLAG_cut;
    if (!large) {
        put_own(&open, GDX_PART_text, note->text);
        put_own(&open, GDX_PART_text2, note->text2);
        put_own(&open, GDX_PART_numbers,
                (struct gdx_text){ (const char *)note->numbers, note->number_count * sizeof *note->numbers });
    } else if (where) {
        /* The blob is the bare text, told apart by its place in a chunk of kind 3. */
        open.slot->blob_bytes = (uint32_t)note->text.bytes;
        open.slot->blob = where;
    }
    gdx_commit(&open);
    gdx_end_quiet(&open, 0);
}

void gdx_note(uint32_t note, const uint64_t *words, unsigned count, struct gdx_text text, struct gdx_text text2,
              const uint64_t *numbers, unsigned number_count)
{
    write_note(&(struct note){ note, count, number_count, words, numbers, text, text2, false });
}

void gdx_note_cut(uint32_t note, const uint64_t *words, unsigned count, struct gdx_text text, bool cut)
{
    write_note(&(struct note){ note, count, 0, words, NULL, text, { 0 }, cut });
}

/* Where every object is mapped, so that addresses can be named later. Taken at the start, at the end and at a crash. */
static void keep_maps(void)
{
    size_t bytes = 0;
    char *text = gdx_read_maps(&bytes);
    if (!text)
        return;
    uint32_t where = put_large(text, bytes);
    if (where) {
        state->header->maps_blob = where;
        state->header->maps_bytes = (uint32_t)bytes;
    }
    gdx_free_maps(text);
}

void gdx_note_fault(void)
{
    static _Atomic int noted;
    size_t bytes = 0;
    if (atomic_exchange(&noted, 1))
        return;
    char *text = gdx_read_maps(&bytes);
    if (text) {
        gdx_note(GDX_CALL_note_maps_at_fault, NULL, 0, (struct gdx_text){ text, bytes }, (struct gdx_text){ 0 }, NULL, 0);
        gdx_free_maps(text);
    }
}

/* Has this process a trace? For gpudx's own Python code (src/gpudx/preload_python), by name. */
GDX_EXPORT int gpudx_is_recording(void);
GDX_EXPORT int gpudx_is_recording(void)
{
    return state && state->header != NULL;
}

void gdx_entered(uint32_t bit)
{
    atomic_fetch_or(&entries, bit);
    if (gdx_lane())
        __atomic_fetch_or(&state->header->entries, bit, __ATOMIC_RELAXED);
}

/* ---- last words: called from the signal handler, so system calls and stores only ---- */

struct gdx_header *gdx_own_header(void)
{
    return state && atomic_load(&state->generation) ? state->header : NULL;
}

/* By the clocks of the start, which nobody writes any more, and of now. */
uint64_t gdx_ticks_of(uint64_t ns)
{
    const struct gdx_header *header = gdx_own_header();
    uint64_t ticks, mono_ns;
    gdx_clock_pair(&ticks, &mono_ns);
    return (uint64_t)((unsigned __int128)(ticks - header->start_ticks) * ns / (mono_ns - header->start_mono_ns + 1));
}

/* Room for what the signal handler keeps. Gives up rather than wait for ever. */
char *gdx_last_room(size_t bytes, uint32_t *where)
{
    uint64_t offset;
    int err;
    for (unsigned tries = 0; !try_lock(GDX_LOCK_FILE); tries++) {
        if (tries > 1000)
            return NULL;
        gdx_wait(tries);
    }
    uint32_t units = (uint32_t)((HEAD + bytes + GDX_UNIT_BYTES - 1) / GDX_UNIT_BYTES);
    struct gdx_chunk *chunk = new_chunk(GDX_LARGE, units, &offset, &err);
    atomic_flag_clear_explicit(&state->locks[GDX_LOCK_FILE], memory_order_release);
    if (!chunk)
        return NULL;
    publish(chunk);
    *where = (uint32_t)((offset + HEAD) / 8);
    return (char *)chunk + HEAD;
}

/* ---- loading and leaving ---- */

static void wipe(void)
{
    memset(state, 0, sizeof *state);
}

__attribute__((constructor)) static void load(void)
{
    static _Atomic int loading;
    if (!gdx_directory() || atomic_exchange(&loading, 1))
        return;
    struct state *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
    if (madvise(page, PAGE, MADV_WIPEONFORK) < 0)
        pthread_atfork(NULL, NULL, wipe);  /* older kernels: children made by the bare system call are not noticed */
    has_lane_key = pthread_key_create(&lane_key, give_back) == 0;
    gdx_find_own_data();
    gdx_choose_clock();
    gdx_want_stacks();
    state = page;
    gdx_roll(GDX_ROLL_LOADED, NULL);
    on_exit(gdx_roll_end, NULL);  /* registered first, so called last: a build step that failed is known by its status */
}

__attribute__((destructor)) static void leave(void)
{
    if (!state)
        return;
    if (!gdx_own_header()) {
        gdx_roll_unentered();
        return;
    }
    gdx_clock_pair(&state->header->late_ticks, &state->header->late_mono_ns);
    gdx_crumbs_end();
    keep_maps();
    state->header->ended = 1;
}
