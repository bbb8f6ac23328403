/* The recorder as an OpenCL layer in front of a driver's own table, entered by hand. */
#pragma once

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "cl_abi.h"

static const struct cl_dispatch *enter_layer(const char *path, const struct cl_dispatch *target)
{
    void *lib = dlopen(path, RTLD_NOW);
    cl_int (*init)(cl_uint, const struct cl_dispatch *, cl_uint *, const struct cl_dispatch **);
    const struct cl_dispatch *table;
    cl_uint count;
    if (!lib || !(*(void **)&init = dlsym(lib, "clInitLayer")) || init(CL_DISPATCH_ENTRIES, target, &count, &table)) {
        fprintf(stderr, "cannot enter the layer %s: %s\n", path, lib ? "clInitLayer failed" : dlerror());
        exit(2);
    }
    return table;
}
