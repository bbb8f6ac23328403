/* The way in: an OpenCL layer, as the Khronos loader and ocl-icd load it from OPENCL_LAYERS.
 *
 * The loader offers the table of what comes after us and takes ours. Tables grow at the end from version to version,
 * so both sides say how many entries they know; entries past either's end are left alone. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <string.h>

#include "core/process.h"
#include "driver/driver.h"
#include "opencl/own.h"
#include "opencl/hooks.h"

enum { LAYER_API_VERSION = 0x4240, LAYER_NAME = 0x4241, VERSION_100 = 100 };

static _Atomic int taken;

static cl_int answer(const void *data, size_t bytes, size_t room, void *value, size_t *value_size)
{
    if (value && room < bytes)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, data, bytes);
    if (value_size)
        *value_size = bytes;
    return CL_SUCCESS;
}

GDX_EXPORT cl_int clGetLayerInfo(cl_uint what, size_t room, void *value, size_t *value_size)
{
    static const cl_uint version = VERSION_100;
    static const char name[] = "gpudx";
    if (what == LAYER_API_VERSION)
        return answer(&version, sizeof version, room, value, value_size);
    return what == LAYER_NAME ? answer(name, sizeof name, room, value, value_size) : CL_INVALID_VALUE;
}

/* Ours where we record and the next one has the entry, the next one's otherwise. */
static void mix(struct cl_dispatch *table, const struct cl_dispatch *next)
{
    void **out = (void **)table;
    void *const *ours = (void *const *)&gdx_cl_recording, *const *theirs = (void *const *)next;
    for (size_t i = 0; i < CL_DISPATCH_ENTRIES; i++)
        out[i] = ours[i] && theirs[i] ? ours[i] : theirs[i];
}

#pragma weak gdx_is_over
#pragma weak gdx_hip_api

bool gdx_cl_is_beneath_hip(void)
{
    return gdx_is_over && gdx_is_over(&gdx_hip_api, "libOpenCL");
}

GDX_EXPORT cl_int clInitLayer(cl_uint num_entries, const struct cl_dispatch *target, cl_uint *num_entries_ret,
                              const struct cl_dispatch **table_ret)
{
    static struct cl_dispatch table GDX_HOT_DATA;
    if (!target || !num_entries_ret || !table_ret)
        return CL_INVALID_VALUE;
    /* OpenCL beneath HIP is that runtime's own work: each launch would be there twice. */
    if (gdx_cl_is_beneath_hip())
        return CL_INVALID_OPERATION;
    /* A second loader in the same process would need a second table; it is left unrecorded instead. */
    if (!gdx_directory() || atomic_exchange(&taken, 1))
        return CL_INVALID_OPERATION;
    size_t known = num_entries < CL_DISPATCH_ENTRIES ? num_entries : CL_DISPATCH_ENTRIES;
    memcpy(&gdx_cl_next, target, known * sizeof(void *));
    mix(&table, &gdx_cl_next);
    *num_entries_ret = (cl_uint)known;
    *table_ret = &table;
    gdx_entered(GDX_ENTRY_CL_LAYER);
    return CL_SUCCESS;
}

GDX_EXPORT cl_int clInitLayerWithProperties(cl_uint num_entries, const struct cl_dispatch *target, cl_uint *num_entries_ret,
                                            const struct cl_dispatch **table_ret, const void *properties)
{
    (void)properties;
    return clInitLayer(num_entries, target, num_entries_ret, table_ret);
}

GDX_EXPORT cl_int clDeinitLayer(void)
{
    return CL_SUCCESS;  /* our table stays valid: calls may still come from exit handlers */
}
