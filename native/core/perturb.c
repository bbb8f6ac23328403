/* See perturb.h. */
#define _GNU_SOURCE
#include "core/perturb.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { LONGEST_NS = 300 * 1000, ONE_IN = 3 };  /* a third of the launches wait, up to some launches' length */

_Atomic int gdx_perturb_setting GDX_HOT_DATA;
static _Atomic uint64_t seed;  /* two threads may read the setting at the same time */
static _Atomic uint64_t threads;

static int read_setting(void)
{
    const char *value = getenv("GPUDX_PERTURB");
    if (!value || !*value) {
        atomic_store(&gdx_perturb_setting, 1);
        return 1;
    }
    int saved = errno;
    atomic_store(&seed, strtoull(value, NULL, 0));
    errno = saved;
    atomic_store(&gdx_perturb_setting, 2);
    return 2;
}

/* splitmix64 (Steele, Lea, Flood 2014): any state is a good one, also small seeds. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

void gdx_perturb_pause(void)
{
    static _Thread_local uint64_t state __attribute__((tls_model("initial-exec")));
    int known = atomic_load(&gdx_perturb_setting);
    if ((known ? known : read_setting()) != 2)
        return;
    if (!state)  /* threads in the order of their first launch, so that one seed gives much the same run */
        state = (atomic_load(&seed) << 20) + 1 + atomic_fetch_add(&threads, 1);
    uint64_t drawn = next(&state);
    if (drawn % ONE_IN)
        return;
    int saved = errno;
    struct timespec pause = { .tv_nsec = (long)((drawn >> 32) % LONGEST_NS) };
    nanosleep(&pause, NULL);
    errno = saved;
}
