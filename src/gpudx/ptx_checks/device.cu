// What the checks in rewritten kernels call. device.ptx is made from this file:
//
//   python tools/ptx_device.py
//
// Races: of each word of global memory the last writer of this grid is kept: its block, and how many fences that block had passed.
// Another block that reads or writes the word has a race if the writer's block has passed no fence since: nothing orders the two, and
// nothing makes the write visible. Fences count for the whole block, because a barrier followed by one thread's fence is how blocks
// publish what all their threads wrote. Places are reused by other words, and a place that was overwritten forgets a writer: races
// are missed then, never invented. Atomic and volatile accesses are not looked at.
//
// Shared memory: of the first CHECKED blocks of a grid, for each word which bytes were written, and who wrote it last and who used it
// last with an atomic operation. A barrier of the whole block begins a new epoch of each thread. A read of bytes that this block never
// wrote is one of uninitialized memory. A plain write and an atomic operation (or a read of what was not written yet) by different
// warps in one epoch are a race: nothing says which comes first. Races of plain accesses only are left to racecheck.
typedef unsigned long long u64;
typedef unsigned int u32;

enum { PLACES = 1 << 21, BLOCKS = 1 << 16, SITES = 1 << 16, RECORDS = 64, WORDS = 24 };
enum { CHECKED = 16, SHARED_WORDS = 1 << 16, THREADS = 1024 };
enum { UNINITIALIZED = 3, RACE = 4, BARRIER = 5, NUMBER = 9 };  // kernel_checks/prelude.py: KINDS
enum { WRITES = 1 << 24, GENERIC = 1 << 25, ATOMIC = 1 << 26, UNORDERED = 1 << 27, REPLACES = 1 << 28 };
enum { FILL = 0x7f7f7f7f };  // a large number, as an integer and as a float

// A test of what they decide compiles this file for the host, with other definitions of these.
#ifndef READ_GRID
#define READ_GRID(grid) asm volatile("mov.u64 %0, %%gridid;" : "=l"(grid))
#define READ_PLACE(who, where, place) \
    asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(who), "=l"(where) : "l"(__cvta_generic_to_global((void *)(place))))
#define WRITE_PLACE(place, who, where) \
    asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global((void *)(place))), "l"(who), "l"(where))
#define WRITE_SHARED(at, byte) asm volatile("st.shared.u8 [%0], %1;" ::"r"(at), "r"(byte))
#endif

