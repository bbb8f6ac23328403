/* See turns.h. */
#define _GNU_SOURCE
#include "opencl/turns.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "core/gave_up.h"

enum { PLACES = 1024, LOOK_AGAIN_NS = 20 * 1000, LONGEST_NS = 50 * 1000 * 1000 };

_Atomic int gdx_cl_turns_setting GDX_HOT_DATA;
static _Atomic uint32_t owners[PLACES];  /* the thread whose turn it is; kernels that share a place take turns together */

static bool on(void)
{
    int known = atomic_load(&gdx_cl_turns_setting);
    if (!known) {
        const char *value = getenv("GPUDX_TURNS");
        known = value && *value == '1' ? 2 : 1;
        atomic_store(&gdx_cl_turns_setting, known);
    }
    return known == 2;
}

static _Atomic uint32_t *owner_of(cl_kernel kernel)
{
    return &owners[((uintptr_t)kernel >> 4) * 0x9e3779b97f4a7c15ull >> 54];
}

static uint32_t self(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

void gdx_cl_turn_take(cl_kernel kernel)
{
    if (!on())
        return;
    int saved = errno;
    _Atomic uint32_t *owner = owner_of(kernel);
    uint32_t own = self(), now = 0;
    struct timespec pause = { .tv_nsec = LOOK_AGAIN_NS };
    for (int waited = 0; waited < LONGEST_NS; waited += LOOK_AGAIN_NS) {
        now = 0;
        if (atomic_compare_exchange_strong(owner, &now, own) || now == own)
            break;
        nanosleep(&pause, NULL);
    }
    if (now && now != own) {
        atomic_store(owner, own);
        gdx_gave_up("A thread used a kernel out of turn, because another thread kept it for too long");
    }
    errno = saved;
}

void gdx_cl_turn_give(cl_kernel kernel)
{
    if (!on())
        return;
    uint32_t own = self();
    atomic_compare_exchange_strong(owner_of(kernel), &own, 0);
}
