/* Time for records: the processor's constant-rate counter where there is one (about 10 ns), else CLOCK_MONOTONIC. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static inline uint64_t gdx_clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t gdx_real_ns(void)
{
    return gdx_clock_ns(CLOCK_REALTIME);
}

/* "Invariant TSC": Intel SDM 17.17.1, AMD APM 13.2.4, CPUID 0x80000007 EDX bit 8. */
static inline bool gdx_constant_ticks(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
#elif defined(__aarch64__)
    return true;  /* the generic timer runs at a constant rate, Arm ARM D12.1 */
#else
    return false;
#endif
}

extern bool gdx_use_ticks;  /* process.c */

static inline uint64_t gdx_ticks(void)
{
    if (__builtin_expect(gdx_use_ticks, 1)) {
#if defined(__x86_64__)
        return __builtin_ia32_rdtsc();  /* __rdtsc() of x86intrin.h, whose thousands of functions take longer to compile than ours */
#elif defined(__aarch64__)
        uint64_t t;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
        return t;
#endif
    }
    return gdx_clock_ns(CLOCK_MONOTONIC);
}

/* Once, before any time is taken. */
static inline void gdx_choose_clock(void)
{
    gdx_use_ticks = gdx_constant_ticks();
}

static inline uint32_t gdx_clock_kind(void)
{
    return gdx_use_ticks ? 1 : 2;
}

static inline void gdx_clock_pair(uint64_t *ticks, uint64_t *mono_ns)
{
    *mono_ns = gdx_clock_ns(CLOCK_MONOTONIC);
    *ticks = gdx_ticks();
}

/* A second pair 100 us after the first, so that even a process that dies at once has a rate. */
static inline void gdx_clock_calibrate(uint64_t *ticks, uint64_t *mono_ns)
{
    uint64_t from = gdx_clock_ns(CLOCK_MONOTONIC);
    while (gdx_clock_ns(CLOCK_MONOTONIC) - from < 100000)
        ;
    gdx_clock_pair(ticks, mono_ns);
}
