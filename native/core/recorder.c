/* The trace file, its chunks, and the path every recorded call takes. See recorder.h for the contract. */
#define _GNU_SOURCE
#include "core/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/process.h"

enum { SLOT = sizeof(struct gdx_slot), HEAD = sizeof(struct gdx_chunk), STACKS_MAX = 256, FRAMES_MAX = 48 };
static const uint64_t FILE_MAX = 30ull << 30;     /* blob offsets reach 32 GiB */
static const uint64_t LEDGER_MAX = 2ull << 30;
static const uint8_t in_ledger[GDX_CALLS] = GDX_LEDGER_TABLE;

/* State of this process. The page is wiped in a forked child (MADV_WIPEONFORK, Linux 4.14), so that the child sees
 * generation 0 and starts a trace of its own, however it was forked. */
struct state {
    _Atomic uint32_t generation;   /* 0: not open in this process */
    _Atomic uint32_t failed;
    _Atomic uint32_t stacks;
    atomic_flag lock;
    struct gdx_header *header;
    uint64_t file_end, ledger_bytes;
    uint32_t lanes, ring_chunks;   /* ring chunks per lane; 0: keep all */
    struct gdx_lane *free_lanes;
    char path[1024];
};

static struct state *state;
static _Atomic uint32_t generations;
static pthread_key_t lane_key;
static __thread struct gdx_lane *own_lane __attribute__((tls_model("initial-exec")));

/* ---- slow path: everything here runs with signals blocked and cancellation off ---- */

struct calm { sigset_t mask; int cancel, saved_errno; };

static void calm_down(struct calm *calm)
{
    sigset_t all;
    calm->saved_errno = errno;
    sigfillset(&all);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &calm->cancel);
    pthread_sigmask(SIG_SETMASK, &all, &calm->mask);
}

static void calm_end(const struct calm *calm)
{
    pthread_sigmask(SIG_SETMASK, &calm->mask, NULL);
    pthread_setcancelstate(calm->cancel, NULL);
    errno = calm->saved_errno;
}

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&state->lock, memory_order_acquire))
        sched_yield();
}

static void unlock(void)
{
    atomic_flag_clear_explicit(&state->lock, memory_order_release);
}

static void fail(uint32_t why, int err)
{
    if (state->header && !state->header->error) {
        state->header->error_errno = (uint32_t)err;
        state->header->error = why;
    }
    atomic_store(&state->failed, 1);
}

bool gdx_on(void)
{
    return state && !atomic_load_explicit(&state->failed, memory_order_relaxed);
}

/* Maps `bytes` of the file at `offset`, after making sure that the disk has them: writing to a mapped hole of a
 * full disk would be a SIGBUS in the program. No descriptor stays open, because programs close or count theirs. */
static void *map_file(uint64_t offset, size_t bytes, int *err)
{
    void *at = MAP_FAILED;
    int fd = open(state->path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        *err = errno;
        return NULL;
    }
    *err = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
    if (!*err) {
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)offset);
        if (at == MAP_FAILED)
            *err = errno;
    }
    close(fd);
    if (at == MAP_FAILED)
        return NULL;
    madvise(at, bytes, MADV_DONTFORK);
    return at;
}

static uint32_t error_for(int err)
{
    return err == ENOSPC || err == EDQUOT || err == EFBIG ? GDX_ERROR_disk_full : GDX_ERROR_cannot_map;
}

/* A fresh chunk at the end of the file; with the lock held. */
static struct gdx_chunk *new_chunk(uint32_t kind, uint32_t units, uint64_t *offset, int *err)
{
    size_t bytes = (size_t)units * GDX_UNIT_BYTES;
    if (state->file_end + bytes > FILE_MAX) {
        *err = EFBIG;
        return NULL;
    }
    struct gdx_chunk *chunk = map_file(state->file_end, bytes, err);
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
    __atomic_store_n(&chunk->first_seq, track->seq, __ATOMIC_RELEASE);
    chunk->lane = lane->number;
    publish(chunk);
    track->chunk = chunk;
    track->file_offset = offset;
    track->next = 0;
    track->blob_top = GDX_UNIT_BYTES;
}

