// What the checks in rewritten kernels call. device.ptx is made from this file:
//
//   python tools/ptx_device.py
//
// Races: of each word of global memory the last writer of this grid is kept: its block, and how many fences that block had passed.
// Another block that reads or writes the word has a race if the writer's block has passed no fence since: nothing orders the two, and
// nothing makes the write visible. Fences count for the whole block, because a barrier followed by one thread's fence is how blocks
// publish what all their threads wrote. Places are reused by other words, and a place that was overwritten forgets a writer: races
// are missed then, never invented. Atomic and volatile accesses are not looked at.
typedef unsigned long long u64;
typedef unsigned int u32;

enum { PLACES = 1 << 21, BLOCKS = 1 << 16, SITES = 1 << 16, RECORDS = 64, WORDS = 24 };
enum { RACE = 4, NUMBER = 9 };  // kernel_checks/prelude.py: KINDS
enum { WRITES = 1 << 24, GENERIC = 1 << 25 };

extern "C" {
__device__ ulonglong2 gdx_places[PLACES];
__device__ u32 gdx_fences[BLOCKS];
__device__ u32 gdx_counts[SITES];
__device__ u32 gdx_report[8 + RECORDS * WORDS];  // how many were made, then the records

__device__ __noinline__ void gdx_record(u32 kind, u32 site, u32 how, u32 width, u64 offset, u64 more)
{
    if (atomicAdd(&gdx_counts[site & (SITES - 1)], 1)) return;
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
    u64 grid;
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(grid));
    grid &= 0xffff;
    u32 block = gdx_block(), mine = block & 0xfffff, fences = ((volatile u32 *)gdx_fences)[block & (BLOCKS - 1)] & 0xff;
    for (u64 word = at & ~3ull; word < at + width; word += 4) {
        u32 mask = 0;
        for (int i = 0; i < 4; i++) mask |= (word + i >= at && word + i < at + width) << i;
        u64 key = word >> 2, check = (key >> 21 ^ key >> 37) & 0xffff;
        volatile u64 *place = (volatile u64 *)&gdx_places[key & (PLACES - 1)];
        u64 who, where;
        asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(who), "=l"(where) : "l"(__cvta_generic_to_global((void *)place)));
        u32 other = where >> 28 & 0xfffff;
        bool met = who >> 16 == key && (where & 0xffff) == check && where >> 48 == grid && (where >> 16 & mask) && other != mine
            && (((volatile u32 *)gdx_fences)[other & (BLOCKS - 1)] & 0xff) == (where >> 20 & 0xff);
        if (met && (how & WRITES) && same(at, step, value)) met = false;  // what is there already
        if (met) gdx_record(RACE, site, how & WRITES ? 2 : 1, width, at, (who & 0xffff) | (u64)other << 32);
        if (how & WRITES) {
            who = key << 16 | site;
            where = grid << 48 | (u64)mine << 28 | (u64)fences << 20 | (u64)mask << 16 | check;
            asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global((void *)place)), "l"(who), "l"(where));
        }
    }
}

// how: 0 a NaN was made, 1 an infinity was made, 2 a NaN was stored, 3 an infinity was stored
__device__ __noinline__ void gdx_number(u32 site, u32 how, u64 bits) { gdx_record(NUMBER, site, how, 0, 0, bits); }

__device__ __noinline__ u32 gdx_keep(u64 at)  // so that the compiler keeps them all
{
    gdx_access(at, (u32)at, at);
    gdx_number((u32)at, (u32)(at >> 32), at);
    gdx_fence();
    return gdx_block();
}
}
__global__ void gdx_kernel(u64 at) { gdx_keep(at); }
