/* Stands in for the vendor's header when a file of kernels is compiled a second time, for the processor (sim.h): kernels
 * become functions, launches nothing. A kernel that needs what is not simulated does not compile. */
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __restrict__ __restrict

struct sim_dim { uint32_t x, y, z; };
struct sim_place { sim_dim thread, block, block_dim, grid_dim; };
inline thread_local sim_place sim_here;
extern "C" __attribute__((visibility("default"), used)) inline void *sim_index() { return &sim_here; }
#define threadIdx sim_here.thread
#define blockIdx sim_here.block
#define blockDim sim_here.block_dim
#define gridDim sim_here.grid_dim

struct dim3 {
    uint32_t x, y, z;
    constexpr dim3(uint32_t x = 1, uint32_t y = 1, uint32_t z = 1) : x(x), y(y), z(z) {}
};
using hipStream_t = void *;
#define hipLaunchKernelGGL(kernel, ...) ((void)(kernel))
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
