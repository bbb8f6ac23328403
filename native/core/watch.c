/* See watch.h. */
#define _GNU_SOURCE
#include "core/watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/gave_up.h"
#include "core/process.h"

enum {
    MOST = 16384,        /* pieces of memory */
    SIZES = 64,          /* sizes that a second run is told to look at */
    PIECE = GDX_WATCH_PIECE,
    PAGE = 4096,         /* compared at a time */
    LINE = 64,           /* changed bytes that are no farther apart are told as one range */
    RANGES = 16,         /* told of one piece of memory in one look; the last reaches to the last changed byte */
    NOTES = 1024,        /* told in one look */
};
static const uint64_t LIMIT = 1 << 30;
enum { HELD = 1, MERGED = 2, EACH = 4 };  /* flags of note_changed */

/* ---- what was asked for ---- */

_Atomic int gdx_watch_setting GDX_HOT_DATA = -1;
static _Atomic uint64_t limit, sizes[SIZES];

/* The copies take memory that the program may need. */
static uint64_t limit_asked(void)
{
    const char *text = getenv("GPUDX_WATCH_LIMIT");
    uint64_t asked = text ? strtoull(text, NULL, 10) : LIMIT;
    uint64_t have = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 4;
    return asked < have ? asked : have;
}

static void read_sizes(const char *text)
{
    char *end;
    for (int i = 0; text && *text && i < SIZES; i++, text = *end ? end + 1 : end)
        sizes[i] = strtoull(text, &end, 10);
}

static bool is_yes(const char *name)
{
    const char *value = getenv(name);
    return value && *value == '1';
}

/* Asked once, so a program that changes its environment later does not change our mind. */
enum gdx_watch gdx_watch_read(void)
{
    if (!environ)
        return GDX_WATCH_NOT;  /* before the C library's own constructor; asked again later */
    bool asked = gdx_directory() && is_yes("GPUDX_WATCH");
    enum gdx_watch found = !asked ? GDX_WATCH_NOT : is_yes("GPUDX_SERIALISE") ? GDX_WATCH_LAUNCHES : GDX_WATCH_WAITS;
    if (asked) {
        limit = limit_asked();
        read_sizes(getenv("GPUDX_WATCH_SIZES"));
    }
    atomic_store(&gdx_watch_setting, found);
    return found;
}

static bool is_wanted(uint64_t bytes)
{
    for (int i = 0; i < SIZES && sizes[i]; i++)
        if (sizes[i] == bytes)
            return true;
    return !sizes[0];
}

/* ---- the table ---- */

enum count { LOOKS, BUSY, WATCHED, READ_BYTES, CHANGED, UNTOLD, COUNTS };  /* as in note_watch */

static struct table {
    _Atomic uint32_t count;
    uint64_t bytes;                 /* of the copies */
    uint64_t lowest, highest;       /* addresses of what is watched, ever */
    _Atomic uint64_t last;          /* ticks when the last look began */
    _Atomic int looking;
    uint32_t notes;                 /* in this look */
    _Atomic uint64_t counts[COUNTS], untold[COUNTS];
    struct gdx_watched all[MOST];
} *_Atomic shared;

static void wipe(void)
{
    memset(atomic_load(&shared), 0, sizeof(struct table));
}

static struct table *table(void)
{
    struct table *known = atomic_load_explicit(&shared, memory_order_acquire), *none = NULL;
    if (known || !gdx_on())
        return known;
    struct table *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    if (!atomic_compare_exchange_strong(&shared, &none, made)) {
        munmap(made, sizeof *made);  /* another thread was faster */
        return none;
    }
    if (madvise(made, sizeof *made, MADV_WIPEONFORK) < 0)
        pthread_atfork(NULL, NULL, wipe);  /* before Linux 4.14 */
    return made;
}

/* With the lock held, like the next one. */
static void widen(struct table *t, const struct gdx_watched *one)
{
    if (!one->address)
        return;
    uint64_t end = one->address + one->bytes;
    t->lowest = !t->highest || one->address < t->lowest ? one->address : t->lowest;
    t->highest = end > t->highest ? end : t->highest;
}

static struct gdx_watched take(struct table *t, struct gdx_watched *one)
{
    struct gdx_watched taken = *one;
    t->bytes -= taken.bytes;
    *one = t->all[--t->count];
    return taken;
}

static bool is_gone(const struct gdx_watch_ways *ways, const struct gdx_watched *one)
{
    return ways->is_gone && ways->is_gone(one);
}

