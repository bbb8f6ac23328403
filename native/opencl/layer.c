/* The way in: an OpenCL layer, as the Khronos loader and ocl-icd load it from OPENCL_LAYERS.
 *
 * The loader offers the table of what comes after us and takes ours. Tables grow at the end from version to version,
 * so both sides say how many entries they know; entries past either's end are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "core/process.h"
#include "core/sites.h"
#include "driver/driver.h"
#include "opencl/capture.h"
#include "opencl/checks.h"
#include "opencl/own.h"
#include "opencl/hooks.h"

enum { LAYER_API_VERSION = 0x4240, LAYER_NAME = 0x4241, VERSION_100 = 100 };

static _Atomic int taken;
static struct { void *base; char name[512]; } from;  /* the loader that we came in through */

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

static bool loader_of(const struct cl_dispatch *target, Dl_info *at)
{
    return target->clGetPlatformIDs && dladdr((void *)(uintptr_t)target->clGetPlatformIDs, at) && at->dli_fname;
}

/* Programs close the loader and open it again: then the table is the new one's. While the first one is there, this one is a second, which
 * would need a table of its own; and instruments that keep objects would give them to a driver that does not know them. */
static bool replaces_it(const struct cl_dispatch *target)
{
    Dl_info old, now;
    bool keeps_objects = gdx_checks() || gdx_fence_edge() || gdx_poisons() || gdx_watching() || gdx_capturing() || gdx_sites();
    if (keeps_objects || !loader_of(target, &now))
        return false;
    bool there = loader_of(&gdx_cl_next, &old) && old.dli_fbase == from.base && !strncmp(old.dli_fname, from.name, sizeof from.name - 1);
    return !there || now.dli_fbase == from.base;
}

static bool take(const struct cl_dispatch *target)
{
    Dl_info at;
    if (atomic_exchange(&taken, 1) && !replaces_it(target)) {
        gdx_entered(GDX_ENTRY_CL_MISSED);
        return false;
    }
    if (loader_of(target, &at)) {
        from.base = at.dli_fbase;
        strncpy(from.name, at.dli_fname, sizeof from.name - 1);
    }
    return true;
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
    if (!gdx_directory() || !take(target))
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