extern "C" {
__device__ ulonglong2 gdx_places[PLACES];  // which word << 38 | grid << 16 | site; check << 40 | block << 20 | fences << 4 | bytes
__device__ u32 gdx_fences[BLOCKS];
__device__ u64 gdx_first_grid;
__device__ u32 gdx_counts[SITES];
__device__ u32 gdx_report[8 + RECORDS * WORDS];  // how many were made, then the records

__device__ ulonglong2 gdx_words[CHECKED * SHARED_WORDS];  // grid << 48 | other's site << 16 | writer's site; who each of them is
__device__ u32 gdx_written[CHECKED * SHARED_WORDS];  // grid << 16 | bytes
__device__ u32 gdx_epochs[CHECKED * THREADS];        // grid << 16 | barriers

__device__ __noinline__ void gdx_record(u32 kind, u32 site, u32 how, u32 width, u64 offset, u64 more)
{
    u32 count = kind == UNINITIALIZED ? site ^ SITES / 2 : site;  // a place may report this, and a race as well
    if (atomicAdd(&gdx_counts[count & (SITES - 1)], 1)) return;
    u32 n = atomicAdd(&gdx_report[0], 1);
    if (n >= RECORDS) return;
    u32 *to = gdx_report + 8 + n * WORDS;
    to[0] = kind, to[1] = site, to[2] = 0xffffffffu, to[3] = how, to[4] = width, to[5] = 3;
    to[6] = (u32)offset, to[7] = (u32)(offset >> 32), to[8] = to[9] = 0;
    for (int i = 10; i < 16; i++) to[i] = 0;
    to[16] = threadIdx.x, to[17] = threadIdx.y, to[18] = threadIdx.z;
    to[19] = blockIdx.x, to[20] = blockIdx.y, to[21] = blockIdx.z;
    to[22] = (u32)more, to[23] = (u32)(more >> 32);
}

__device__ __noinline__ u32 gdx_block(void) { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }

// A prime: a block of 256 threads that all pass a fence 256 times must not seem to have passed none.
__device__ __forceinline__ u32 fences_of(u32 block) { return ((volatile u32 *)gdx_fences)[block & (BLOCKS - 1)] % 65521; }

// Grids since the first one that was checked, from 1 on.
__device__ __forceinline__ u64 this_grid(void)
{
    u64 grid, first = *(volatile u64 *)&gdx_first_grid;
    READ_GRID(grid);
    if (!first) {
        first = atomicCAS(&gdx_first_grid, 0, grid + 1);
        first = first ? first : grid + 1;
    }
    return grid + 2 - first;
}

__device__ __noinline__ void gdx_fence(void)
{
    atomicAdd(&gdx_fences[gdx_block() & (BLOCKS - 1)], 1);
    __threadfence();
}

__device__ __forceinline__ bool same(u64 at, u32 width, u64 value)
{
    if (!width) return false;  // the value is not known
    if (width == 1) return *(volatile unsigned char *)at == (unsigned char)value;
    if (width == 2) return *(volatile unsigned short *)at == (unsigned short)value;
    if (width == 4) return *(volatile u32 *)at == (u32)value;
    return *(volatile u64 *)at == value;
}

__device__ __noinline__ void gdx_access(u64 at, u32 how, u64 value)
{
    u32 site = how & 0xffff, width = how >> 16 & 0x3f, step = how >> 26 & 0xf;  // step: bytes of one element of a vector
    if ((how & GENERIC) && !__isGlobal((void *)at)) return;
    u64 grid = this_grid();
    if (grid >> 22) return;  // there is no room for its number
    u32 block = gdx_block(), mine = block & 0xfffff, fences = fences_of(block);
    for (u64 word = at & ~3ull; word < at + width; word += 4) {
        u32 mask = 0;
        for (int i = 0; i < 4; i++) mask |= (word + i >= at && word + i < at + width) << i;
        // The lower bits of the key are the number of the place. The check tells halves of two writers from those of one.
        u64 key = word >> 2, tag = (key >> 21 & 0x3ffffff) << 22 | grid, check = (tag * 0x9e3779b97f4a7c15ull) >> 40;
        volatile u64 *place = (volatile u64 *)&gdx_places[key & (PLACES - 1)];
        u64 who, where;
        READ_PLACE(who, where, place);
        u32 other = where >> 20 & 0xfffff;
        bool met = who >> 16 == tag && where >> 40 == check && (where & mask) && other != mine
            && fences_of(other) == (where >> 4 & 0xffff);
        if (met && (how & WRITES) && same(at, step, value)) met = false;  // what is there already
        if (met) gdx_record(RACE, site, how & WRITES ? 2 : 1, width, at, (who & 0xffff) | (u64)other << 32);
        if (how & WRITES) {
            who = tag << 16 | site;
            where = check << 40 | (u64)mine << 20 | (u64)fences << 4 | mask;
            WRITE_PLACE(place, who, where);
        }
    }
}

__device__ __forceinline__ u32 this_thread(void)
{
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & (THREADS - 1);
}

__device__ __noinline__ void gdx_barrier(void)
{
    u32 block = gdx_block();
    if (block >= CHECKED || this_grid() >> 16) return;
    u32 *mine = gdx_epochs + block * THREADS + this_thread(), grid = (u32)this_grid(), old = *mine;
    *mine = old >> 16 == grid ? (old & 0xffff0000) | ((old + 1) & 0xffff) : grid << 16 | 1;
}

// Shared memory as it may be when a block begins; a barrier follows.
__device__ __noinline__ void gdx_fill(u32 at, u32 bytes)
{
    u32 threads = blockDim.x * blockDim.y * blockDim.z;
    for (u32 i = this_thread(); i < bytes; i += threads < THREADS ? threads : THREADS)
        WRITE_SHARED(at + i, FILL & 0xff);
}

// The bytes of a word that this block wrote before, and with `mask` those that it writes now.
__device__ __forceinline__ u32 written_before(u32 *cell, u32 grid, u32 mask)
{
    u32 old = *(volatile u32 *)cell;
    while (mask) {
        u32 now = (old >> 16 == grid ? old : grid << 16) | mask, seen = now == old ? old : atomicCAS(cell, old, now);
        if (seen == old) break;
        old = seen;
    }
    return old >> 16 == grid ? old & 0xf : 0;
}

__device__ __noinline__ void gdx_shared(u64 at, u32 how)
{
    u32 block = gdx_block(), site = how & 0xffff, width = how >> 16 & 0x3f;
    if (block >= CHECKED || this_grid() >> 16) return;  // there is no room for the numbers of later grids
    if (how & GENERIC) {
        if (!__isShared((void *)at)) return;
        at = __cvta_generic_to_shared((void *)at);
    }
    u32 grid = (u32)this_grid(), thread = this_thread(), epoch = gdx_epochs[block * THREADS + thread];
    u32 me = (epoch >> 16 == grid ? epoch & 0xffff : 0) << 10 | thread;
    for (u32 word = (u32)at & ~3u; word < (u32)at + width && word >> 2 < SHARED_WORDS; word += 4) {
        u32 mask = 0;
        for (u32 i = 0; i < 4; i++) mask |= (word + i >= (u32)at && word + i < (u32)at + width) << i;
        u32 cell = block * SHARED_WORDS + (word >> 2);
        bool writes = how & WRITES, plain = writes && !(how & ATOMIC);
        u32 before = written_before(gdx_written + cell, grid, writes ? mask : 0);
        bool early = (!writes || (how & ATOMIC)) && !(how & REPLACES) && (before & mask) != mask;
        if (early) gdx_record(UNINITIALIZED, site, 1, width, word, 0);
        volatile u64 *place = (volatile u64 *)&gdx_words[cell];
        u64 who = place[0], where = place[1];
        if (who >> 48 != grid) who = (u64)grid << 48, where = ~0ull;
        u32 other = plain ? (u32)(where >> 32) : (u32)where, by = plain ? (u32)(who >> 16) & 0xffff : (u32)who & 0xffff;
        bool meets = plain || (how & ATOMIC);  // plain reads of what is written are racecheck's
        if (meets && !(how & UNORDERED) && other != 0xffffffff && other >> 10 == me >> 10 && (other & 1023) >> 5 != thread >> 5)
            gdx_record(RACE, site, plain ? 2 : 6, width, word, by | (u64)(other & 1023) << 32);
        if (plain) {
            who = (who & ~0xffffull) | site;
            where = (where & ~0xffffffffull) | me;
        } else if (early || (how & ATOMIC)) {
            who = (who & ~0xffff0000ull) | (u64)site << 16;
            where = (where & 0xffffffffull) | (u64)me << 32;
        } else
            continue;
        place[0] = who, place[1] = where;
    }
}

// An instruction that names lanes in its mask which went the other way at a branch: `branch` is that one's place.
__device__ __noinline__ void gdx_absent(u32 site, u32 lanes, u32 branch) { gdx_record(BARRIER, site, 0, 0, lanes, branch); }

// A shuffle that reads a lane which has left the kernel, or never was there.
__device__ __noinline__ void gdx_left_out(u32 site, u32 lane) { gdx_record(UNINITIALIZED, site, 1, 4, lane, 0); }

// how: 0 a NaN was made, 1 an infinity was made, 2 a NaN was stored, 3 an infinity was stored
__device__ __noinline__ void gdx_number(u32 site, u32 how, u64 bits) { gdx_record(NUMBER, site, how, 0, 0, bits); }

__device__ __noinline__ u32 gdx_keep(u64 at)  // so that the compiler keeps them all
{
    gdx_access(at, (u32)at, at);
    gdx_number((u32)at, (u32)(at >> 32), at);
    gdx_fence();
    gdx_barrier();
    gdx_fill((u32)at, (u32)(at >> 32));
    gdx_shared(at, (u32)at);
    gdx_absent((u32)at, (u32)(at >> 32), (u32)at);
    gdx_left_out((u32)at, (u32)(at >> 32));
    return gdx_block();
}
}
__global__ void gdx_kernel(u64 at) { gdx_keep(at); }
