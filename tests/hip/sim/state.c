/* What the calling thread has: its device and its last error. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

_Thread_local int sim_device;
static _Thread_local hipError_t last;

bool sim_number(const char *variable, long *value)
{
    const char *text = getenv(variable);
    if (text && *text)
        *value = strtol(text, NULL, 10);
    return text && *text;
}

int sim_serial(const char *variable)
{
    long waits = 0;
    sim_number(variable, &waits);
    return (int)waits & (SIM_BEFORE | SIM_AFTER);
}

int sim_devices(void)
{
    long count = 1;
    sim_number("GPUDX_HIP_SIM_DEVICES", &count);
    return count < 0 ? 0 : count > SIM_DEVICES ? SIM_DEVICES : (int)count;
}

bool sim_mappings(void)
{
    long there = SIM_HIP >= 7;
    sim_number("GPUDX_HIP_SIM_MAPPINGS", &there);
    return there != 0;
}

bool sim_xnack(void)
{
    long on = 0;
    return sim_number("HSA_XNACK", &on) ? on != 0 : strstr(sim_architecture(), "xnack+") != NULL;
}

bool sim_engine(void)
{
    long on = 1;
    sim_number("HSA_ENABLE_SDMA", &on);
    return on != 0;
}

/* clr, hip_internal.hpp, HIP_RETURN: once, each call set the error that hipGetLastError returns, and a success cleared it; since HIP 7 an error
 * stays until it is asked for, as in CUDA. */
hipError_t sim_return(hipError_t status)
{
    int fault = atomic_load(&sim_fault);
    status = fault ? (hipError_t)fault : status;
    if (SIM_HIP < 7 || (status != hipSuccess && status != hipErrorNotReady))
        last = status;
    return status;
}

hipError_t sim_peek(void)
{
    int fault = atomic_load(&sim_fault);
    return fault ? (hipError_t)fault : last;
}

void sim_forget_error(void)
{
    last = hipSuccess;
}
