/* Device memory: one reserved range of addresses, in which only live allocations are mapped. Addresses are not used again. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "sim.h"

enum { PAGE = 4096, GAP = 64 << 10, MOST = 65536 };
static const size_t range_bytes = (size_t)1 << 38;

static struct { uintptr_t base; size_t size; int device; bool live; } blocks[MOST];
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
    next = (uintptr_t)at + GAP;
    end = (uintptr_t)at + range_bytes;
    return true;
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
    if (reserve() && count < MOST && room + GAP < end - next && !mprotect((void *)next, room, PROT_READ | PROT_WRITE)) {
        result = (void *)next;
        blocks[count].base = next;
        blocks[count].size = bytes;
        blocks[count].device = device;
        blocks[count++].live = true;
        next += room + GAP;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

bool sim_release(const void *address)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count && !found; i++) {
        found = blocks[i].live && blocks[i].base == (uintptr_t)address;
        if (!found)
            continue;
        blocks[i].live = false;
        madvise((void *)blocks[i].base, whole_pages(blocks[i].size), MADV_DONTNEED);
        mprotect((void *)blocks[i].base, whole_pages(blocks[i].size), PROT_NONE);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

bool sim_find(const void *address, uintptr_t *base, size_t *size, int *device)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count && !found; i++) {
        found = blocks[i].live && (uintptr_t)address - blocks[i].base < blocks[i].size;
        if (!found)
            continue;
        *base = blocks[i].base;
        *size = blocks[i].size;
        *device = blocks[i].device;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void sim_allow_peer(int device, int peer)
{
    peers[device][peer] = true;
}

/* Memory of another device is out of reach unless that was allowed, as on hardware without it. Memory that belongs to no
 * device is the host's, or is not there: then the access itself faults. */
bool sim_may_access(int device, const void *address)
{
    uintptr_t base;
    size_t size;
    int home;
    return !sim_find(address, &base, &size, &home) || home < 0 || home == device || peers[device][home];
}
