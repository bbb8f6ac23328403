/* See sources.h. */
#define _GNU_SOURCE
#include "core/sources.h"

#include <errno.h>
#include <time.h>

#include "core/clock.h"
#include "core/gave_up.h"

enum { PLACES = 32, PIECES = 8, PIECE = 64, SMALL = 256 << 10, SMALL_PIECES = 2, MOST_NOTES = 64 };
enum { FREE, BUSY, WATCHED };
enum { GONE = 1 };  /* flags of the note */

struct source {
    _Atomic int state;
    uint64_t address, size, digest;
};

_Atomic int gdx_sources_open GDX_HOT_DATA;
static struct source sources[PLACES];
static _Atomic unsigned next_place;

/* ---- the budget ---- */

static const uint64_t FREE_NS = 1000000, SHARE = 40, LONGEST_NS = 20000;
static _Atomic uint64_t first_ns, spent_ns;

static bool can_afford(uint64_t now)
{
    uint64_t none = 0, spent = atomic_load_explicit(&spent_ns, memory_order_relaxed);
    if (spent < FREE_NS) {
        atomic_compare_exchange_strong(&first_ns, &none, now);
        return true;
    }
    return spent - FREE_NS < (now - atomic_load_explicit(&first_ns, memory_order_relaxed)) / SHARE;
}

/* A look that seems longer was interrupted by other processes, which is no cost of ours: a busy machine must not end the looks. */
static void spend_since(uint64_t began)
{
    uint64_t took = gdx_clock_ns(CLOCK_MONOTONIC) - began;
    atomic_fetch_add_explicit(&spent_ns, took < LONGEST_NS ? took : LONGEST_NS, memory_order_relaxed);
}

/* ---- looking ---- */

/* FNV-1a by words (Fowler, Noll, Vo): differences count, not attacks. */
static uint64_t digest_of(const uint64_t *words, size_t count)
{
    uint64_t digest = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < count; i++)
        digest = (digest ^ words[i]) * 0x100000001b3ull;
    return digest;
}

/* The first and the last bytes, and of large copies some in between. False: they cannot all be read. */
static bool look_at(const struct gdx_reader *me, uint64_t address, uint64_t size, uint64_t *digest)
{
    uint64_t room[PIECES * PIECE / sizeof(uint64_t)] = { 0 };
    struct iovec from[PIECES], to[PIECES];
    unsigned count = size <= PIECE ? 1 : size <= SMALL ? SMALL_PIECES : PIECES;
    uint64_t bytes = size < PIECE ? size : PIECE;
    for (unsigned i = 0; i < count; i++) {
        uint64_t at = count > 1 ? (size - bytes) / (count - 1) * i : 0;
        at = i && i == count - 1 ? size - bytes : at;
        from[i] = (struct iovec){ (void *)(uintptr_t)(address + at), bytes };
        to[i] = (struct iovec){ (char *)room + i * PIECE, bytes };
    }
    if (gdx_stays(me, (void *)(uintptr_t)address, size))
        for (unsigned i = 0; i < count; i++)
            gdx_copy_bytes(to[i].iov_base, from[i].iov_base, bytes);
    else if (!gdx_read_pieces(me, to, from, count))
        return false;
    *digest = digest_of(room, count * PIECE / sizeof *room);
    return true;
}

static bool take(struct source *one)
{
    int watched = WATCHED;
    return atomic_compare_exchange_strong(&one->state, &watched, BUSY);
}

static void give(struct source *one, int state)
{
    if (state == FREE)
        atomic_fetch_sub_explicit(&gdx_sources_open, 1, memory_order_relaxed);
    atomic_store_explicit(&one->state, state, memory_order_release);
}

/* Of one that was taken: how it looks now. */
static void compare(struct source *one, bool there, uint64_t digest)
{
    static _Atomic unsigned notes;
    if ((there && digest == one->digest) || atomic_fetch_add(&notes, 1) >= MOST_NOTES)
        return;
    const uint64_t words[] = { one->address, one->size, there ? 0 : GONE };
    gdx_note(GDX_CALL_note_source_changed, words, 3, (struct gdx_text){ 0 }, (struct gdx_text){ 0 }, NULL, 0);
}

/* All of them: once the program has waited for anything, what it may change is for the analysis to say, and the copies made before
 * are not watched any more. */
void gdx_sources_compare(void)
{
    int saved = errno;
    uint64_t began = gdx_clock_ns(CLOCK_MONOTONIC), digest = 0;
    struct gdx_lane *lane = gdx_on() ? gdx_lane() : NULL;
    for (int i = 0; lane && i < PLACES; i++)
        if (atomic_load_explicit(&sources[i].state, memory_order_relaxed) == WATCHED && take(&sources[i])) {
            bool there = look_at(&lane->reader, sources[i].address, sources[i].size, &digest);
            compare(&sources[i], there, digest);
            give(&sources[i], FREE);
        }
    spend_since(began);
    errno = saved;
}

void gdx_sources_renew(void)
{
    int saved = errno;
    struct gdx_lane *lane = gdx_on() && atomic_load(&gdx_sources_open) ? gdx_lane() : NULL;
    for (int i = 0; lane && i < PLACES; i++)
        if (atomic_load_explicit(&sources[i].state, memory_order_relaxed) == WATCHED && take(&sources[i]))
            give(&sources[i], look_at(&lane->reader, sources[i].address, sources[i].size, &sources[i].digest) ? WATCHED : FREE);
    errno = saved;
}

/* A place for another one; the oldest goes where there is none. NULL: somebody is at it. */
static struct source *make_place(void)
{
    struct source *one = &sources[atomic_fetch_add(&next_place, 1) % PLACES];
    int none = FREE;
    if (atomic_compare_exchange_strong(&one->state, &none, BUSY)) {
        atomic_fetch_add_explicit(&gdx_sources_open, 1, memory_order_relaxed);
        return one;
    }
    return take(one) ? one : NULL;
}

static struct source *same_address(uint64_t address)
{
    for (int i = 0; i < PLACES; i++)
        if (atomic_load_explicit(&sources[i].state, memory_order_relaxed) == WATCHED && sources[i].address == address
            && take(&sources[i]))
            return &sources[i];
    return NULL;
}

/* The same memory may be watched already: then this is a look at it, too. */
static void watch(const struct gdx_reader *me, uint64_t address, uint64_t size)
{
    uint64_t digest = 0;
    struct source *same = atomic_load(&gdx_sources_open) ? same_address(address) : NULL, *one = same ? same : make_place();
    bool there = one && look_at(me, address, size, &digest);
    if (same && same->size == size)
        compare(same, there, digest);
    if (!one)
        return;
    one->address = address;
    one->size = size;
    one->digest = digest;
    give(one, there ? WATCHED : FREE);
}

void gdx_source_given(const void *address, size_t size)
{
    int saved = errno;
    uint64_t began = gdx_clock_ns(CLOCK_MONOTONIC);
    bool wanted = gdx_on() && address && size, affordable = !wanted || can_afford(began);
    struct gdx_lane *lane = wanted && affordable ? gdx_lane() : NULL;
    if (!affordable)
        gdx_gave_up("The host memory of a copy was not compared, because comparing had taken 2.5% of the run");
    if (lane) {
        watch(&lane->reader, (uint64_t)(uintptr_t)address, size);
        spend_since(began);
    }
    errno = saved;
}
