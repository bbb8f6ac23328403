/* What HIP 7 has and 5.2 has not. Only in the shape of HIP 7 (-DSIM_HIP=7): the recorder tells the two apart by what a library
 * exports. The rest is compiled against the header of 5.2.3, so structures of HIP 7 are described here, as far as they are used. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#if SIM_HIP >= 7

/* ---- devices: hip_runtime_api.h of 7.1, hipDeviceProp_tR0600 ---- */

struct properties {
    char name[256], ids[32];
    size_t memory, shared;
    int registers, wave;
    size_t pitch;
    int threads, block[3], grid[3], clock;
    char more[1472 - 352];
};
enum { ARCHITECTURE_AT = 1160, UNITS_AT = 388, COOPERATIVE_AT = 688 };
_Static_assert(sizeof(struct properties) == 1472, "hipDeviceProp_tR0600");

static void put_int(void *properties, size_t offset, int value)
{
    memcpy((char *)properties + offset, &value, sizeof value);
}

API hipError_t hipGetDevicePropertiesR0600(struct properties *p, int device)
{
    if (device < 0 || device >= sim_devices())
        return sim_return(hipErrorInvalidDevice);
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "simulated AMD device %d", device);
    p->memory = (size_t)16 << 30;
    p->shared = 65536;
    p->registers = 65536;
    p->wave = 64;
    p->threads = p->block[0] = p->block[1] = p->block[2] = 1024;
    p->grid[0] = p->grid[1] = p->grid[2] = 2147483647;
    put_int(p, UNITS_AT, 60);
    put_int(p, COOPERATIVE_AT, 1);
    strncpy((char *)p + ARCHITECTURE_AT, sim_architecture(), 255);
    return sim_return(hipSuccess);
}

/* ---- the runtime's own look-up ---- */

static void *own(const char *name)
{
    static void *self;
    Dl_info info;
    if (!self && dladdr((void *)own, &info))
        self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return self ? dlsym(self, name) : NULL;
}

enum { FOUND, NOT_FOUND, OWN_STREAM = 2, R0600 = 600 };

static hipError_t find(const char *symbol, void **function, int version, bool own_stream, int *found)
{
    char name[256];
    void *at = NULL;
    if (!symbol || !function)
        return sim_return(hipErrorInvalidValue);
    if (own_stream) {
        snprintf(name, sizeof name, "%s_spt", symbol);
        at = own(name);
    }
    if (!at && version >= R0600) {
        snprintf(name, sizeof name, "%sR0600", symbol);
        at = own(name);
    }
    *function = at ? at : own(symbol);
    if (found)
        *found = *function ? FOUND : NOT_FOUND;
    return sim_return(*function ? hipSuccess : hipErrorNotFound);
}

API hipError_t hipGetProcAddress(const char *symbol, void **function, int version, uint64_t flags, int *found)
{
    return find(symbol, function, version, flags & OWN_STREAM, found);
}

API hipError_t hipGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags, int *found)
{
    return find(symbol, function, R0600 + 100, flags & OWN_STREAM, found);
}

API hipError_t hipGetDriverEntryPoint_spt(const char *symbol, void **function, unsigned long long flags, int *found)
{
    (void)flags;
    return find(symbol, function, R0600 + 100, true, found);
}

/* ---- libraries: modules under another name ---- */

API hipError_t hipLibraryLoadData(hipModule_t *library, const void *image, hipJitOption *options, void **values,
                                  unsigned option_count, void *library_options, void **library_values, unsigned library_count)
{
    (void)options, (void)values, (void)option_count, (void)library_options, (void)library_values, (void)library_count;
    return hipModuleLoadData(library, image);
}

API hipError_t hipLibraryUnload(hipModule_t library)
{
    return hipModuleUnload(library);
}

API hipError_t hipLibraryGetKernel(hipFunction_t *kernel, hipModule_t library, const char *name)
{
    return hipModuleGetFunction(kernel, library, name);
}

API hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                                unsigned by, unsigned bz, unsigned shared, hipStream_t stream, void **params)
{
    return hipModuleLaunchKernel(kernel, gx, gy, gz, bx, by, bz, shared, stream, params, NULL);
}

/* ---- graphs with memory nodes: driver_types.h of 7.1, hipMemAllocNodeParams ---- */

struct allocation { char properties[88]; const void *access; size_t access_count, bytes; void *address; };
_Static_assert(offsetof(struct allocation, bytes) == 104 && sizeof(struct allocation) == 120, "hipMemAllocNodeParams");

static void do_allocate(void *params)
{
    sim_revive(((struct allocation *)params)->address);
}

/* The address is known when the node is made; the memory is there from each launch on until a node frees it. */
API hipError_t hipGraphAddMemAllocNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *after, size_t count,
                                       struct allocation *params)
{
    (void)after, (void)count;
    params->address = sim_allocate(params->bytes, sim_device);
    return params->address ? sim_add_node(node, graph, SIM_ALLOCATION, do_allocate, params, sizeof *params)
                           : sim_return(hipErrorOutOfMemory);
}

static void do_free(void *address)
{
    sim_release(*(void **)address);
}

API hipError_t hipGraphAddMemFreeNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *after, size_t count,
                                      void *address)
{
    (void)after, (void)count;
    return sim_add_node(node, graph, SIM_FREE, do_free, &address, sizeof address);
}

API hipError_t hipGraphMemFreeNodeGetParams(hipGraphNode_t node, void *address)
{
    return sim_node_data(node, SIM_FREE, address, sizeof(void *));
}

API hipError_t hipGraphMemAllocNodeGetParams(hipGraphNode_t node, struct allocation *params)
{
    return sim_node_data(node, SIM_ALLOCATION, params, sizeof *params);
}
#endif
