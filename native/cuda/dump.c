/* Holds a process that is about to end until the driver has written its core dump.
 *
 * After an exception on the device the driver collects the state of every multiprocessor and writes a dump from a thread
 * of its own, while the failing call has already returned: a program that prints its error and exits cuts the dump off
 * (seen with driver 580.159: about 50 ms per busy multiprocessor, so several seconds). Nothing is held while the program
 * goes on; only its end waits, and only after an exception, and only where gpudx itself asked for the dump. A program that
 * leaves by _exit is not held. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/process.h"
#include "cuda/hooks.h"

enum { PAUSE_MS = 10, STEADY = 3, LONGEST_S = 20 };

static _Atomic int expected;
static char path[1024];

/* gpudx names the folder; a dump that the user configured alone is not ours to wait for. */
static bool know_path(void)
{
    const char *folder = getenv("GPUDX_DUMPS"), *file = getenv("CUDA_COREDUMP_FILE");
    if (!folder || !file || strncmp(file, folder, strlen(folder)))
        return false;
    int n = snprintf(path, sizeof path, "%s/%d.nvcudmp", folder, (int)getpid());
    return n > 0 && (size_t)n < sizeof path;
}

static uint64_t number_at(const unsigned char *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

/* The driver writes the section table last, at the end of the file (src/gpudx/evidence/cuda_coredump.py says more). */
static bool is_complete(void)
{
    unsigned char head[64], last[64];
    static const unsigned char zeros[64];
    bool whole = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head && !memcmp(head, "\177ELF", 4)) {
        uint64_t table = number_at(head + 40, 8), entry = number_at(head + 58, 2), count = number_at(head + 60, 2);
        if (!count && table && pread(fd, last, sizeof last, (off_t)table) == (ssize_t)sizeof last)
            count = number_at(last + 32, 8);
        whole = table && entry == sizeof last && count
            && pread(fd, last, sizeof last, (off_t)(table + (count - 1) * sizeof last)) == (ssize_t)sizeof last
            && memcmp(last, zeros, sizeof last);
    }
    close(fd);
    return whole;
}

/* Also runs in the handler of a fatal signal: system calls and the stack only. */
void gdx_cu_hold_for_dump(void)
{
    const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
    int saved = errno, steady = 0;
    const struct gdx_header *header = gdx_own_header();
    if (atomic_load(&expected) != 1 || !header || header->pid != (uint32_t)getpid())
        return;  /* nothing to wait for, or a child between vfork and exec */
    for (int waited = 0; waited < LONGEST_S * 1000 && steady < STEADY; waited += PAUSE_MS) {
        steady = is_complete() ? steady + 1 : 0;
        nanosleep(&pause, NULL);
    }
    atomic_store(&expected, 2);
    errno = saved;
}

void gdx_cu_expect_dump(void)
{
    int none = 0;
    if (!atomic_compare_exchange_strong(&expected, &none, 3))
        return;
    if (!know_path())
        return;
    atomic_store(&expected, 1);
    /* Registered only now, so that it runs before the driver's own exit handlers, which end its dump thread. */
    atexit(gdx_cu_hold_for_dump);
    gdx_before_death(gdx_cu_hold_for_dump);
}
