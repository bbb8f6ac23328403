/* See crumbs.h. */
#define _GNU_SOURCE
#include "core/crumbs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/process.h"
#include "core/sandbox.h"

enum { FREE, USED, GONE };
enum { IN_TRACE = 1, IN_SHM = 2, IN_PROCESS = 3 };
enum { PAGE = 4096, LANES = 256, SEQUENCE_BITS = 24 };
enum { INTERVAL_NS = 1000000, THREAD_INTERVAL_NS = 500000, DEVICE_INTERVAL_NS = 400000 };
enum { BURST = 1024, THREAD_BURST = 1024 };  /* crumbs that are paid for in advance, at the start and after a pause */
enum { BEHIND = 2, DEEP = 32, DEEP_STEP = 32 };  /* crumbs not reached; from DEEP on only each DEEP_STEP-th call gets one: a crumb
                                                  * takes one of the about 1,022 places of a stream's queue (H200, driver 580), and
                                                  * programs may need them all before they let the device go on */

_Atomic int gdx_crumbs_setting GDX_HOT_DATA;
static _Atomic(struct gdx_crumb_field *) fields;  /* all of this process, and of those it was forked from */
static __thread uint64_t thread_paid __attribute__((tls_model("initial-exec")));

/* Two threads that read at the same time write the same. */
enum gdx_crumbs gdx_read_crumbs(void)
{
    int saved = errno;
    const char *text = getenv("GPUDX_CRUMBS");
    enum gdx_crumbs asked = !text || !*text ? GDX_CRUMBS_SOME : !strcmp(text, "all") ? GDX_CRUMBS_ALL
                          : !strcmp(text, "off") ? GDX_CRUMBS_OFF : GDX_CRUMBS_SOME;
    atomic_store(&gdx_crumbs_setting, asked);
    errno = saved;
    return asked;
}

/* ---- a context ---- */

static struct gdx_text text_of(const char *text)
{
    return (struct gdx_text){ text, text ? strlen(text) : 0 };
}

void gdx_crumbs_none(uint32_t context, const char *why)
{
    const uint64_t words[] = { context, 0, 0 };
    gdx_note(GDX_CALL_note_crumbs, words, 3, text_of(why), (struct gdx_text){ 0 }, NULL, 0);
}

static void note(const struct gdx_crumb_field *field)
{
    const uint64_t words[] = { field->context, gdx_crumbs() == GDX_CRUMBS_ALL ? 2 : 1, field->at / 8 };
    gdx_note(GDX_CALL_note_crumbs, words, 3, (struct gdx_text){ 0 }, text_of(field->path), NULL, 0);
}

/* A file that outlives the process, whoever kills it. */
static void *map_shm(struct gdx_crumb_field *field)
{
    static _Atomic unsigned count;
    snprintf(field->path, sizeof field->path, "/dev/shm/gpudx-%d-%u", (int)getpid(), atomic_fetch_add(&count, 1));
    int fd = gdx_is_shut_in() ? -1 : open(field->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        field->path[0] = 0;
        return MAP_FAILED;
    }
    static const char zeros[PAGE];
    void *memory = write(fd, zeros, PAGE) == PAGE ? mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    return memory;
}

