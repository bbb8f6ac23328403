/* Launches whose arguments lie on the heap, how often the kernel is asked to read them, and arguments in heap that was given back.
 *
 * Prints "reads N of 1000", and "gone 1" when the system had the last block's memory back. */
#include "reach.h"

#include <malloc.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCK = 100 << 10, BLOCKS = 64, LAUNCHES = 1000 };
static int reads;

/* In front of the C library's, for the recorder too (-rdynamic). */
long syscall(long number, ...)
{
    static long (*next)(long, ...);
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (!next)
        next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    reads += number == SYS_process_vm_readv;
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static CUresult launch(CUfunction function, char *at)
{
    void *params[] = { at, at + 8 };
    return DO(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
}

static void fill(char *blocks[BLOCKS])
{
    for (int i = 0; i < BLOCKS; i++)
        memset(blocks[i] = malloc(BLOCK), 0, BLOCK);
}

static void give_back(char *blocks[BLOCKS])
{
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    malloc_trim(0);
}

int main(void)
{
    char *blocks[BLOCKS], *more[BLOCKS], *value;
    CUcontext context;
    CUmodule module, none;
    CUfunction function;
    setenv("FAKE_CUDA_FAIL", "cuModuleLoad:1:700", 1);
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    CHECK(DO(cuModuleLoadData)(&module, "kernel pair 4 4\n"));
    CHECK(DO(cuModuleGetFunction)(&function, module, "pair"));
    fill(blocks);
    value = blocks[BLOCKS - 1] + 5000;
    for (int i = 0, before = reads; i < LAUNCHES; i++) {
        int twice = 2 * i;
        memcpy(value, &i, sizeof i);
        memcpy(value + 8, &twice, sizeof twice);
        CHECK(launch(function, value));
        if (i == LAUNCHES - 1)
            printf("reads %d of %d\n", reads - before, LAUNCHES);
    }
    fill(more);
    DO(cuModuleLoad)(&none, "nowhere");  /* from now on the driver answers with an error and looks at nothing */
    char *last = more[BLOCKS - 1] + 5000;
    give_back(more);
    give_back(blocks);
    printf("gone %d\n", msync((void *)((size_t)last & ~4095ul), 4096, MS_ASYNC) != 0);
    launch(function, value);
    launch(function, last);
    puts("still here");
    return 0;
}