static void let_go(const struct gdx_watch_ways *ways, const struct gdx_watched *one)
{
    if (ways->let_go)
        ways->let_go(one);
}

static void bury(const struct gdx_watch_ways *ways, const struct gdx_watched *one)
{
    munmap(one->copy, one->bytes);
    let_go(ways, one);
}

/* ---- counts and notes ---- */

static const struct gdx_text nothing;

static void note_counts(struct table *t, const char *why)
{
    uint64_t words[COUNTS];
    for (int i = 0; i < COUNTS; i++)
        words[i] = atomic_exchange(&t->untold[i], 0);
    struct gdx_text text = { why, why ? strlen(why) : 0 };
    gdx_note(GDX_CALL_note_watch, words, COUNTS, text, nothing, NULL, 0);
}

/* Told when the number of looks, or of what is watched, has doubled; and at the end. */
static void count(struct table *t, enum count what, uint64_t more)
{
    uint64_t sum = atomic_fetch_add(&t->counts[what], more) + more;
    atomic_fetch_add(&t->untold[what], more);
    if ((what == LOOKS || what == WATCHED) && !(sum & (sum - 1)) && gdx_on())
        note_counts(t, NULL);
}

void gdx_watch_stop(const char *why)
{
    struct table *t = table();
    if (atomic_exchange(&gdx_watch_setting, GDX_WATCH_NOT) > GDX_WATCH_NOT && t && gdx_on())
        note_counts(t, why);
}

void gdx_watch_miss(uint64_t handle, uint64_t bytes, const char *why)
{
    const uint64_t words[] = { handle, bytes };
    gdx_note(GDX_CALL_note_not_watched, words, 2, (struct gdx_text){ why, strlen(why) }, nothing, NULL, 0);
}

/* Not in a forked child that has watched nothing: it would get a trace for this alone. */
__attribute__((destructor)) static void leave(void)
{
    struct table *t = atomic_load(&shared);
    uint64_t any = 0;
    for (int i = 0; t && i < COUNTS; i++)
        any += atomic_load(&t->untold[i]);
    if (any && gdx_on())
        note_counts(t, NULL);
}

/* ---- comparing ---- */

struct range { uint64_t first, last, was, is; uint32_t flags; bool open; };
struct look {
    struct table *t;
    struct gdx_watched *one;
    struct range range;
    uint32_t ranges;
    bool fresh;  /* it was made just now: what stands there was somebody else's */
    unsigned char *room;
};

static void tell(struct look *look)
{
    const struct gdx_watched *one = look->one;
    const struct range *r = &look->range;
    if (!r->open)
        return;
    count(look->t, CHANGED, 1);
    if (look->t->notes++ >= NOTES) {
        count(look->t, UNTOLD, 1);
        return;
    }
    const uint64_t flags = r->flags | (one->held ? HELD : 0) | (gdx_watching() == GDX_WATCH_LAUNCHES ? EACH : 0);
    const uint64_t words[] = { one->handle, r->first, r->last - r->first + 1, r->was, r->is, one->seen, flags };
    gdx_note(GDX_CALL_note_changed, words, sizeof words / sizeof *words, nothing, nothing, NULL, 0);
}

/* The 8 bytes at `at`, as far as the piece goes. */
static uint64_t word_at(const unsigned char *bytes, uint64_t at, uint64_t end)
{
    return gdx_first_word(bytes + at, end - at < 8 ? end - at : 8);
}

/* A piece of memory as it was and as it is: `bytes` from `offset` on. */
struct piece { unsigned char *was; const unsigned char *now; uint64_t offset, bytes; };

/* The bytes from `first` to `last` of a piece have changed, these two certainly. */
static void changed(struct look *look, const struct piece *p, uint64_t first, uint64_t last)
{
    struct range *r = &look->range;
    bool near = r->open && p->offset + first <= r->last + LINE;
    if (r->open && (near || look->ranges == RANGES)) {
        r->flags |= near ? 0 : MERGED;
        r->last = p->offset + last;
        return;
    }
    tell(look);
    *r = (struct range){ p->offset + first, p->offset + last, word_at(p->was, first, p->bytes), word_at(p->now, first, p->bytes),
                         0, true };
    look->ranges++;
}

static void note_pointers(struct table *t, const unsigned char *from, size_t bytes);

/* Changes in one line are one range anyway. */
static void compare_line(struct look *look, const struct piece *p, uint64_t line, uint64_t to)
{
    uint64_t at = line, last = to - 1;
    if (!memcmp(p->was + at, p->now + at, to - at))
        return;
    while (p->was[at] == p->now[at])
        at++;
    while (p->was[last] == p->now[last])
        last--;
    changed(look, p, at, last);
    note_pointers(look->t, p->now + line, to - line);
}

