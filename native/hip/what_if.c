/* What-if experiments (driver/what_if.h) for HIP. */
#define _GNU_SOURCE
#include <string.h>

#include "driver/what_if.h"
#include "hip/red.h"

static struct gdx_hip_table below;

/* hip_runtime_api.h, hipMemcpyKind: 1 to the device, 2 back. */
static hipMemcpyKind gdx_hip_backwards(hipMemcpyKind kinds)
{
    return kinds == hipMemcpyHostToDevice ? hipMemcpyDeviceToHost : kinds == hipMemcpyDeviceToHost ? hipMemcpyHostToDevice : kinds;
}

#include "hip_what_if.h"

void gdx_hip_what_if_table(void **functions)
{
    if (!gdx_what_if())
        return;
    memcpy(&below, functions, sizeof below);
    gdx_hip_put(functions, made_from_schema);
}
