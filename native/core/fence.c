/* See fence.h. */
#define _GNU_SOURCE
#include "core/fence.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/process.h"
#include "core/recorder.h"

/* Each block takes at least one granule of device memory (2 MB with CUDA), so there are fewer than this. */
enum { BLOCKS_MOST = 1 << 18, RANGES_MOST = 1 << 14, LEAST_ALIGN = 16, MOST_ALIGN = 1 << 20, DEFAULT_ALIGN = 256,
       TOLD_EACH = 64, PATIENCE = 40000 /* about two seconds */ };
static const uint64_t QUARANTINE_MOST = 8ull << 40;  /* bytes of addresses; devices have 47 bits of them or more */

struct table {
    uint32_t count, dead;
    uint32_t turn;                  /* the next block to be looked at */
    uint32_t first, kept;           /* of `ranges`, a ring */
    uint64_t kept_bytes;
    _Atomic uint64_t counts[GDX_FENCE_COUNTS];
    struct gdx_range ranges[RANGES_MOST + 1];
    struct gdx_block blocks[BLOCKS_MOST];  /* by address */
};
static struct table *_Atomic table;

/* ---- policy ---- */

static size_t wanted_align(void)
{
    const char *text = getenv("GPUDX_FENCE_ALIGN");
    size_t align = text ? strtoull(text, NULL, 10) : DEFAULT_ALIGN;
    return align >= LEAST_ALIGN && align <= MOST_ALIGN && !(align & (align - 1)) ? align : DEFAULT_ALIGN;
}

/* Asked at the driver's first appearance, so a program that changes its environment later does not change its mind. */
const struct gdx_fence_policy *gdx_fence_policy(void)
{
    static struct gdx_fence_policy policy;
    static _Atomic int known;  /* 0: not asked yet, 1: no, 2: yes */
    if (!atomic_load(&known)) {
        const char *edge = gdx_directory() ? getenv("GPUDX_FENCE") : NULL;
        bool high = edge && !strcmp(edge, "high"), low = edge && !strcmp(edge, "low");
        policy = (struct gdx_fence_policy){ low ? GDX_EDGE_LOW : GDX_EDGE_HIGH, wanted_align() };
        atomic_store(&known, high || low ? 2 : 1);
    }
    return atomic_load(&known) == 2 ? &policy : NULL;
}

