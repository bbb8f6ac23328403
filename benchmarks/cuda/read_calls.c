/* Counts how often the recorder lets the kernel read memory of the program (native/core/program_memory.h): each time is a system call.
 * Loaded in front of a program that runs under gpudx (LD_PRELOAD); at its end the numbers go to the file that READ_CALLS names:
 * reads of memory below the program break, and of other memory; calls with several pieces count once, by their first piece. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static _Atomic long below_break, elsewhere;
static uintptr_t first_break;

__attribute__((constructor)) static void begin(void)
{
    first_break = (uintptr_t)sbrk(0) - (1 << 20);  /* the loader and libraries before us have taken little */
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("READ_CALLS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%d %ld %ld\n", (int)getpid(), (long)below_break, (long)elsewhere);
    fclose(file);
}

long syscall(long number, ...)
{
    static long (*_Atomic next)(long, ...);
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_process_vm_readv) {
        uintptr_t from = (uintptr_t)((const struct iovec *)a[3])->iov_base;
        atomic_fetch_add(from >= first_break && from < (uintptr_t)sbrk(0) ? &below_break : &elsewhere, 1);
    }
    if (!next)
        next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
