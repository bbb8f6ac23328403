/* Device memory: one reserved range of addresses, in which only live allocations are mapped. Addresses are not used again. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "sim.h"

enum { PAGE = 4096, MOST = 65536 };
static const size_t range_bytes = (size_t)1 << 38;

/* `granted`: of mapped memory, a bit for each device that may access it; 0: memory of hipMalloc and its like. */
static struct { uintptr_t base; size_t size; int device; unsigned granted; bool live, mapped, retired; } blocks[MOST];
static int count;
static uintptr_t next, end;
static bool peers[SIM_DEVICES][SIM_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool reserve(void)
{
    if (end)
        return true;
    void *at = mmap(NULL, range_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return false;
    next = (uintptr_t)at + PAGE;
    end = (uintptr_t)at + range_bytes;
    return true;
}

static uintptr_t next_start(void)
{
    return end ? end - range_bytes : 0;
}

/* Between two allocations. */
static size_t gap(void)
{
    long bytes = 64 << 10;
    sim_number("GPUDX_HIP_SIM_GAP", &bytes);
    return (size_t)bytes;
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

void *sim_allocate(size_t bytes, int device)
{
    void *result = NULL;
    pthread_mutex_lock(&lock);
    size_t room = whole_pages(bytes);
    if (reserve() && count < MOST && room + gap() < end - next && !mprotect((void *)next, room, PROT_READ | PROT_WRITE)) {
        result = (void *)next;
        blocks[count].base = next;
        blocks[count].size = bytes;
        blocks[count].device = device;
        blocks[count++].live = true;
        next += room + gap();
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static bool release(const void *address, bool mapped)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count && !found; i++) {
        found = blocks[i].live && blocks[i].base == (uintptr_t)address && blocks[i].mapped == mapped;
        if (!found)
            continue;
        blocks[i].live = blocks[i].retired = false;
        madvise((void *)blocks[i].base, whole_pages(blocks[i].size), MADV_DONTNEED);
        mprotect((void *)blocks[i].base, whole_pages(blocks[i].size), PROT_NONE);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

bool sim_release(const void *address)
{
    return release(address, false);
}

bool sim_retire(const void *address)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count && !found; i++) {
        found = blocks[i].live && !blocks[i].mapped && !blocks[i].retired && blocks[i].base == (uintptr_t)address;
        blocks[i].retired |= found;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void sim_revive(const void *address)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; i++) {
        if (blocks[i].base != (uintptr_t)address || blocks[i].mapped)
            continue;
        blocks[i].live = blocks[i].live || !mprotect((void *)blocks[i].base, whole_pages(blocks[i].size), PROT_READ | PROT_WRITE);
        blocks[i].retired = false;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- memory of the host ---- */

enum { REGISTERED = 1024 };
static struct { uintptr_t base; size_t size; } registered[REGISTERED];

bool sim_register(const void *host, size_t bytes)
{
    int place = -1;
    bool free = true;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < REGISTERED && free; i++) {
        place = place < 0 && !registered[i].size ? i : place;
        free = !registered[i].size || (uintptr_t)host >= registered[i].base + registered[i].size || (uintptr_t)host + bytes <= registered[i].base;
    }
    if (free && place >= 0) {
        registered[place].base = (uintptr_t)host;
        registered[place].size = bytes;
    }
    pthread_mutex_unlock(&lock);
    return free;
}

bool sim_unregister(const void *host)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < REGISTERED && !found; i++) {
        found = registered[i].size && registered[i].base == (uintptr_t)host;
        registered[i].size = found ? 0 : registered[i].size;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static bool is_registered(uintptr_t address)
{
    for (int i = 0; i < REGISTERED; i++)
        if (address - registered[i].base < registered[i].size)
            return true;
    return false;
}

/* ---- mappings ---- */

/* Outside of our range they are free if nothing else is mapped there. */
static void *reserved_at(uintptr_t wanted, size_t bytes)
{
    bool inside = wanted >= next && wanted < end && bytes < end - wanted;
    if (inside) {
        next = wanted + bytes;
        return (void *)wanted;
    }
    if (!wanted || (wanted < end && wanted + bytes > next_start()))
        return NULL;
    void *at = mmap((void *)wanted, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

void *sim_reserve(size_t bytes, void *wanted)
{
    void *result = NULL;
    pthread_mutex_lock(&lock);
    if (reserve() && !(result = reserved_at((uintptr_t)wanted, bytes))) {
        next = (next + SIM_GRANULE - 1) & ~(uintptr_t)(SIM_GRANULE - 1);
        result = bytes < end - next ? (void *)next : NULL;
        next += result ? bytes : 0;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

bool sim_map(void *address, size_t bytes, int device)
{
    pthread_mutex_lock(&lock);
    bool room = count < MOST;
    if (room) {
        blocks[count].base = (uintptr_t)address;
        blocks[count].size = bytes;
        blocks[count].device = device;
        blocks[count].mapped = true;
        blocks[count++].live = true;
    }
    pthread_mutex_unlock(&lock);
    return room;
}

bool sim_grant(void *address, size_t bytes, int device)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count && !found; i++) {
        found = blocks[i].live && blocks[i].mapped && blocks[i].base == (uintptr_t)address && blocks[i].size == bytes;
        if (found)
            blocks[i].granted |= 1u << device;
    }
    pthread_mutex_unlock(&lock);
    return found && !mprotect(address, bytes, PROT_READ | PROT_WRITE);
}

bool sim_unmap(void *address, size_t bytes)
{
    (void)bytes;
    return release(address, true);
}

/* ---- finding ---- */

static int at(const void *address)
{
    for (int i = 0; i < count; i++)
        if (blocks[i].live && (uintptr_t)address - blocks[i].base < blocks[i].size)
            return i;
    return -1;
}

bool sim_find(const void *address, uintptr_t *base, size_t *size, int *device)
{
    pthread_mutex_lock(&lock);
    int found = at(address);
    if (found >= 0) {
        *base = blocks[found].base;
        *size = blocks[found].size;
        *device = blocks[found].device;
    }
    pthread_mutex_unlock(&lock);
    return found >= 0;
}

bool sim_allow_peer(int device, int peer)
{
    bool before = peers[device][peer];
    peers[device][peer] = true;
    return !before;
}

/* Memory of another device is out of reach unless that was allowed, as on hardware without it. Memory that belongs to no
 * device is the host's, which is out of reach without XNACK unless it was registered, or is not there: then the access itself
 * faults. */
bool sim_may_access(int device, const void *address)
{
    pthread_mutex_lock(&lock);
    int found = at(address), home = found < 0 ? -1 : blocks[found].device;
    bool outside = found < 0 && ((uintptr_t)address < next_start() || (uintptr_t)address >= end);
    bool refused = outside && address && !is_registered((uintptr_t)address) && !sim_xnack();
    bool mapped = found >= 0 && blocks[found].mapped, granted = mapped && blocks[found].granted >> device & 1;
    pthread_mutex_unlock(&lock);
    return refused ? false : mapped ? granted : home < 0 || home == device || peers[device][home];
}