static void *map_process(struct gdx_crumb_field *field)
{
    (void)field;
    return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static const char *attach_to(struct gdx_crumb_field *field, uint32_t state, void *memory)
{
    const char *why = memory == MAP_FAILED ? "no memory" : field->api->attach(memory, PAGE, &field->device);
    if (!why) {
        field->cells = memory;
        field->chunk->crumbs_state = state;
        return NULL;
    }
    if (memory != MAP_FAILED && state != IN_TRACE)
        munmap(memory, PAGE);
    if (field->path[0])
        unlink(field->path);
    field->path[0] = 0;
    return why;
}

static const char *attach(struct gdx_crumb_field *field)
{
    if (!attach_to(field, IN_TRACE, field->cells) || !attach_to(field, IN_SHM, map_shm(field)))
        return NULL;
    return attach_to(field, IN_PROCESS, map_process(field));
}

/* Never freed: another thread may be about to use it, and there is one per context. */
static struct gdx_crumb_field *new_field(void)
{
    void *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void link_field(struct gdx_crumb_field *field)
{
    field->next = atomic_load(&fields);
    while (!atomic_compare_exchange_weak(&fields, &field->next, field))
        ;
}

static struct gdx_crumb_field *make_field(const struct gdx_crumb_api *api, uint32_t context, uint32_t generation)
{
    struct gdx_crumb_field *field = new_field();
    struct gdx_header *header = gdx_own_header();
    uint64_t at = 0;
    struct gdx_chunk *chunk = field && header ? gdx_own_chunk(GDX_CRUMBS, GDX_CRUMBS_units, &at) : NULL;
    if (!chunk) {
        gdx_crumbs_none(context, "there is no room for them in the trace");
        return NULL;
    }
    char *base = (char *)chunk;
    *field = (struct gdx_crumb_field){ .api = api, .chunk = chunk, .rows = (struct gdx_crumb *)(chunk + 1),
        .cells = base + GDX_CRUMBS_cells, .marks = (uint32_t *)(base + GDX_CRUMBS_marks), .context = context,
        .generation = generation, .pid = (uint32_t)getpid(), .interval = gdx_ticks_of(INTERVAL_NS),
        .thread_interval = gdx_ticks_of(THREAD_INTERVAL_NS), .at = at,
        .device_interval = gdx_ticks_of(DEVICE_INTERVAL_NS) };
    chunk->crumbs_context = context;
    const char *why = attach(field);
    chunk->crumbs_at = (uint64_t)(uintptr_t)field->cells;
    if (why) {
        chunk->crumbs_state = 0;
        gdx_publish_chunk(chunk);
        gdx_crumbs_none(context, why);
        return NULL;
    }
    gdx_publish_chunk(chunk);
    return field;
}

struct gdx_crumb_field *gdx_crumbs_open(const struct gdx_crumb_api *api, uint32_t context)
{
    int saved = errno;
    struct gdx_lane *lane = gdx_lane();
    struct gdx_crumb_field *field = lane ? make_field(api, context, lane->generation) : NULL;
    if (field) {
        link_field(field);
        note(field);
    }
    errno = saved;
    return field;
}

static void keep(struct gdx_crumb_field *one)
{
    if (one->chunk->crumbs_state == IN_TRACE)
        return;
    memcpy((char *)one->chunk + GDX_CRUMBS_cells, one->cells, GDX_CRUMBS_rows * GDX_CRUMBS_cell_bytes);
    one->chunk->crumbs_kept = gdx_ticks();
}

/* Fields of a process that this one was forked from are not ours to write. */
void gdx_crumbs_keep(void)
{
    uint32_t own = (uint32_t)getpid();
    for (struct gdx_crumb_field *one = atomic_load(&fields); one; one = one->next)
        if (one->pid == own)
            keep(one);
}

void gdx_crumbs_end(void)
{
    uint32_t own = (uint32_t)getpid();
    gdx_crumbs_keep();
    for (struct gdx_crumb_field *one = atomic_load(&fields); one; one = one->next)
        if (one->pid == own && one->path[0] && !gdx_is_shut_in())
            unlink(one->path);
}

/* ---- a stream ---- */

/* Numbers of a row that several threads may change at once, where a lost change costs a crumb too many or too few. */
#define GET(place) __atomic_load_n(&(place), __ATOMIC_RELAXED)
#define SET(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELAXED)

static uint32_t *cell_of(const struct gdx_crumb_field *field, const struct gdx_crumb *row)
{
    return (uint32_t *)(void *)(field->cells + (size_t)(row - field->rows) * GDX_CRUMBS_cell_bytes);
}

static uint32_t behind(const struct gdx_crumb_field *field, const struct gdx_crumb *row)
{
    return __atomic_load_n(&row->issued, __ATOMIC_RELAXED) - __atomic_load_n(cell_of(field, row), __ATOMIC_RELAXED);
}

static size_t first_place(uint64_t queue, uint32_t tid)
{
    /* Knuth, multiplicative hashing; scaled to the table by a product, because every launch comes here and a division is slow. */
    return (size_t)((((queue >> 4) + tid) * 0x9e3779b97f4a7c15ull >> 32) * GDX_CRUMBS_rows >> 32);
}

static size_t next_place(size_t place)
{
    return place + 1 < GDX_CRUMBS_rows ? place + 1 : 0;
}

static bool is_row_of(const struct gdx_crumb *row, uint64_t queue, uint32_t tid)
{
    return __atomic_load_n(&row->state, __ATOMIC_ACQUIRE) == USED && GET(row->queue) == queue && GET(row->tid) == tid;
}

static struct gdx_crumb *known_row(const struct gdx_crumb_field *field, uint64_t queue, uint32_t tid)
{
    size_t place = first_place(queue, tid);
    for (size_t i = 0; i < GDX_CRUMBS_rows; i++, place = next_place(place)) {
        struct gdx_crumb *row = &field->rows[place];
        if (is_row_of(row, queue, tid))
            return row;
        if (__atomic_load_n(&row->state, __ATOMIC_ACQUIRE) == FREE)
            return NULL;
    }
    return NULL;
}

/* A free row, else that of a stream which is gone and had come to its end: nothing will write to its cell any more. */
static struct gdx_crumb *new_row(const struct gdx_crumb_field *field, uint64_t queue, uint32_t tid)
{
    size_t place = first_place(queue, tid);
    for (size_t i = 0; i < GDX_CRUMBS_rows; i++, place = next_place(place)) {
        struct gdx_crumb *row = &field->rows[place];
        if (row->state == USED || (row->state == GONE && behind(field, row)))
            continue;
        SET(row->queue, queue);
        SET(row->tid, tid);
        SET(row->unordered, 0);
        __atomic_store_n(&row->state, USED, __ATOMIC_RELEASE);
        return row;
    }
    return NULL;
}

GDX_COLD static struct gdx_crumb *take_row(struct gdx_crumb_field *field, uint64_t queue, uint32_t tid)
{
    static _Atomic int told;
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_CRUMBS, &calm);
    struct gdx_crumb *row = known_row(field, queue, tid);
    row = row ? row : new_row(field, queue, tid);
    gdx_unlock(GDX_LOCK_CRUMBS, &calm);
    if (!row && !atomic_exchange(&told, 1))
        gdx_crumbs_none(field->context, "the program has more streams than can be followed; the streams above that have none");
    return row;
}

GDX_COLD static struct gdx_crumb *other_row(struct gdx_crumb_field *field, uint64_t queue, uint32_t tid)
{
    struct gdx_crumb *row = known_row(field, queue, tid);
    return row ? row : take_row(field, queue, tid);
}

void gdx_crumbs_leave(struct gdx_crumb_field *field, uint64_t queue)
{
    struct gdx_calm calm;
    struct gdx_crumb *row = known_row(field, queue, 0);
    if (!row)
        return;
    gdx_lock(GDX_LOCK_CRUMBS, &calm);
    __atomic_store_n(&row->state, GONE, __ATOMIC_RELEASE);
    gdx_unlock(GDX_LOCK_CRUMBS, &calm);
}

/* ---- a crumb ---- */

/* A budget is a time up to which it is used up; a pause leaves `burst` of it. */
static uint64_t pay(uint64_t paid, uint64_t now, uint64_t price, unsigned burst)
{
    uint64_t oldest = now - burst * price;
    return (paid > oldest ? paid : oldest) + price;
}

static bool is_paid_for(const struct gdx_crumb_field *field, struct gdx_crumb *row, uint64_t now)
{
    uint64_t paid = GET(row->paid);
    if (now - paid < field->interval || now - thread_paid < field->thread_interval)
        return false;
    SET(row->paid, pay(paid, now, field->interval, BURST));
    thread_paid = pay(thread_paid, now, field->thread_interval, THREAD_BURST);
    return true;
}

/* How long the device takes for a call, from when its cell changed; while it does not change, at least that long. Each number is
 * read once: another thread may change it between two readings, and then a divisor could be 0. */
static void learn_pace(struct gdx_crumb *row, uint32_t cell, uint64_t now)
{
    uint32_t step = GET(row->step), passed = cell - GET(row->seen);
    uint64_t calls = step ? step : 1, since = now - GET(row->seen_at);
    if (passed) {
        SET(row->pace, since / (calls * passed));
        SET(row->seen, cell);
        SET(row->seen_at, now);
        return;
    }
    /* While the device stands still this grows with every call: a division for each eighth more is enough. */
    uint64_t pace = GET(row->pace);
    if (since > calls * (pace + pace / 8))
        SET(row->pace, since / calls);
}

static bool is_due_behind(const struct gdx_crumb_field *field, struct gdx_crumb *row, uint32_t open)
{
    uint64_t calls = (uint64_t)GET(row->skipped) + 1;
    return calls * GET(row->pace) >= field->device_interval && (open < DEEP || calls >= DEEP_STEP);
}

/* The row learns of the calls that were not looked at. In a forked process it is the parent's. */
static void rest_ends(const struct gdx_open *open)
{
    struct gdx_crumb_rest *rest = &open->lane->rest;
    if (rest->field && rest->field->generation == open->generation)
        SET(rest->row->skipped, GET(rest->row->skipped) + rest->skipped);
    *rest = (struct gdx_crumb_rest){ 0 };
}

static void rest_begins(struct gdx_lane *lane, const struct gdx_crumb_field *field, struct gdx_crumb *row, uint64_t until, uint64_t calls)
{
    lane->rest = (struct gdx_crumb_rest){ .field = field, .queue = GET(row->queue), .until = until, .row = row,
        .calls = calls < UINT32_MAX ? (uint32_t)calls : UINT32_MAX };
}

static uint64_t paid_until(const struct gdx_crumb_field *field, const struct gdx_crumb *row)
{
    uint64_t stream = GET(row->paid) + field->interval, thread = thread_paid + field->thread_interval;
    return stream > thread ? stream : thread;
}

/* Until so many calls were made as is_due_behind asks for, unless the device's pace changes: hence not for long. */
static void rest_behind(struct gdx_lane *lane, const struct gdx_crumb_field *field, struct gdx_crumb *row, uint32_t open, uint64_t now)
{
    uint64_t pace = GET(row->pace), made = (uint64_t)GET(row->skipped) + 1, until = now + field->device_interval / 8;
    uint64_t wanted = pace ? (field->device_interval + pace - 1) / pace : UINT32_MAX, paid = paid_until(field, row);
    if (open >= DEEP)
        wanted = wanted > DEEP_STEP ? wanted : DEEP_STEP;
    else
        until = until < paid ? until : paid;
    if (wanted > made + 1)
        rest_begins(lane, field, row, until, wanted - made - 1);
}

static bool is_due(struct gdx_lane *lane, const struct gdx_crumb_field *field, struct gdx_crumb *row, uint64_t now)
{
    if (gdx_crumbs() == GDX_CRUMBS_ALL)
        return true;
    uint32_t cell = __atomic_load_n(cell_of(field, row), __ATOMIC_RELAXED), open = GET(row->issued) - cell;
    if (open >= BEHIND) {
        learn_pace(row, cell, now);
        if (is_due_behind(field, row, open) || (open < DEEP && is_paid_for(field, row, now)))
            return true;
        rest_behind(lane, field, row, open, now);
        return false;
    }
    SET(row->seen, cell);
    SET(row->seen_at, now);
    SET(row->pace, 0);
    if (is_paid_for(field, row, now))
        return true;
    rest_begins(lane, field, row, paid_until(field, row), UINT32_MAX);  /* without another crumb it does not fall behind */
    return false;
}

uint32_t *gdx_crumb_mark(const struct gdx_crumb_field *field, const struct gdx_crumb *row, uint32_t number)
{
    return field->marks + (size_t)(row - field->rows) * GDX_CRUMBS_marks_per_row + number % GDX_CRUMBS_marks_per_row;
}

void gdx_crumb_put(struct gdx_crumb_field *field, struct gdx_open *open, struct gdx_crumb *row)
{
    const uint32_t sequence = (uint32_t)(open->seq & ((1u << SEQUENCE_BITS) - 1));
    uint32_t number = __atomic_add_fetch(&row->issued, 1, __ATOMIC_ACQ_REL), *mark = gdx_crumb_mark(field, row, number);
    uint64_t device = field->device + (uint64_t)(row - field->rows) * GDX_CRUMBS_cell_bytes;
    __atomic_store_n(mark, open->lane->number << SEQUENCE_BITS | sequence, __ATOMIC_RELEASE);
    enum gdx_crumb_answer answer = field->api->write(row, device, number);
    if (answer == GDX_CRUMB_TAKEN) {
        SET(row->step, GET(row->skipped) + 1);
        SET(row->skipped, 0);
        if (gdx_still_open(open))
            open->slot->flags |= GDX_FLAG_crumb;
        return;
    }
    __atomic_store_n(mark, 0, __ATOMIC_RELEASE);
    if (answer == GDX_CRUMB_REFUSED && !atomic_exchange(&field->off, true))
        gdx_crumbs_none(field->context, field->api->refused);
}

GDX_HOT struct gdx_crumb *gdx_crumb_decide(struct gdx_crumb_field *field, struct gdx_open *open, uint64_t queue, bool own_stream)
{
    if (GDX_UNLIKELY(!gdx_still_open(open) || field->generation != open->generation || open->lane->number >= LANES
                     || open->track != &open->lane->track[0] || atomic_load_explicit(&field->off, memory_order_relaxed)))
        return NULL;
    rest_ends(open);
    uint32_t tid = own_stream ? open->lane->tid : 0;
    struct gdx_crumb *row = &field->rows[first_place(queue, tid)];  /* nearly always */
    if (GDX_UNLIKELY(!is_row_of(row, queue, tid)) && !(row = other_row(field, queue, tid)))
        return NULL;
    if (is_due(open->lane, field, row, open->slot->begin))
        return row;
    SET(row->skipped, GET(row->skipped) + 1);
    return NULL;
}
