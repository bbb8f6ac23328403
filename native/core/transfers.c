/* See transfers.h. */
#define _GNU_SOURCE
#include "core/transfers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RANGES = 256 };

_Atomic int gdx_transfers_setting GDX_HOT_DATA;
static struct { uint64_t first, last; } ranges[RANGES];
static unsigned num_ranges;  /* 0: every transfer */
static _Atomic uint64_t came;

/* "3,5-9". What cannot be read leaves the rest out: a run in which nothing was waited for is recorded as such. */
static int read_ranges(const char *text)
{
    char *end;
    if (!strcmp(text, "all"))
        return 2;
    for (unsigned i = 0; *text >= '0' && *text <= '9' && i < RANGES; i++) {
        ranges[i].first = ranges[i].last = strtoull(text, &end, 10);
        if (*end == '-')
            ranges[i].last = strtoull(end + 1, &end, 10);
        num_ranges = i + 1;
        text = *end == ',' ? end + 1 : end;
    }
    return num_ranges ? 2 : 1;
}

/* Once in a process: the list must not change under a thread that looks at it. */
int gdx_read_transfers(void)
{
    static _Atomic bool reading;
    const char *text = getenv("GPUDX_BLOCKING_TRANSFERS");
    int saved = errno;
    if (!atomic_exchange(&reading, true))
        atomic_store(&gdx_transfers_setting, text && *text ? read_ranges(text) : 1);
    errno = saved;
    return atomic_load(&gdx_transfers_setting);
}

bool gdx_transfer_here(void)
{
    uint64_t number = atomic_fetch_add(&came, 1) + 1;
    for (unsigned i = 0; i < num_ranges; i++)
        if (number >= ranges[i].first && number <= ranges[i].last)
            return true;
    return !num_ranges;
}
