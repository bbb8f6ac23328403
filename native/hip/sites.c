/* See sites.h. What is done stands right before a call of the program, which sets the last error anew, or behind one that succeeded:
 * a failure of ours is followed by a call that takes its error away (hooks.h). */
#define _GNU_SOURCE
#include "hip/sites.h"

enum { DISABLE_TIMING = 2 };  /* hip_runtime_api.h, hipEventDisableTiming */
#define STREAM(word) ((hipStream_t)(uintptr_t)(word))
#define EVENT(word) ((hipEvent_t)(uintptr_t)(word))

static bool done(hipError_t status)
{
    if (status != hipSuccess && gdx_hip_driver.hipGetLastError)
        gdx_hip_driver.hipGetLastError();
    return status == hipSuccess;
}

static bool captures(void)
{
    return atomic_load(&gdx_hip_captures) > 0;
}

static bool hold(uint64_t queue, void (*function)(void *))
{
    return gdx_hip_driver.hipLaunchHostFunc && done(gdx_hip_driver.hipLaunchHostFunc(STREAM(queue), function, NULL));
}

static uint64_t new_event(void)
{
    hipEvent_t event;
    return done(gdx_hip_driver.hipEventCreateWithFlags(&event, DISABLE_TIMING)) ? GDX_HIP_WORD(event) : 0;
}

static bool record(uint64_t event, uint64_t queue)
{
    return done(gdx_hip_driver.hipEventRecord(EVENT(event), STREAM(queue)));
}

static bool wait_for(uint64_t queue, uint64_t event)
{
    return done(gdx_hip_driver.hipStreamWaitEvent(STREAM(queue), EVENT(event), 0));
}

const struct gdx_site_api gdx_hip_site_api = { captures, hold, new_event, record, wait_for };
