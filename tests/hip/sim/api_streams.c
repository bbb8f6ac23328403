/* Entries about streams and events. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "sim.h"

static hipError_t of(hipStream_t stream, hipError_t status)
{
    return sim_return(sim_is_stream(stream) ? status : hipErrorInvalidHandle);
}

API hipError_t hipStreamCreate(hipStream_t *stream)
{
    *stream = sim_new_stream(hipStreamDefault);
    return sim_return(hipSuccess);
}

API hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned int flags)
{
    *stream = sim_new_stream(flags);
    return sim_return(hipSuccess);
}

/* HIP runtime API, hipDeviceGetStreamPriorityRange: the lower the number, the earlier. Priorities outside are taken as the nearest. */
enum { HIGH = -1, LOW = 1 };

API hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = LOW;
    *greatest = HIGH;
    return sim_return(hipSuccess);
}

API hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned int flags, int priority)
{
    hipError_t status = hipStreamCreateWithFlags(stream, flags);
    sim_traits(*stream)->priority = priority < HIGH ? HIGH : priority > LOW ? LOW : priority;
    return status;
}

API hipError_t hipStreamGetPriority(hipStream_t stream, int *priority)
{
    *priority = sim_traits(sim_stream(stream, false))->priority;
    return of(stream, hipSuccess);
}

API hipError_t hipExtStreamCreateWithCUMask(hipStream_t *stream, uint32_t words, const uint32_t *mask)
{
    if (!stream || !words || !mask)
        return sim_return(hipErrorInvalidValue);
    *stream = sim_new_stream(hipStreamDefault);
    for (uint32_t i = 0; i < words && i < SIM_MASK; i++)
        sim_traits(*stream)->mask[i] = mask[i];
    return sim_return(hipSuccess);
}

API hipError_t hipExtStreamGetCUMask(hipStream_t stream, uint32_t words, uint32_t *mask)
{
    for (uint32_t i = 0; i < words; i++)
        mask[i] = i < SIM_MASK ? sim_traits(sim_stream(stream, false))->mask[i] : 0;
    return of(stream, hipSuccess);
}

API hipError_t hipStreamDestroy(hipStream_t stream)
{
    if (!stream || !sim_is_stream(stream))
        return sim_return(hipErrorInvalidHandle);
    sim_wait(stream, sim_last(stream));
    sim_end_stream(stream);
    return sim_return(hipSuccess);
}

static hipError_t synchronize(hipStream_t stream, bool own_thread)
{
    if (!sim_is_stream(stream))
        return sim_return(hipErrorInvalidHandle);
    hipStream_t meant = sim_stream(stream, own_thread);
    if (!stream && !own_thread)
        sim_wait_all(sim_device);
    sim_wait(meant, sim_last(meant));
    return sim_return(hipSuccess);
}

API hipError_t hipStreamSynchronize(hipStream_t stream)
{
    return synchronize(stream, false);
}

API hipError_t hipStreamSynchronize_spt(hipStream_t stream)
{
    return synchronize(stream, true);
}

#if SIM_HIP >= 7
struct host_function { hipHostFn_t function; void *data; };

static void call_host(void *data)
{
    const struct host_function *one = data;
    one->function(one->data);
}

API hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void *data)
{
    if (!function || !sim_is_stream(stream))
        return sim_return(function ? hipErrorInvalidHandle : hipErrorInvalidValue);
    const struct host_function one = { function, data };
    sim_submit(sim_stream(stream, false), call_host, &one, sizeof one);
    return sim_return(hipSuccess);
}
#endif

API hipError_t hipStreamQuery(hipStream_t stream)
{
    hipStream_t meant = sim_stream(stream, false);
    return sim_return(sim_done(meant, sim_last(meant)) ? hipSuccess : hipErrorNotReady);
}

/* ---- events ---- */

struct ihipEvent_t { hipStream_t stream; uint64_t number; };

API hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof **event);
    return sim_return(hipSuccess);
}

API hipError_t hipEventCreate(hipEvent_t *event)
{
    return hipEventCreateWithFlags(event, 0);
}

API hipError_t hipEventDestroy(hipEvent_t event)
{
    free(event);
    return sim_return(hipSuccess);
}

API hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    event->stream = sim_stream(stream, false);
    event->number = sim_submit(event->stream, NULL, NULL, 0);
    return of(stream, hipSuccess);
}

API hipError_t hipEventSynchronize(hipEvent_t event)
{
    if (event->stream)
        sim_wait(event->stream, event->number);
    return sim_return(hipSuccess);
}

API hipError_t hipEventQuery(hipEvent_t event)
{
    bool done = !event->stream || sim_done(event->stream, event->number);
    return sim_return(done ? hipSuccess : hipErrorNotReady);
}

API hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t from, hipEvent_t to)
{
    (void)from, (void)to;
    *milliseconds = 1.0f;
    return sim_return(hipSuccess);
}

API hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags)
{
    (void)flags;
    if (event->stream)
        sim_submit_after(sim_stream(stream, false), event->stream, event->number);
    return of(stream, hipSuccess);
}

/* ---- memory operations ---- */

struct write { void *to; uint32_t value; };

static void write_value(void *data)
{
    const struct write *one = data;
    *(volatile uint32_t *)one->to = one->value;
}

API hipError_t hipStreamWriteValue32(hipStream_t stream, void *to, uint32_t value, unsigned int flags)
{
    const struct write one = { to, value };
    (void)flags;
    if (!to || !sim_is_stream(stream))
        return of(stream, hipErrorInvalidValue);
    sim_submit(sim_stream(stream, false), write_value, &one, sizeof one);
    return sim_return(hipSuccess);
}