/* A full chunk that is never written again stays in the file; its mapping goes, unless an open call of this thread may
 * still be patched in it. */
static void let_go(const struct gdx_lane *lane, struct gdx_track *track)
{
    if (track->chunk && lane->depth == 0)
        munmap(track->chunk, GDX_UNIT_BYTES);
}

static bool more_ring(struct gdx_lane *lane)
{
    uint32_t limit = state->ring_chunks;
    int err = ENOSPC;
    if (limit == 0 || lane->ring_count < limit) {
        uint64_t offset;
        struct gdx_chunk *chunk = new_chunk(GDX_RING, 1, &offset, &err);
        if (chunk) {
            if (limit) {
                lane->ring_at = lane->ring_count++;
                lane->ring[lane->ring_at].chunk = chunk;
                lane->ring[lane->ring_at].file_offset = offset;
            } else {
                let_go(lane, &lane->track[0]);
            }
            start_track(lane, &lane->track[0], chunk, offset);
            return true;
        }
    }
    if (lane->ring_count == 0) {
        fail(error_for(err), err);
        return false;
    }
    lane->ring_at = (lane->ring_at + 1) % lane->ring_count;
    start_track(lane, &lane->track[0], lane->ring[lane->ring_at].chunk, lane->ring[lane->ring_at].file_offset);
    return true;
}

static bool more_ledger(struct gdx_lane *lane)
{
    int err = EFBIG;
    uint64_t offset;
    struct gdx_chunk *chunk = NULL;
    if (state->ledger_bytes < LEDGER_MAX)
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

static bool more(struct gdx_lane *lane, struct gdx_track *track)
{
    struct calm calm;
    calm_down(&calm);
    lock();
    bool ok = track == &lane->track[0] ? more_ring(lane) : more_ledger(lane);
    unlock();
    calm_end(&calm);
    return ok;
}

/* ---- lanes ---- */

static void find_stack(struct gdx_lane *lane)
{
    pthread_attr_t attr;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &low, &size);
        pthread_attr_destroy(&attr);
    }
    lane->stack_low = (uintptr_t)low;
    lane->stack_high = (uintptr_t)low + size;
}

static void give_back(void *lane_)
{
    struct gdx_lane *lane = lane_;
    own_lane = NULL;
    if (!state || lane->generation != atomic_load(&state->generation))
        return;
    struct calm calm;
    calm_down(&calm);
    lock();
    lane->next_free = state->free_lanes;
    state->free_lanes = lane;
    unlock();
    calm_end(&calm);
}

