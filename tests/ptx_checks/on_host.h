// What device.cu needs of the device, for a test of its decisions on the host: one thread at a time, at the block, thread and grid
// that the test sets.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#define __device__
#define __global__
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline
struct ulonglong2 { unsigned long long x, y; };
struct dim3_ { unsigned x, y, z; };
static dim3_ threadIdx, blockIdx, blockDim = { 256, 1, 1 }, gridDim = { 1024, 1, 1 };
static unsigned long long the_grid = 7;
template <class T> T atomicAdd(T *at, T more) { T old = *at; *at += more; return old; }
inline unsigned atomicAdd(unsigned *at, int more) { unsigned old = *at; *at += more; return old; }
inline unsigned atomicCAS(unsigned *at, unsigned was, unsigned now) { unsigned old = *at; if (old == was) *at = now; return old; }
inline unsigned long long atomicCAS(unsigned long long *at, unsigned long long was, unsigned long long now)
{
    unsigned long long old = *at;
    if (old == was) *at = now;
    return old;
}
inline void __threadfence() {}
inline bool __isGlobal(const void *) { return true; }
inline bool __isShared(const void *) { return true; }
inline unsigned __cvta_generic_to_shared(const void *at) { return (unsigned)(unsigned long long)at; }
#define READ_GRID(grid) (grid = the_grid)
#define READ_PLACE(who, where, place) (who = (place)[0], where = (place)[1])
#define WRITE_PLACE(place, who, where) ((place)[0] = who, (place)[1] = where)
#define WRITE_SHARED(at, byte) ((void)(at), (void)(byte))