static uint64_t rounded(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

bool gdx_fence_place(struct gdx_block *block, size_t bytes, size_t granule)
{
    const struct gdx_fence_policy *policy = gdx_fence_policy();
    if (!bytes || !granule || granule % policy->align || bytes > QUARANTINE_MOST)
        return false;
    block->bytes = bytes;
    block->granule = granule;
    block->mapped = rounded(bytes, granule);
    block->mapping = granule;
    block->address = granule + (policy->edge == GDX_EDGE_LOW ? 0 : block->mapped - rounded(bytes, policy->align));
    return true;
}

void gdx_fence_move(struct gdx_block *block, uint64_t range)
{
    block->address += range;
    block->mapping += range;
}

struct gdx_range gdx_fence_range(const struct gdx_block *block)
{
    return (struct gdx_range){ block->mapping - block->granule, block->mapped + 2 * block->granule };
}

/* ---- the canary ---- */

struct gdx_range gdx_slack(const struct gdx_block *block, enum gdx_side side)
{
    uint64_t end = block->address + block->bytes;
    uint64_t room = side == GDX_BEFORE ? block->address - block->mapping : block->mapping + block->mapped - end;
    uint64_t bytes = room < GDX_CANARY_MOST ? room : GDX_CANARY_MOST;
    return (struct gdx_range){ side == GDX_BEFORE ? block->address - bytes : end, bytes };
}

/* A word that is made from the block's address (the finaliser of MurmurHash3), so that no two blocks share it. */
static unsigned char canary(const struct gdx_block *block, uint64_t at)
{
    uint64_t word = block->address;
    word = (word ^ word >> 33) * 0xff51afd7ed558ccdull;
    word = (word ^ word >> 33) * 0xc4ceb9fe1a85ec53ull;
    return (unsigned char)((word ^ word >> 33) >> (at % 8 * 8));
}

void gdx_canary_pattern(const struct gdx_block *block, struct gdx_range slack, unsigned char *bytes)
{
    for (uint64_t i = 0; i < slack.bytes; i++)
        bytes[i] = canary(block, slack.address + i);
}

bool gdx_canary_damaged(const struct gdx_block *block, enum gdx_side side, const unsigned char *bytes,
                        struct gdx_damage *damage)
{
    struct gdx_range slack = gdx_slack(block, side);
    uint64_t low = 0, high = slack.bytes;
    while (low < high && bytes[low] == canary(block, slack.address + low))
        low++;
    while (high > low && bytes[high - 1] == canary(block, slack.address + high - 1))
        high--;
    if (low == high)
        return false;
    uint64_t shown = slack.bytes - low < sizeof damage->seen ? slack.bytes - low : sizeof damage->seen;
    *damage = (struct gdx_damage){ side == GDX_BEFORE ? slack.bytes - high : low, high - low, 0 };
    memcpy(&damage->seen, bytes + low, shown);
    return true;
}

/* ---- the table ---- */

static void wipe(void)
{
    memset(atomic_load(&table), 0, sizeof(struct table));
}

static struct table *make_table(void)
{
    struct table *none = NULL;
    struct table *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    if (!atomic_compare_exchange_strong(&table, &none, made)) {
        munmap(made, sizeof *made);  /* another thread was faster */
        return none;
    }
    if (madvise(made, sizeof *made, MADV_WIPEONFORK) < 0)
        pthread_atfork(NULL, NULL, wipe);  /* before Linux 4.14 */
    return made;
}

bool gdx_blocks_ready(void)
{
    return gdx_on() && (atomic_load(&table) || make_table());
}

uint32_t gdx_blocks(void)
{
    struct table *t = atomic_load_explicit(&table, memory_order_relaxed);
    return t ? __atomic_load_n(&t->count, __ATOMIC_RELAXED) : 0;
}

/* The place of the first block that begins behind `address`. With the lock held, like all that follows. */
static uint32_t behind(const struct table *t, uint64_t address)
{
    uint32_t low = 0, high = t->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (t->blocks[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct gdx_block *find(struct table *t, uint64_t address)
{
    uint32_t at = behind(t, address);
    return at && t->blocks[at - 1].address == address ? &t->blocks[at - 1] : NULL;
}

static void remove_block(struct table *t, struct gdx_block *block)
{
    uint32_t at = (uint32_t)(block - t->blocks);
    t->dead -= block->flags & GDX_BLOCK_DEAD ? 1 : 0;
    memmove(block, block + 1, (t->count - at - 1) * sizeof *block);
    __atomic_store_n(&t->count, t->count - 1, __ATOMIC_RELAXED);
    if (t->turn > at)
        t->turn--;
}

bool gdx_block_add(const struct gdx_block *block)
{
    struct gdx_calm calm;
    struct table *t = atomic_load(&table);
    gdx_lock(GDX_LOCK_FENCE, &calm);
    bool room = t->count < BLOCKS_MOST;
    if (room) {
        uint32_t at = behind(t, block->address);
        memmove(&t->blocks[at + 1], &t->blocks[at], (t->count - at) * sizeof *block);
        t->blocks[at] = *block;
        t->blocks[at].users = 0;
        t->dead += block->flags & GDX_BLOCK_DEAD ? 1 : 0;
        __atomic_store_n(&t->count, t->count + 1, __ATOMIC_RELAXED);
        if (t->turn > at)
            t->turn++;
    }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return room;
}

typedef bool fits(const struct gdx_block *block, uint64_t value);

static bool is_dead_of(const struct gdx_block *block, uint64_t context)
{
    return block->context == context && block->flags & GDX_BLOCK_DEAD;
}

static bool is_of(const struct gdx_block *block, uint64_t context)
{
    return block->context == context;
}

static bool take_first(fits *good, uint64_t value, struct gdx_block *block)
{
    struct gdx_calm calm;
    struct table *t = atomic_load(&table);
    bool found = false;
    if (!gdx_blocks())
        return false;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    for (uint32_t i = 0; !found && i < t->count; i++)
        if (good(&t->blocks[i], value) && !t->blocks[i].users) {
            *block = t->blocks[i];
            remove_block(t, &t->blocks[i]);
            found = true;
        }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return found;
}

bool gdx_block_take_dead(uint64_t context, struct gdx_block *block)
{
    struct table *t = atomic_load(&table);
    return t && __atomic_load_n(&t->dead, __ATOMIC_RELAXED) && take_first(is_dead_of, context, block);
}

bool gdx_block_take_any(uint64_t context, struct gdx_block *block)
{
    return take_first(is_of, context, block);
}

enum { BUSY = GDX_LEFT_DEAD + 1 };  /* somebody looks at it just now */

static int try_take(uint64_t address, uint16_t flags, bool patient, struct gdx_block *block)
{
    struct gdx_calm calm;
    struct table *t = atomic_load(&table);
    int result = GDX_NOT_THERE;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    struct gdx_block *found = find(t, address);
    if (found && (found->flags & flags) == flags && !(found->flags & GDX_BLOCK_DEAD)) {
        *block = *found;
        result = !found->users ? GDX_TAKEN : patient ? BUSY : GDX_LEFT_DEAD;
        if (result == GDX_TAKEN)
            remove_block(t, found);
        if (result == GDX_LEFT_DEAD) {
            found->flags |= GDX_BLOCK_DEAD;
            t->dead++;
        }
    }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return result;
}

enum gdx_taken gdx_block_take(uint64_t address, uint16_t flags, struct gdx_block *block)
{
    int result = gdx_blocks() ? try_take(address, flags, true, block) : GDX_NOT_THERE;
    for (unsigned tries = 0; result == BUSY; tries++) {
        gdx_wait(tries);
        result = try_take(address, flags, tries < PATIENCE, block);
    }
    return (enum gdx_taken)result;
}

bool gdx_block_holding(uint64_t address, struct gdx_block *block)
{
    struct gdx_calm calm;
    struct table *t = atomic_load(&table);
    if (!gdx_blocks())
        return false;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    uint32_t at = behind(t, address);
    const struct gdx_block *below = at ? &t->blocks[at - 1] : NULL;
    bool found = below && address - below->address < below->bytes && !(below->flags & GDX_BLOCK_DEAD);
    if (found)
        *block = *below;
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return found;
}

bool gdx_block_number(uint32_t number, struct gdx_block *block)
{
    struct gdx_calm calm;
    struct table *t = atomic_load(&table);
    if (number >= gdx_blocks())
        return false;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    bool found = number < t->count;
    if (found)
        *block = t->blocks[number];
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return found;
}

uint32_t gdx_blocks_borrow(uint64_t context, struct gdx_block *blocks, uint32_t room)
{
    struct gdx_calm calm;
    struct table *t = atomic_load(&table);
    uint32_t found = 0;
    if (!gdx_blocks())
        return 0;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    uint32_t seen = 0, at = t->turn;
    for (; seen < t->count && found < room; seen++) {
        at = at < t->count ? at : 0;
        struct gdx_block *one = &t->blocks[at++];
        if (one->context != context || one->flags & GDX_BLOCK_DEAD)
            continue;
        one->users++;
        blocks[found++] = *one;
    }
    t->turn = at;
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return found;
}

void gdx_blocks_give_back(const struct gdx_block *blocks, uint32_t count, const uint64_t *clean)
{
    struct gdx_calm calm;
    struct table *t = atomic_load(&table);
    gdx_lock(GDX_LOCK_FENCE, &calm);
    for (uint32_t i = 0; i < count; i++) {
        struct gdx_block *one = find(t, blocks[i].address);
        if (one && one->users) {
            one->users--;
            one->clean = clean[i] > one->clean ? clean[i] : one->clean;
        }
    }
    gdx_unlock(GDX_LOCK_FENCE, &calm);
}

void gdx_blocks_forget(void)
{
    struct gdx_calm calm;
    struct table *t = atomic_load(&table);
    if (!t)
        return;
    gdx_lock(GDX_LOCK_FENCE, &calm);
    t->count = t->dead = t->turn = t->first = t->kept = 0;
    t->kept_bytes = 0;
    gdx_unlock(GDX_LOCK_FENCE, &calm);
}

/* ---- the quarantine ---- */

bool gdx_quarantine(const struct gdx_range *range, struct gdx_range *oldest)
{
    struct gdx_calm calm;
    struct table *t = atomic_load(&table);
    gdx_lock(GDX_LOCK_FENCE, &calm);
    if (range) {
        t->ranges[(t->first + t->kept++) % (RANGES_MOST + 1)] = *range;
        t->kept_bytes += range->bytes;
    }
    bool over = t->kept > RANGES_MOST || t->kept_bytes > QUARANTINE_MOST;
    if (over) {
        *oldest = t->ranges[t->first];
        t->first = (t->first + 1) % (RANGES_MOST + 1);
        t->kept--;
        t->kept_bytes -= oldest->bytes;
    }
    atomic_store(&t->counts[GDX_QUARANTINED], t->kept_bytes);
    gdx_unlock(GDX_LOCK_FENCE, &calm);
    return over;
}

/* ---- counts ---- */

static void note(struct table *t)
{
    const struct gdx_fence_policy *policy = gdx_fence_policy();
    uint64_t now[GDX_FENCE_COUNTS], numbers[2 + GDX_FENCE_COUNTS - GDX_GRANULE] = { policy->edge, policy->align };
    for (int i = 0; i < GDX_FENCE_COUNTS; i++)
        now[i] = atomic_load(&t->counts[i]);
    memcpy(numbers + 2, now + GDX_GRANULE, (GDX_FENCE_COUNTS - GDX_GRANULE) * sizeof *now);
    gdx_note(GDX_CALL_note_fence, now, GDX_GRANULE, (struct gdx_text){ 0 }, (struct gdx_text){ 0 }, numbers,
             sizeof numbers / sizeof *numbers);
}
_Static_assert(GDX_GRANULE == GDX_WORDS, "the words of note_fence");

/* What is fenced says so in its own record; of the rest each one is news, until there are many. */
static bool is_news(enum gdx_fence_count what, uint64_t count)
{
    bool usual = what == GDX_FENCED || what == GDX_CHECKS;
    return usual ? count == 1 : count <= TOLD_EACH || !(count & (count - 1));
}

void gdx_fence_counted(enum gdx_fence_count what)
{
    struct table *t = atomic_load(&table);
    if (t && is_news(what, atomic_fetch_add(&t->counts[what], 1) + 1) && gdx_on())
        note(t);
}

void gdx_fence_granule(uint64_t granule)
{
    struct table *t = atomic_load(&table);
    if (t)
        atomic_store(&t->counts[GDX_GRANULE], granule);
}

/* Not in a forked child that has no fences of its own: it would get a trace for this alone. */
__attribute__((destructor)) static void leave(void)
{
    struct table *t = atomic_load(&table);
    uint64_t any = 0;
    for (int i = GDX_FENCED; t && i <= GDX_UNFENCED_other; i++)
        any += atomic_load(&t->counts[i]);
    if (any && gdx_on())
        note(t);
}