/* Words that look like an address of watched memory: whoever reads them can reach it. */
static void note_pointers(struct table *t, const unsigned char *from, size_t bytes)
{
    struct gdx_calm calm;
    for (size_t at = 0; t->highest && at + 8 <= bytes; at += 8) {
        uint64_t word = gdx_first_word(from + at, 8);
        if (GDX_LIKELY(word - t->lowest >= t->highest - t->lowest))
            continue;
        gdx_lock(GDX_LOCK_WATCH, &calm);
        for (uint32_t i = 0; i < t->count; i++)
            if (word - t->all[i].address < t->all[i].bytes)
                t->all[i].held = true;
        gdx_unlock(GDX_LOCK_WATCH, &calm);
    }
}

static void compare_page(struct look *look, const struct piece *p, uint64_t at, uint64_t to)
{
    if (!memcmp(p->was + at, p->now + at, to - at))
        return;
    for (uint64_t line = at; look->one->filled && line < to; line += LINE)
        compare_line(look, p, line, line + LINE < to ? line + LINE : to);
    memcpy(p->was + at, p->now + at, to - at);
    if (!look->one->filled && !look->fresh)
        note_pointers(look->t, p->now + at, to - at);
}

/* Room for what is read; only as much of it as is used takes memory. */
static unsigned char *make_room(void)
{
    void *room = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return room == MAP_FAILED ? NULL : room;
}

static void give_room(unsigned char *room)
{
    if (room)
        munmap(room, PIECE);
}

/* False: it cannot be read. */
static bool read_all(const struct gdx_watch_ways *ways, struct look *look)
{
    struct gdx_watched *one = look->one;
    for (uint64_t offset = 0; offset < one->bytes; offset += PIECE) {
        struct piece p = { one->copy + offset, NULL, offset, one->bytes - offset < PIECE ? one->bytes - offset : PIECE };
        if (!(p.now = ways->read(one, offset, p.bytes, look->room)))
            return false;
        for (uint64_t at = 0; at < p.bytes; at += PAGE)
            compare_page(look, &p, at, at + PAGE < p.bytes ? at + PAGE : p.bytes);
        count(look->t, READ_BYTES, p.bytes);
    }
    tell(look);
    one->filled = true;
    return true;
}

/* ---- what is watched ---- */

/* Adds to the table, not yet seen by lookers: they skip what has users. */
static const char *enter(struct table *t, struct gdx_watched *fresh)
{
    struct gdx_calm calm;
    const char *why = NULL;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    if (t->count == MOST)
        why = "more pieces of memory than are watched";
    else if (t->bytes + fresh->bytes > limit)
        why = "no room under --watch-limit";
    if (!why) {
        fresh->users = 1;
        fresh->seen = t->last;
        t->all[t->count++] = *fresh;
        t->bytes += fresh->bytes;
        widen(t, fresh);
    }
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    return why;
}

/* Puts back what a looker learned. What died meanwhile goes now. */
static void give_back(const struct gdx_watch_ways *ways, const struct gdx_watched *known)
{
    struct gdx_calm calm;
    struct table *t = table();
    struct gdx_watched gone = { 0 };
    gdx_lock(GDX_LOCK_WATCH, &calm);
    for (uint32_t i = 0; i < t->count; i++)
        if (t->all[i].copy == known->copy) {
            struct gdx_watched *one = &t->all[i];
            one->users--;
            one->seen = known->seen;
            one->filled = known->filled;
            one->dead |= known->dead;
            if (one->dead && !one->users)
                gone = take(t, one);
            break;
        }
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    if (gone.copy)
        bury(ways, &gone);
}