static struct gdx_lane *take_lane(void)
{
    lock();
    struct gdx_lane *lane = state->free_lanes;
    if (lane)
        state->free_lanes = lane->next_free;
    uint32_t number = lane ? lane->number : ++state->lanes;
    unlock();
    if (!lane) {
        lane = mmap(NULL, sizeof *lane, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (lane == MAP_FAILED) {
            fail(GDX_ERROR_no_memory, errno);
            return NULL;
        }
        lane->number = number;
        lane->track[0].seq = lane->track[1].seq = 1;
    }
    lane->generation = atomic_load(&state->generation);
    lane->busy = lane->depth = 0;
    lane->tid = (uint32_t)syscall(SYS_gettid);
    memset(lane->readable, 0, sizeof lane->readable);
    return lane;
}

/* ---- opening ---- */

static bool create_file(const char *dir)
{
    int fd = -1;
    for (unsigned try = 0; fd < 0 && try < 1000; try++) {
        snprintf(state->path, sizeof state->path, "%s/%d-%u.gdx", dir, (int)getpid(), try);
        fd = open(state->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        return false;
    close(fd);
    return true;
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
    gdx_describe_process(header);
    memcpy(header->magic, GDX_MAGIC, sizeof header->magic);
}

static void open_trace(void)
{
    const char *dir = gdx_directory();
    uint64_t first_unit = (GDX_HEADER_BYTES + gdx_schema_bytes + 4095u) & ~4095ull;
    int err = 0;
    struct gdx_header *header = NULL;
    if (dir && create_file(dir))
        header = map_file(0, first_unit, &err);
    if (!header) {
        fail(GDX_ERROR_cannot_create_file, errno);
        if (dir)
            gdx_roll(GDX_ROLL_CANNOT_WRITE, dir);
        return;
    }
    fill_header(header, first_unit);
    state->header = header;
    state->file_end = first_unit;
    state->ring_chunks = gdx_ring_chunks();
    gdx_watch_signals();
    atomic_store(&state->generation, atomic_fetch_add(&generations, 1) + 1);
}

static void keep_maps(void);
static void load(void);

static struct gdx_lane *enter_thread(void)
{
    struct calm calm;
    calm_down(&calm);
    struct gdx_lane *lane = NULL;
    bool opened = false;
    lock();
    if (!atomic_load(&state->generation) && !atomic_load(&state->failed)) {
        open_trace();
        opened = true;
    }
    unlock();
    if (!atomic_load(&state->failed))
        lane = take_lane();
    own_lane = lane;
    if (lane) {
        pthread_setspecific(lane_key, lane);
        find_stack(lane);
        if (opened) {
            gdx_warm_backtrace();  /* may load libgcc_s: not with our lock held */
            keep_maps();
        }
    }
    calm_end(&calm);
    return lane;
}

struct gdx_lane *gdx_lane(void)
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

bool gdx_begin(struct gdx_open *open, uint32_t call, void *caller)
{
    open->slot = NULL;
    struct gdx_lane *lane = gdx_lane();
    if (GDX_UNLIKELY(!lane))
        return false;
    if (GDX_UNLIKELY(lane->busy)) {  /* a signal handler interrupted this very function */
        __atomic_fetch_add(&state->header->dropped, 1, __ATOMIC_RELAXED);
        return false;
    }
    lane->busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    struct gdx_track *track = &lane->track[in_ledger[call]];
    if (GDX_UNLIKELY(!track->chunk || HEAD + (track->next + 1) * (size_t)SLOT + GDX_BLOB_MAX / 4 > track->blob_top)
        && !more(lane, track)) {
        lane->busy = 0;
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
    slot->spare = 0;
    slot->begin = gdx_ticks();
    open->slot = slot;
    open->lane = lane;
    open->track = track;
    open->seq = track->seq;
    open->generation = lane->generation;
    open->file_offset = track->file_offset + HEAD + track->next * (uint64_t)SLOT;
    open->part_bytes = 0;
    return true;
}

void gdx_commit(struct gdx_open *open)
{
    struct gdx_track *track = open->track;
    if (open->part_bytes) {
        open->slot->blob = (uint32_t)((track->file_offset + track->blob_top) / 8);
        open->slot->blob_bytes = open->part_bytes;
    }
    track->next++;
    track->seq++;
    open->lane->depth++;
    __atomic_store_n(&open->slot->seq, open->seq, __ATOMIC_RELEASE);
    atomic_signal_fence(memory_order_seq_cst);
    open->lane->busy = 0;
}

bool gdx_still_open(const struct gdx_open *open)
{
    /* After a fork inside the driver's call the child must not touch the parent's mapping (it has none). A slot that
     * was overwritten by calls made from callbacks must not be patched. */
    return open->slot && open->generation == atomic_load_explicit(&state->generation, memory_order_relaxed)
        && open->slot->seq == open->seq;
}

void gdx_end_quiet(struct gdx_open *open, int32_t status)
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

static void record_stack(const struct gdx_open *failing)
{
    if (atomic_fetch_add_explicit(&state->stacks, 1, memory_order_relaxed) >= STACKS_MAX)
        return;
    void *frames[FRAMES_MAX];
    int count = gdx_backtrace(frames, FRAMES_MAX);
    uint64_t where = failing->file_offset / 8;
    struct gdx_open open;
    if (count <= 0 || !gdx_begin(&open, GDX_CALL_note_stack, NULL))
        return;
    open.slot->w[0] = where;
    void *room = gdx_part(&open, GDX_PART_frames, (size_t)count * sizeof *frames);
    if (room)
        memcpy(room, frames, (size_t)count * sizeof *frames);
    gdx_commit(&open);
    gdx_end_quiet(&open, 0);
}

void gdx_end(struct gdx_open *open, int32_t status)
{
    if (GDX_UNLIKELY(status != 0 && gdx_still_open(open))) {
        int saved = errno;
        record_stack(open);
        errno = saved;
    }
    gdx_end_quiet(open, status);
}

/* ---- blobs ---- */

void *gdx_part(struct gdx_open *open, uint32_t field, size_t bytes)
{
    struct gdx_track *track = open->track;
    size_t need = sizeof(struct gdx_part) + ((bytes + 7) & ~(size_t)7);
    size_t slots_end = HEAD + (track->next + 1) * (size_t)SLOT;
    if (bytes > GDX_BLOB_MAX || slots_end + need + open->part_bytes > track->blob_top) {
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

void gdx_put(struct gdx_open *open, uint32_t field, const void *data, size_t bytes)
{
    if (!data || !bytes)
        return;
    if (bytes > GDX_BLOB_MAX || !gdx_readable(open->lane, data, bytes)) {
        open->slot->flags |= GDX_FLAG_cut;
        return;
    }
    void *room = gdx_part(open, field, bytes);
    if (room)
        memcpy(room, data, bytes);
}

void gdx_put_text(struct gdx_open *open, uint32_t field, const char *text)
{
    size_t bytes = 0;
    if (!text)
        return;
    while (bytes < 4096 && gdx_readable(open->lane, text + bytes, 1) && text[bytes])
        bytes++;
    gdx_put(open, field, text, bytes);
}

void gdx_put_zero_ended(struct gdx_open *open, uint32_t field, const void *list, size_t element)
{
    const char *at = list;
    size_t bytes = 0;
    static const char zero[8];
    if (!list)
        return;
    while (bytes < 512 && gdx_readable(open->lane, at + bytes, element) && memcmp(at + bytes, zero, element))
        bytes += element;
    gdx_put(open, field, list, bytes);
}

/* A text of any size as a chunk of its own; returns its offset in units of 8 bytes, 0 when there is no room. */
static uint32_t put_large(const char *data, size_t bytes)
{
    struct calm calm;
    uint64_t offset = 0;
    int err;
    uint32_t units = (uint32_t)((HEAD + bytes + GDX_UNIT_BYTES - 1) / GDX_UNIT_BYTES);
    calm_down(&calm);
    lock();
    struct gdx_chunk *chunk = new_chunk(GDX_LARGE, units, &offset, &err);
    unlock();
    if (chunk) {
        memcpy((char *)chunk + HEAD, data, bytes);
        publish(chunk);
        munmap(chunk, (size_t)units * GDX_UNIT_BYTES);
    }
    calm_end(&calm);
    return chunk ? (uint32_t)((offset + HEAD) / 8) : 0;
}

static void put_own(struct gdx_open *open, uint32_t field, struct gdx_text text)
{
    void *room = text.bytes ? gdx_part(open, field, text.bytes) : NULL;
    if (room)
        memcpy(room, text.data, text.bytes);
}

void gdx_note(uint32_t note, const uint64_t *words, unsigned count, struct gdx_text text, struct gdx_text text2,
              const uint64_t *numbers, unsigned number_count)
{
    struct gdx_open open;
    bool large = text.bytes > GDX_BLOB_MAX / 16;
    if (text.bytes > GDX_LARGE_MAX)
        text.bytes = GDX_LARGE_MAX;
    uint32_t where = large && gdx_on() ? put_large(text.data, text.bytes) : 0;
    if (!gdx_begin(&open, note, NULL))
        return;
    for (unsigned i = 0; i < GDX_WORDS; i++)
        open.slot->w[i] = i < count ? words[i] : 0;
    if (!large) {
        put_own(&open, GDX_PART_text, text);
        put_own(&open, GDX_PART_text2, text2);
        put_own(&open, GDX_PART_numbers, (struct gdx_text){ (const char *)numbers, number_count * sizeof *numbers });
    }
    gdx_commit(&open);
    if (large) {
        /* The blob is the bare text, told apart by its place in a chunk of kind 3. */
        open.slot->blob_bytes = (uint32_t)text.bytes;
        open.slot->blob = where;
    }
    gdx_end_quiet(&open, 0);
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

/* ---- the program's memory ---- */

/* rt_sigprocmask reads the new set before it looks at `how`: EFAULT says unreadable, EINVAL readable. It changes
 * nothing because `how` is invalid. (kernel/signal.c, SYSCALL_DEFINE4(rt_sigprocmask)) */
static bool probe(uintptr_t at)
{
    int saved = errno;
    long result = syscall(SYS_rt_sigprocmask, ~0, at & ~(uintptr_t)7, NULL, 8);
    bool ok = result == 0 || errno == EINVAL;
    errno = saved;
    return ok;
}

bool gdx_readable(struct gdx_lane *lane, const void *data, size_t bytes)
{
    uintptr_t from = (uintptr_t)data, to = from + bytes - 1;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (GDX_LIKELY(from >= here && to < lane->stack_high))
        return true;
    if (to < from)
        return false;
    for (uintptr_t page = from >> 12; page <= to >> 12; page++) {
        uintptr_t *known = &lane->readable[page % GDX_READ_CACHE];
        if (*known == page)
            continue;
        if (page == 0 || !probe(page << 12))
            return false;
        *known = page;
    }
    return true;
}

void gdx_entered(uint32_t bit)
{
    if (gdx_lane() && state->header)
        __atomic_fetch_or(&state->header->entries, bit, __ATOMIC_RELAXED);
}

/* ---- last words: called from the signal handler, so system calls and stores only ---- */

struct gdx_header *gdx_own_header(void)
{
    return state && atomic_load(&state->generation) ? state->header : NULL;
}

/* Room for what the signal handler keeps. Gives up rather than wait: the lock may belong to the thread that died. */
char *gdx_last_room(size_t bytes, uint32_t *where)
{
    uint64_t offset;
    int err;
    for (int tries = 0; atomic_flag_test_and_set_explicit(&state->lock, memory_order_acquire); tries++)
        if (tries > 1000)
            return NULL;
    uint32_t units = (uint32_t)((HEAD + bytes + GDX_UNIT_BYTES - 1) / GDX_UNIT_BYTES);
    struct gdx_chunk *chunk = new_chunk(GDX_LARGE, units, &offset, &err);
    unlock();
    if (!chunk)
        return NULL;
    publish(chunk);
    *where = (uint32_t)((offset + HEAD) / 8);
    return (char *)chunk + HEAD;
}

/* ---- loading and leaving ---- */

__attribute__((constructor)) static void load(void)
{
    static _Atomic int loading;
    if (atomic_exchange(&loading, 1) || !gdx_directory())
        return;
    struct state *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
    madvise(page, 4096, MADV_WIPEONFORK);
    pthread_key_create(&lane_key, give_back);
    state = page;
    gdx_roll(GDX_ROLL_LOADED, NULL);
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
    keep_maps();
    state->header->ended = 1;
}
