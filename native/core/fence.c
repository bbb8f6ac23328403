/* See fence.h. */
#define _GNU_SOURCE
#include "core/fence.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/gave_up.h"
#include "core/process.h"

enum { ALIGN_MOST = 1 << 20, NOTES_MOST = 256, PATIENCE = 40000 /* about two seconds */,
       SHARE = 16, FREE_NS = 50000000 /* of looking, before it is compared with the run's time */, AWAKE_NS = 200000 };
static const uint64_t PATIENCE_NS = 2000000000ull;

/* ---- what was asked for ---- */

_Atomic int gdx_fence_setting GDX_HOT_DATA = -1;
static uint64_t asked_align;

/* Asked once, so a program that changes its environment later does not change our mind. */
enum gdx_edge gdx_fence_read(void)
{
    if (!environ)
        return GDX_EDGE_NONE;  /* before the C library's own constructor; asked again later */
    const char *edge = gdx_directory() ? getenv("GPUDX_FENCE") : NULL, *align = getenv("GPUDX_FENCE_ALIGN");
    static const char *const names[] = { [GDX_EDGE_HIGH] = "high", [GDX_EDGE_LOW] = "low", [GDX_EDGE_RED] = "red" };
    enum gdx_edge found = GDX_EDGE_NONE;
    for (int i = GDX_EDGE_HIGH; edge && i <= GDX_EDGE_RED; i++)
        found = strcmp(edge, names[i]) ? found : (enum gdx_edge)i;
    uint64_t asked = align ? strtoull(align, NULL, 10) : 0;
    __atomic_store_n(&asked_align, asked <= ALIGN_MOST && !(asked & (asked - 1)) ? asked : 0, __ATOMIC_RELAXED);
    atomic_store(&gdx_fence_setting, found);
    return found;
}

uint64_t gdx_fence_align(uint64_t promised, uint64_t least)
{
    uint64_t asked = __atomic_load_n(&asked_align, __ATOMIC_RELAXED);
    return !asked ? promised : asked > least ? asked : least;
}

/* ---- a block ---- */