const char *gdx_watch_add(const struct gdx_watch_ways *ways, const struct gdx_watched *fresh, bool now)
{
    struct table *t = table();
    struct gdx_watched one = *fresh;
    one.ways = ways;
    if (!t || !is_wanted(fresh->bytes)) {
        let_go(ways, fresh);
        return "not of the sizes that are looked for";
    }
    one.copy = mmap(NULL, one.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (one.copy == MAP_FAILED) {
        let_go(ways, fresh);
        return "no memory for a copy";
    }
    const char *why = enter(t, &one);
    if (why) {
        bury(ways, &one);
        return why;
    }
    struct look look = { .t = t, .one = &one, .fresh = true, .room = now ? make_room() : NULL };
    if (now && (!look.room || !read_all(ways, &look)))
        why = "it cannot be read";
    give_room(look.room);
    count(t, WATCHED, !why);
    one.dead = why;
    give_back(ways, &one);
    return why;
}

static bool take_if(const struct gdx_watch_ways *ways, uint64_t handle, uint64_t owner)
{
    struct gdx_calm calm;
    struct table *t = table();
    struct gdx_watched gone = { 0 };
    bool found = false;
    if (!t)
        return false;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    for (uint32_t i = 0; i < t->count && !found; i++) {
        struct gdx_watched *one = &t->all[i];
        found = !one->dead && one->ways == ways && (handle ? one->handle == handle : !owner || one->owner == owner);
        if (found && one->users)
            one->dead = true;
        else if (found)
            gone = take(t, one);
    }
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    if (gone.copy)
        bury(ways, &gone);
    return found;
}

void gdx_watch_drop(const struct gdx_watch_ways *ways, uint64_t handle)
{
    take_if(ways, handle, 0);
}

void gdx_watch_drop_owned(const struct gdx_watch_ways *ways, uint64_t owner)
{
    while (take_if(ways, 0, owner))
        continue;
}

/* Only who has borrowed it may ask: another thread could see that it is gone, too, and let it go meanwhile. Where a look
 * has it, that look or the next one asks. */
void gdx_watch_drop_if_gone(const struct gdx_watch_ways *ways, uint64_t handle)
{
    struct gdx_calm calm;
    struct table *t = atomic_load(&shared);
    struct gdx_watched one = { 0 };
    if (!t || !gdx_on())
        return;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    for (uint32_t i = 0; i < t->count && !one.copy; i++)
        if (t->all[i].handle == handle && !t->all[i].users) {
            t->all[i].users = 1;
            one = t->all[i];
        }
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    if (one.copy) {
        one.dead = is_gone(ways, &one);
        give_back(ways, &one);
    }
}

static bool any(uint64_t handle, bool dead)
{
    struct gdx_calm calm;
    struct table *t = atomic_load(&shared);
    bool found = false;
    if (!t || !gdx_on())
        return false;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    for (uint32_t i = 0; i < t->count && !found; i++)
        found = (!handle || t->all[i].handle == handle) && t->all[i].dead == dead;
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    return found;
}

bool gdx_watch_has(uint64_t handle)
{
    return any(handle, false);
}

void gdx_watch_await(uint64_t handle)
{
    for (unsigned tries = 0; tries < GDX_WATCH_PATIENCE && any(handle, true); tries++)
        gdx_wait(tries);
    if (any(handle, true))
        gdx_gave_up("Watched memory was freed while it was being compared, because that took more than 2 s");
}

/* ---- looking ---- */

/* The next one from `place` on that nobody uses; false: there is none. One that moves before `place` meanwhile, because
 * another died, waits for the next look. */
static bool borrow(struct table *t, const struct gdx_watch_ways *ways, uint32_t *place, struct gdx_watched *one)
{
    struct gdx_calm calm;
    bool found = false;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    for (; *place < t->count && !found; ++*place) {
        struct gdx_watched *next = &t->all[*place];
        found = !next->users && next->ways == ways;
        if (found) {
            next->users = 1;
            *one = *next;
        }
    }
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    return found;
}

static void look_at_all(const struct gdx_watch_ways *ways, struct table *t, bool patient)
{
    struct gdx_watched one;
    uint32_t place = 0;
    uint64_t now = gdx_ticks();
    bool idle = ways->idle(patient);
    unsigned char *room = idle && !ways->own_room ? make_room() : NULL;
    if (!idle || (!room && !ways->own_room)) {
        count(t, BUSY, 1);
        return;
    }
    t->notes = 0;
    while (borrow(t, ways, &place, &one)) {
        struct look look = { .t = t, .one = &one, .room = room };
        bool gone = is_gone(ways, &one), read = gone || read_all(ways, &look);
        one.seen = now;
        one.dead = gone || !read;
        give_back(ways, &one);
        if (!read)
            gdx_watch_miss(one.handle, one.bytes, "it could not be read any more");
    }
    t->last = now;
    give_room(room);
    count(t, LOOKS, 1);
}

void gdx_watch_look(const struct gdx_watch_ways *ways, bool patient)
{
    int saved = errno;
    struct table *t = gdx_on() ? table() : NULL;
    if (t && t->count && atomic_exchange(&t->looking, 1)) {
        count(t, BUSY, 1);  /* another thread looks */
    } else if (t && t->count) {
        look_at_all(ways, t, patient);
        atomic_store(&t->looking, 0);
    }
    errno = saved;
}
