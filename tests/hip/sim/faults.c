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
#include <unistd.h>

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

/* What the runtime prints before it aborts, in its several forms. ROCr-Runtime, runtime.cpp, VMFaultHandler: the address is that of
 * the page; the node is missing where the agent is not found, the reason where the driver gives none. clr, rocdevice.cpp,
 * callbackQueue: errors of a queue come with a status of hsa.h or hsa_ext_amd.h and no address. */
static const struct { const char *how, *format; bool queue; unsigned code; } last_words[] = {
    { "abort", "Memory access fault by GPU node-1 (Agent handle: %p) on address %p. Reason: Page not present or supervisor privilege.\n", false, 0 },
    { "abort-noreason", "Memory access fault by GPU node-1 (Agent handle: %p) on address %p. Reason: Unknown.\n", false, 0 },
    { "abort-nonode", "Memory access fault by GPU on address %2$p. Reason: Page not present or supervisor privilege.\n", false, 0 },
    { "abort-short", "Memory access fault by GPU node-1 on address %2$p\n", false, 0 },
    { "abort-inexact", "Memory access fault by GPU node-1 (Agent handle: %p) on address %p(may not be exact address). Reason: Write access to a read-only page.\n", false, 0 },
    { "queue-aperture", "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent attempted to access memory beyond the largest legal address.", true, 0x29 },
    { "queue-fault", "HSA_STATUS_ERROR_MEMORY_FAULT: Agent attempted to access an inaccessible address.", true, 0x2b },
    { "queue-instruction", "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION: The agent attempted to execute an illegal shader instruction.", true, 0x2a },
    { "queue-exception", "HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception.", true, 0x1016 },
};

static void abort_as(const char *how, uintptr_t address)
{
    for (size_t i = 0; i < sizeof last_words / sizeof *last_words; i++) {
        if (strcmp(how, last_words[i].how))
            continue;
        if (last_words[i].queue)
            fprintf(stderr, ":0:rocdevice.cpp            :2984: 5817815297 us: [pid:%d tid:%p] Callback: Queue %p Aborting with error : %s code: 0x%x\n",
                    getpid(), (void *)pthread_self(), (void *)&sim_fault, last_words[i].format, last_words[i].code);
        else
            fprintf(stderr, last_words[i].format, (void *)&sim_fault, (void *)(address & ~(uintptr_t)4095));
        abort();
    }
}

void sim_fault_at(uintptr_t address)
{
    const char *how = getenv("GPUDX_HIP_SIM_FAULT");
    sim_tell_wave(address, sim_running);
    sim_running = NULL;
    if (how)
        abort_as(how, address);
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