static uint64_t rounded(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

bool gdx_fence_place(struct gdx_block *block, uint64_t bytes, uint64_t align, uint64_t granule, uint64_t guard)
{
    if (!bytes || !align || granule % align || bytes > UINT64_MAX / 8 || guard > UINT64_MAX / 8)
        return false;
    block->bytes = bytes;
    block->align = align;
    block->guard = rounded(guard, granule);
    block->mapping = block->guard;
    block->mapped = rounded(bytes, granule);
    block->address = block->mapping + (gdx_fence_edge() == GDX_EDGE_LOW ? 0 : block->mapped - rounded(bytes, align));
    return true;
}

void gdx_red_place(struct gdx_block *block, uint64_t address, uint64_t bytes)
{
    block->address = block->mapping = address;
    block->bytes = bytes;
    block->mapped = bytes + GDX_RED_ZONE;
    block->align = 1;
    block->flags |= GDX_BLOCK_RED;
}

void gdx_fence_move(struct gdx_block *block, uint64_t range)
{
    block->address += range;
    block->mapping += range;
}

struct gdx_range gdx_fence_range(const struct gdx_block *block)
{
    return (struct gdx_range){ block->mapping - block->guard, block->mapped + 2 * block->guard };
}

/* ---- the canary ---- */

struct gdx_range gdx_slack(const struct gdx_block *block, enum gdx_side side, uint64_t reach)
{
    uint64_t end = block->address + block->bytes;
    uint64_t room = side == GDX_BEFORE ? block->address - block->mapping : block->mapping + block->mapped - end;
    uint64_t bytes = room < reach ? room : reach;
    return (struct gdx_range){ side == GDX_BEFORE ? block->address - bytes : end, bytes };
}

static unsigned char canary(uint64_t address)
{
    uint64_t word = address / 8 * 0x9e3779b97f4a7c15ull;
    word ^= word >> 32;
    return (unsigned char)(word >> address % 8 * 8);
}

void gdx_canary_fill(void *room, struct gdx_range slack)
{
    for (uint64_t i = 0; i < slack.bytes; i++)
        ((unsigned char *)room)[i] = canary(slack.address + i);
}

bool gdx_canary_damaged(const void *room, struct gdx_range slack, struct gdx_damage *damage)
{
    const unsigned char *bytes = room;
    uint64_t low = 0, high = slack.bytes;
    while (low < high && bytes[low] == canary(slack.address + low))
        low++;
    while (high > low && bytes[high - 1] == canary(slack.address + high - 1))
        high--;
    if (low == high)
        return false;
    *damage = (struct gdx_damage){ slack.address + low, high - low, 0 };
    memcpy(&damage->seen, bytes + low, high - low < sizeof damage->seen ? high - low : sizeof damage->seen);
    return true;
}

/* ---- the table ---- */

/* All of it is wiped in a forked child: no pointers in it. `ranges` and `blocks` follow it. */
struct gdx_block_table {
    uint32_t count, dead, slack;    /* blocks; of these dead, and with slack */
    uint32_t turn;                  /* the next block to be looked at */
    uint32_t first, kept;           /* of `ranges`, a ring with room for one more than may be kept */
    uint64_t bytes, kept_bytes;     /* of addresses: of the blocks, and in the quarantine */
    _Atomic uint64_t counts[GDX_COUNTS], untold[GDX_COUNTS];
    _Atomic uint32_t notes;
};

enum { TABLES = 8 };
static struct gdx_fences *_Atomic every[TABLES];

static struct gdx_block_table *table_of(struct gdx_fences *fences)
{
    return atomic_load_explicit(&fences->table, memory_order_acquire);
}

static struct gdx_range *ranges_of(struct gdx_block_table *t)
{
    return (struct gdx_range *)(t + 1);
}

static struct gdx_block *blocks_of(struct gdx_fences *fences)  /* by address */
{
    return (struct gdx_block *)(ranges_of(table_of(fences)) + fences->ranges_most + 1);
}

static size_t size_of(const struct gdx_fences *fences)
{
    return sizeof(struct gdx_block_table) + (fences->ranges_most + 1) * sizeof(struct gdx_range)
        + fences->blocks_most * sizeof(struct gdx_block);
}

static void wipe(void)
{
    for (int i = 0; i < TABLES && atomic_load(&every[i]); i++)
        memset(table_of(every[i]), 0, size_of(every[i]));
}

static void enter(struct gdx_fences *fences)
{
    struct gdx_fences *none = NULL;
    for (int i = 0; i < TABLES && !atomic_compare_exchange_strong(&every[i], &none, fences); i++)
        none = NULL;
}

static bool make_table(struct gdx_fences *fences)
{
    struct gdx_block_table *none = NULL;
    size_t size = size_of(fences);
    void *made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return false;
    if (!atomic_compare_exchange_strong(&fences->table, &none, (struct gdx_block_table *)made)) {
        munmap(made, size);  /* another thread was faster */
        return true;
    }
    enter(fences);
    if (madvise(made, size, MADV_WIPEONFORK) < 0)
        pthread_atfork(NULL, NULL, wipe);  /* before Linux 4.14 */
    return true;
}

bool gdx_blocks_ready(struct gdx_fences *fences)
{
    return gdx_on() && (table_of(fences) || make_table(fences));
}

uint32_t gdx_blocks(struct gdx_fences *fences)
{
    struct gdx_block_table *t = table_of(fences);
    return t ? __atomic_load_n(&t->count, __ATOMIC_RELAXED) : 0;
}

uint64_t gdx_blocks_bytes(struct gdx_fences *fences)
{
    struct gdx_block_table *t = table_of(fences);
    return t ? __atomic_load_n(&t->bytes, __ATOMIC_RELAXED) + __atomic_load_n(&t->kept_bytes, __ATOMIC_RELAXED) : 0;
}

/* The place of the first block that begins behind `address`. With the lock held, like all that follows. */
static uint32_t behind(struct gdx_fences *fences, uint64_t address)
{
    uint32_t low = 0, high = table_of(fences)->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (blocks_of(fences)[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct gdx_block *find(struct gdx_fences *fences, uint64_t address)
{
    uint32_t at = behind(fences, address);
    struct gdx_block *below = at ? &blocks_of(fences)[at - 1] : NULL;
    return below && below->address == address ? below : NULL;
}

static bool has_slack(const struct gdx_block *block)
{
    return block->mapped != block->bytes;
}

/* One more or one less of such a block; some of the numbers are read without the lock. */
static void tally(struct gdx_block_table *t, const struct gdx_block *block, uint32_t change)
{
    uint64_t bytes = gdx_fence_range(block).bytes;
    __atomic_store_n(&t->count, t->count + change, __ATOMIC_RELAXED);
    __atomic_store_n(&t->dead, t->dead + (block->flags & GDX_BLOCK_DEAD ? change : 0), __ATOMIC_RELAXED);
    __atomic_store_n(&t->slack, t->slack + (has_slack(block) ? change : 0), __ATOMIC_RELAXED);
    __atomic_store_n(&t->bytes, change == 1 ? t->bytes + bytes : t->bytes - bytes, __ATOMIC_RELAXED);
}

static void remove_block(struct gdx_fences *fences, struct gdx_block *block)
{
    struct gdx_block_table *t = table_of(fences);
    uint32_t at = (uint32_t)(block - blocks_of(fences));
    tally(t, block, -1u);
    memmove(block, block + 1, (t->count - at) * sizeof *block);
    if (t->turn > at)
        t->turn--;
}

static void insert_block(struct gdx_fences *fences, const struct gdx_block *block)
{
    struct gdx_block_table *t = table_of(fences);
    uint32_t at = behind(fences, block->address);
    struct gdx_block *place = &blocks_of(fences)[at];
    memmove(place + 1, place, (t->count - at) * sizeof *place);
    *place = *block;
    place->users = 0;
    tally(t, block, 1);
    if (t->turn > at)
        t->turn++;
}

bool gdx_block_add(struct gdx_fences *fences, const struct gdx_block *block)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    bool room = table_of(fences)->count < fences->blocks_most;
    if (room)
        insert_block(fences, block);
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return room;
}

/* ---- finding ---- */

typedef bool fits(const struct gdx_block *block, uint64_t owner);

static bool is_dead_of(const struct gdx_block *block, uint64_t owner)
{
    return block->owner == owner && block->flags & GDX_BLOCK_DEAD && !block->users;
}

static bool is_live_of(const struct gdx_block *block, uint64_t owner)
{
    return block->owner == owner && !(block->flags & GDX_BLOCK_DEAD);
}

static bool is_idle_of(const struct gdx_block *block, uint64_t owner)
{
    return block->owner == owner && !block->users;
}

static bool first_that(struct gdx_fences *fences, fits *good, uint64_t owner, bool take, struct gdx_block *block)
{
    struct gdx_calm calm;
    bool found = false;
    if (!gdx_blocks(fences))
        return false;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    for (uint32_t i = 0; !found && i < table_of(fences)->count; i++) {
        struct gdx_block *one = &blocks_of(fences)[i];
        if ((found = good(one, owner))) {
            *block = *one;
            if (take)
                remove_block(fences, one);
        }
    }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return found;
}

bool gdx_block_take_dead(struct gdx_fences *fences, uint64_t owner, struct gdx_block *block)
{
    struct gdx_block_table *t = table_of(fences);
    return t && __atomic_load_n(&t->dead, __ATOMIC_RELAXED) && first_that(fences, is_dead_of, owner, true, block);
}

bool gdx_block_take_any(struct gdx_fences *fences, uint64_t owner, struct gdx_block *block)
{
    return first_that(fences, is_idle_of, owner, true, block);
}

bool gdx_block_owned(struct gdx_fences *fences, uint64_t owner, struct gdx_block *block)
{
    return first_that(fences, is_live_of, owner, false, block);
}

enum { BUSY = GDX_LEFT_DEAD + 1 };  /* somebody looks at it just now */

static int try_take(struct gdx_fences *fences, uint64_t address, uint16_t flags, bool patient, struct gdx_block *block)
{
    struct gdx_calm calm;
    int result = GDX_NOT_THERE;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    struct gdx_block *found = find(fences, address);
    if (found && (found->flags & flags) == flags && !(found->flags & GDX_BLOCK_DEAD)) {
        *block = *found;
        result = !found->users ? GDX_TAKEN : patient ? BUSY : GDX_LEFT_DEAD;
        if (result == GDX_TAKEN)
            remove_block(fences, found);
        if (result == GDX_LEFT_DEAD) {
            found->flags |= GDX_BLOCK_DEAD;
            table_of(fences)->dead++;
        }
    }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return result;
}

enum gdx_taken gdx_block_take(struct gdx_fences *fences, uint64_t address, uint16_t flags, struct gdx_block *block)
{
    int result = gdx_blocks(fences) ? try_take(fences, address, flags, true, block) : GDX_NOT_THERE;
    for (unsigned tries = 0; result == BUSY; tries++) {
        gdx_wait(tries);
        result = try_take(fences, address, flags, tries < PATIENCE, block);
    }
    if (result == GDX_LEFT_DEAD)
        gdx_gave_up("The bytes beside a buffer were not compared when it was freed, because another comparison took more than 2 s");
    return (enum gdx_taken)result;
}

bool gdx_block_holding(struct gdx_fences *fences, uint64_t address, struct gdx_block *block)
{
    struct gdx_calm calm;
    if (!gdx_blocks(fences))
        return false;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    uint32_t at = behind(fences, address);
    const struct gdx_block *below = at ? &blocks_of(fences)[at - 1] : NULL;
    bool found = below && address - below->address < below->bytes && !(below->flags & GDX_BLOCK_DEAD);
    if (found)
        *block = *below;
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return found;
}

bool gdx_block_at(struct gdx_fences *fences, uint64_t address, struct gdx_block *block)
{
    return gdx_block_holding(fences, address, block) && block->address == address;
}

int64_t gdx_block_refer(struct gdx_fences *fences, uint64_t address, int change)
{
    struct gdx_calm calm;
    int64_t left = -1;
    if (!gdx_blocks(fences))
        return left;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    struct gdx_block *found = find(fences, address);
    if (found && !(found->flags & GDX_BLOCK_DEAD) && found->references)
        left = found->references += (uint32_t)change;
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return left;
}

bool gdx_block_number(struct gdx_fences *fences, uint32_t number, struct gdx_block *block)
{
    struct gdx_calm calm;
    if (number >= gdx_blocks(fences))
        return false;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    bool found = number < table_of(fences)->count;
    if (found)
        *block = blocks_of(fences)[number];
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return found;
}

/* ---- looking ---- */

static bool worth_a_look(const struct gdx_block *block, uint64_t owner)
{
    bool theirs = !owner || block->owner == owner;
    return theirs && !block->users && !(block->flags & GDX_BLOCK_DEAD) && has_slack(block);
}

uint32_t gdx_blocks_borrow(struct gdx_fences *fences, uint64_t owner, struct gdx_block *blocks, uint32_t room)
{
    struct gdx_calm calm;
    struct gdx_block_table *t = table_of(fences);
    uint32_t found = 0;
    if (!t || !__atomic_load_n(&t->slack, __ATOMIC_RELAXED))
        return 0;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    uint32_t at = t->turn;
    for (uint32_t seen = 0; seen < t->count && found < room; seen++) {
        at = at < t->count ? at : 0;
        struct gdx_block *one = &blocks_of(fences)[at++];
        if (!worth_a_look(one, owner))
            continue;
        one->users++;
        blocks[found++] = *one;
    }
    t->turn = at;
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return found;
}

bool gdx_block_borrow(struct gdx_fences *fences, uint64_t address, struct gdx_block *block)
{
    struct gdx_calm calm;
    if (!gdx_blocks(fences))
        return false;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    struct gdx_block *one = find(fences, address);
    bool found = one && worth_a_look(one, 0);
    if (found) {
        one->users++;
        *block = *one;
    }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return found;
}

void gdx_blocks_return(struct gdx_fences *fences, const struct gdx_block *blocks, uint32_t count)
{
    struct gdx_calm calm;
    if (!count)
        return;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    for (uint32_t i = 0; i < count; i++) {
        struct gdx_block *one = find(fences, blocks[i].address);
        if (one && one->users) {
            one->users--;
            one->clean = blocks[i].clean > one->clean ? blocks[i].clean : one->clean;
        }
    }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
}

void gdx_blocks_forget(struct gdx_fences *fences)
{
    struct gdx_calm calm;
    struct gdx_block_table *t = table_of(fences);
    atomic_store(&fences->slack, 0);
    if (!t)
        return;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    t->count = t->dead = t->slack = t->turn = t->first = t->kept = 0;
    t->bytes = t->kept_bytes = 0;
    gdx_unlock(GDX_LOCK_FENCE, &calm);
}

/* ---- slack ---- */

enum { SLACK_SHARE = 4 };

bool gdx_slack_take(struct gdx_fences *fences, const struct gdx_block *block, uint64_t memory)
{
    uint64_t more = block->mapped - block->bytes;
    if (atomic_fetch_add(&fences->slack, more) + more <= memory / SLACK_SHARE)
        return true;
    gdx_slack_return(fences, block);
    return false;
}

void gdx_slack_return(struct gdx_fences *fences, const struct gdx_block *block)
{
    atomic_fetch_sub(&fences->slack, block->mapped - block->bytes);
}

/* ---- the quarantine ---- */

static void note_given_back(struct gdx_range range);

/* With the lock held. */
static struct gdx_range take_oldest(struct gdx_fences *fences)
{
    struct gdx_block_table *t = table_of(fences);
    struct gdx_range oldest = ranges_of(t)[t->first];
    t->first = (t->first + 1) % (fences->ranges_most + 1);
    t->kept--;
    __atomic_store_n(&t->kept_bytes, t->kept_bytes - oldest.bytes, __ATOMIC_RELAXED);
    return oldest;
}

static bool is_over(const struct gdx_fences *fences, const struct gdx_block_table *t)
{
    return t->kept > fences->ranges_most || t->kept_bytes > fences->bytes_most;
}

/* Puts a range in, if there is one, and gives the oldest back; `if_over`: only where there are too many. */
static bool turn_over(struct gdx_fences *fences, const struct gdx_range *more, bool if_over)
{
    struct gdx_calm calm;
    struct gdx_range oldest = { 0, 0 };
    struct gdx_block_table *t = table_of(fences);
    if (!t)
        return false;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    if (more) {
        ranges_of(t)[(t->first + t->kept++) % (fences->ranges_most + 1)] = *more;
        __atomic_store_n(&t->kept_bytes, t->kept_bytes + more->bytes, __ATOMIC_RELAXED);
    }
    bool found = t->kept && (!if_over || is_over(fences, t));
    if (found)
        oldest = take_oldest(fences);
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    if (!found)
        return false;
    note_given_back(oldest);  /* before anybody can be given these addresses again */
    fences->give_back(oldest);
    return true;
}

bool gdx_quarantine_less(struct gdx_fences *fences)
{
    return turn_over(fences, NULL, false);
}

void gdx_quarantine(struct gdx_fences *fences, struct gdx_range range)
{
    for (bool over = turn_over(fences, &range, true); over; over = turn_over(fences, NULL, true))
        continue;
}

/* ---- time ---- */

/* What looking costs is the thread's own time: on a busy machine a look that was interrupted for long would seem dear, and those
 * after it would be left out. */
static _Atomic uint64_t looking;  /* ns that went into it */

uint64_t gdx_look_begins(struct gdx_fences *fences)
{
    static _Atomic uint64_t first;
    uint64_t none = 0, now = gdx_clock_ns(CLOCK_MONOTONIC);
    atomic_compare_exchange_strong(&first, &none, now);
    if (atomic_load(&looking) * SHARE <= now - atomic_load(&first) + FREE_NS)
        return gdx_clock_ns(CLOCK_THREAD_CPUTIME_ID) | 1;
    gdx_fence_count(fences, GDX_COUNT_SKIPPED);
    return 0;
}

void gdx_look_ended(uint64_t began)
{
    uint64_t now = gdx_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    atomic_fetch_add(&looking, now > began ? now - began : 0);
}

int gdx_ask_patiently(int (*ask)(void *queue), void *queue, int busy)
{
    const struct timespec pause = { .tv_nsec = 20000 };
    uint64_t began = gdx_clock_ns(CLOCK_MONOTONIC), now = began;
    int answer = ask(queue);
    while (answer == busy && now < began + PATIENCE_NS) {
        if (now >= began + AWAKE_NS)
            nanosleep(&pause, NULL);
        answer = ask(queue);
        now = gdx_clock_ns(CLOCK_MONOTONIC);
    }
    return answer;
}

/* ---- notes ---- */

static const struct gdx_text nothing;

void gdx_fence_note(const struct gdx_block *block, uint64_t object, enum gdx_block_state state)
{
    bool red = block->flags & GDX_BLOCK_RED;
    struct gdx_range range = red ? (struct gdx_range){ block->address, 0 } : gdx_fence_range(block);
    const uint64_t words[] = { object, block->address, block->bytes, range.address, range.address + range.bytes, state,
                               block->align, red ? GDX_EDGE_RED : gdx_fence_edge(), block->flags & GDX_BLOCK_ON_HOST ? 1 : 0 };
    gdx_note(GDX_CALL_note_fence_block, words, sizeof words / sizeof *words, nothing, nothing, NULL, 0);
}

static void note_given_back(struct gdx_range range)
{
    const uint64_t words[] = { 0, 0, 0, range.address, range.address + range.bytes, GDX_BLOCK_GIVEN_BACK };
    gdx_note(GDX_CALL_note_fence_block, words, sizeof words / sizeof *words, nothing, nothing, NULL, 0);
}

void gdx_fence_note_missing(uint64_t object, uint64_t size, const char *why)
{
    const uint64_t words[] = { object, size };
    gdx_note(GDX_CALL_note_not_fenced, words, 2, (struct gdx_text){ why, strlen(why) }, nothing, NULL, 0);
}

void gdx_fence_note_damage(struct gdx_fences *fences, const struct gdx_block *block, const struct gdx_damage *damage)
{
    const uint64_t words[] = { block->address, block->bytes, damage->address - block->address, damage->bytes,
                               damage->seen, block->clean };
    gdx_fence_count(fences, GDX_COUNT_DAMAGED);
    if (atomic_fetch_add(&table_of(fences)->notes, 1) < NOTES_MOST)
        gdx_note(GDX_CALL_note_canary, words, sizeof words / sizeof *words, nothing, nothing, NULL, 0);
}

static void note_counts(struct gdx_block_table *t)
{
    uint64_t words[GDX_COUNTS];
    for (int i = 0; i < GDX_COUNTS; i++)
        words[i] = atomic_exchange(&t->untold[i], 0);
    gdx_note(GDX_CALL_note_fence, words, GDX_COUNTS, nothing, nothing, NULL, 0);
}

static void count_more(struct gdx_block_table *t, enum gdx_fence_count what, uint64_t before, uint64_t more)
{
    atomic_fetch_add(&t->untold[what], more);
    if ((before ^ (before + more)) > before && gdx_on())  /* past a power of two */
        note_counts(t);
}

void gdx_fence_count(struct gdx_fences *fences, enum gdx_fence_count what)
{
    struct gdx_block_table *t = table_of(fences);
    if (t)
        count_more(t, what, atomic_fetch_add(&t->counts[what], 1), 1);
}

void gdx_fence_extra(struct gdx_fences *fences, uint64_t bytes)
{
    struct gdx_block_table *t = table_of(fences);
    uint64_t now = bytes >> 20, most = t ? atomic_load(&t->counts[GDX_COUNT_EXTRA_MB]) : now;
    while (now > most)
        if (atomic_compare_exchange_weak(&t->counts[GDX_COUNT_EXTRA_MB], &most, now)) {
            count_more(t, GDX_COUNT_EXTRA_MB, most, now - most);
            return;
        }
}

/* Not in a forked child that has no fences of its own: it would get a trace for this alone. */
__attribute__((destructor)) static void leave(void)
{
    for (int i = 0; i < TABLES && atomic_load(&every[i]); i++) {
        struct gdx_block_table *t = table_of(every[i]);
        uint64_t any = 0;
        for (int c = 0; c < GDX_COUNTS; c++)
            any += atomic_load(&t->untold[c]);
        if (any && gdx_on())
            note_counts(t);
    }
}
