/* Faults of the device: a SIGSEGV in a kernel or copy becomes an error that all later calls report, or the runtime's last
 * words. A SIGSEGV of the program itself goes where it would have gone. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

_Atomic int sim_fault;
static struct sigaction before;
static _Thread_local sigjmp_buf *guard;
static _Thread_local uintptr_t fault_address;

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (guard) {
        fault_address = (uintptr_t)info->si_addr;
        siglongjmp(*guard, 1);
    }
    sigaction(number, &before, NULL);  /* the instruction faults again, for whoever was there first */
}

static void install(void)
{
    struct sigaction ours = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
    sigemptyset(&ours.sa_mask);
    sigaction(SIGSEGV, &ours, &before);
}

/* ROCr-Runtime, runtime.cpp, VMFaultHandler: the address is that of the page. */
static void last_words(uintptr_t address)
{
    fprintf(stderr, "Memory access fault by GPU node-1 (Agent handle: %p) on address %p. Reason: Page not present or supervisor privilege.\n",
            (void *)&sim_fault, (void *)(address & ~(uintptr_t)4095));
    abort();
}

void sim_fault_at(uintptr_t address)
{
    const char *how = getenv("GPUDX_HIP_SIM_FAULT");
    if (how && !strcmp(how, "abort"))
        last_words(address);
    atomic_store(&sim_fault, hipErrorIllegalAddress);
}

bool sim_guarded(void (*work)(void *), void *data)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sigjmp_buf here;
    pthread_once(&once, install);
    if (sigsetjmp(here, 1)) {
        guard = NULL;
        sim_fault_at(fault_address);
        return false;
    }
    guard = &here;
    work(data);
    guard = NULL;
    return true;
}
