/* Stands in for the vendor's header when a file of kernels is compiled a second time, for the processor (sim.h): kernels
 * become functions, launches nothing. A kernel that needs what is not simulated does not compile. */
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

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

/* What a launch shows of its kernel: the types of its parameters, structures among them. The library lists them for the runtime
 * (sim.h has the same), which passes arguments as packed as devices get them. */
struct sim_argument { uint16_t at, size; bool floating, pointer; };
struct sim_kernel {
    void *code;
    const sim_argument *arguments;
    int count;
    void (*call)(void *code, const unsigned char *packed);
    sim_kernel *next;
};
inline sim_kernel *sim_first;
extern "C" __attribute__((visibility("default"), used)) inline sim_kernel *sim_kernels() { return sim_first; }

template <typename... T> struct sim_parameters {
    static constexpr std::array<sim_argument, sizeof...(T) + 1> laid_out()
    {
        std::array<sim_argument, sizeof...(T) + 1> made{};
        size_t at = 0, n = 0;
        ((at = (at + alignof(T) - 1) / alignof(T) * alignof(T),
          made[n++] = {(uint16_t)at, (uint16_t)sizeof(T), std::is_floating_point_v<T>, std::is_pointer_v<T>}, at += sizeof(T)), ...);
        return made;
    }
    static constexpr auto list = laid_out();
    template <size_t... N> static void apply(void *code, const unsigned char *packed, std::index_sequence<N...>)
    {
        (void)packed;
        ((void (*)(T...))code)(*(const T *)(packed + list[N].at)...);
    }
    static void call(void *code, const unsigned char *packed) { apply(code, packed, std::index_sequence_for<T...>()); }
};
template <auto kernel> struct sim_described;
template <typename... T, void (*kernel)(T...)> struct sim_described<kernel> {
    struct listed : sim_kernel {
        listed() : sim_kernel{(void *)kernel, sim_parameters<T...>::list.data(), sizeof...(T), sim_parameters<T...>::call, sim_first}
        {
            sim_first = this;
        }
    };
    static inline listed self;
};
#define hipLaunchKernelGGL(kernel, ...) ((void)&sim_described<(kernel)>::self)
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
