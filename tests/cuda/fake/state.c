/* State of the driver, and faults on demand. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

_Atomic int sticky, started;
_Atomic uint64_t checksum;
struct context primary = { CONTEXT, 0 };
_Thread_local struct context *current;
struct stream per_thread = { STREAM, NULL, false };

struct plan fail_plan, refuse_plan, crash_plan;

static void read_plan(struct plan *plan, const char *variable)
{
    const char *text = getenv(variable);
    if (text)
        sscanf(text, "%63[^:]:%d:%d", plan->name, &plan->nth, &plan->code);
}

static void forked(void)
{
    started = 0;  /* as with a real driver, a child cannot use what its parent started */
}

__attribute__((constructor)) static void read_plans(void)
{
    pthread_atfork(NULL, NULL, forked);
    read_plan(&fail_plan, "FAKE_CUDA_FAIL");
    read_plan(&refuse_plan, "FAKE_CUDA_REFUSE");
    read_plan(&crash_plan, "FAKE_CUDA_CRASH");
}

int due(struct plan *plan, const char *name)
{
    return plan->nth && !strcmp(plan->name, name) && atomic_fetch_add(&plan->seen, 1) + 1 == plan->nth;
}

static void tell_assertion(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&told))
        return;
    for (int thread = 0; thread < 4; thread++) {
        fprintf(stderr, "%s:%u: void %s", "src/pair.cu", 12, "pair(int, int)");
        fprintf(stderr, ": block: [%d,0,0], thread: [%d,0,0] Assertion `", 0, thread);
        fputs("i < n", stderr);
        fwrite("` failed.\n", 1, 10, stderr);
    }
}

CUresult enter(const char *name)
{
    int now = sticky;
    if (now == CUDA_ERROR_ASSERT)
        tell_assertion();
    if (!started)
        return CUDA_ERROR_NOT_INITIALIZED;
    static volatile uintptr_t nowhere = 8;
    if (due(&crash_plan, name))
        *(volatile int *)nowhere = 0;
    if (due(&fail_plan, name))
        sticky = fail_plan.code;
    return due(&refuse_plan, name) ? refuse_plan.code : now;
}

/* What was put into which stream, and what was mapped, for a test that asks (FAKE_CUDA_STREAMS=file). */
void put_into(const char *what, const void *stream)
{
    const char *path = getenv("FAKE_CUDA_STREAMS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%s %p\n", what, stream);
    fclose(file);
}
