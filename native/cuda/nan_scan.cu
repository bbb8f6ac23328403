// The scan of gpudx run --nan: counts NaN and infinities in up to 12 ranges of memory. Compiled into nan_scan.h:
//   nvcc -ptx -arch=sm_75 nan_scan.cu; its .version is lowered to 6.4, so that drivers since CUDA 10.1 take it
typedef unsigned long long u64;
struct Range { const void *at; u64 count; u64 kind; };
struct Ask { Range ranges[12]; u64 *slot; unsigned *flag; unsigned after; };

static __device__ void report(const Ask &ask, int nan, u64 count, u64 first)
{
    for (int lane = 16; lane; lane /= 2) {
        count += __shfl_down_sync(~0u, count, lane);
        u64 other = __shfl_down_sync(~0u, first, lane);
        first = other < first ? other : first;
    }
    if (threadIdx.x % 32 || !count)
        return;
    atomicAdd_system(&ask.slot[(blockIdx.y * 2 + ask.after) * 2 + nan], count);
    if (!ask.after)
        return;
    atomicMin_system(&ask.slot[48 + blockIdx.y * 2 + nan], first);
    *(volatile unsigned *)ask.flag = 1;
}

extern "C" __global__ void gdx_nan_scan(Ask ask)
{
    const Range r = ask.ranges[blockIdx.y];
    u64 infinities = 0, nans = 0, first_infinity = ~0ull, first_nan = ~0ull;
    const u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < r.count; i += stride) {
        bool all, some;  // of the exponent, of the fraction
        if (r.kind == 'f') {
            unsigned bits = ((const unsigned *)r.at)[i];
            all = (bits & 0x7f800000u) == 0x7f800000u, some = bits & 0x7fffffu;
        } else if (r.kind == 'd') {
            u64 bits = ((const u64 *)r.at)[i];
            all = (bits & 0x7ff0000000000000ull) == 0x7ff0000000000000ull, some = bits & 0xfffffffffffffull;
        } else if (r.kind == 'h') {
            unsigned bits = ((const unsigned short *)r.at)[i];
            all = (bits & 0x7c00u) == 0x7c00u, some = bits & 0x3ffu;
        } else if (r.kind == 'b') {
            unsigned bits = ((const unsigned short *)r.at)[i];
            all = (bits & 0x7f80u) == 0x7f80u, some = bits & 0x7fu;
        } else if (r.kind == '5') {  // e5m2
            unsigned bits = ((const unsigned char *)r.at)[i];
            all = (bits & 0x7cu) == 0x7cu, some = bits & 3u;
        } else {  // e4m3 has no infinity, and one NaN
            unsigned bits = ((const unsigned char *)r.at)[i];
            all = some = (bits & 0x7fu) == 0x7fu;
        }
        if (all && some) {
            nans++;
            first_nan = i < first_nan ? i : first_nan;
        } else if (all) {
            infinities++;
            first_infinity = i < first_infinity ? i : first_infinity;
        }
    }
    report(ask, 0, infinities, first_infinity);
    report(ask, 1, nans, first_nan);
}
