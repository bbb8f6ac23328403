/* See sites.h. */
#define _GNU_SOURCE
#include "cuda/sites.h"

#define STREAM(word) ((CUstream)(uintptr_t)(word))
#define EVENT(word) ((CUevent)(uintptr_t)(word))

static bool captures(void)
{
    return atomic_load(&gdx_cu_captures) > 0;
}

static bool hold(uint64_t queue, void (*function)(void *))
{
    return gdx_cu_next.cuLaunchHostFunc && gdx_cu_next.cuLaunchHostFunc(STREAM(queue), function, NULL) == CUDA_SUCCESS;
}

static uint64_t new_event(void)
{
    CUevent event;
    return gdx_cu_next.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS ? (uint64_t)(uintptr_t)event : 0;
}

static bool record(uint64_t event, uint64_t queue)
{
    return gdx_cu_next.cuEventRecord(EVENT(event), STREAM(queue)) == CUDA_SUCCESS;
}

static bool wait_for(uint64_t queue, uint64_t event)
{
    return gdx_cu_next.cuStreamWaitEvent(STREAM(queue), EVENT(event), 0) == CUDA_SUCCESS;
}

const struct gdx_site_api gdx_cu_site_api = { captures, hold, new_event, record, wait_for };
