/* Copies that are described by a structure of the driver's kind, between plain memory only. HIP_MEMCPY3D and the numbers of kinds of
 * memory changed in HIP 6: each shape of the simulator has its own. */
#include <stdint.h>

#include "sim.h"

#if SIM_HIP >= 7
struct side { uint64_t x, y, z, level; uint32_t type; const char *host, *device; void *array; uint64_t pitch, height; };
struct box { struct side src, dst; uint64_t width, height, depth; };
_Static_assert(sizeof(struct box) == 184, "HIP_MEMCPY3D of HIP 7");
enum { HOST = 1, ARRAY = 10 };
#else
struct side { uint32_t x, y, z, level, type; const char *host, *device; void *array; uint32_t pitch, height; };
struct box { struct side src, dst; uint32_t width, height, depth; };
_Static_assert(sizeof(struct box) == sizeof(HIP_MEMCPY3D), "HIP_MEMCPY3D");
enum { HOST = 0, ARRAY = 2 };
#endif
struct flat_side { size_t x, y; uint32_t type; const char *host, *device; void *array; size_t pitch; };
struct flat { struct flat_side src, dst; size_t width, height; };
_Static_assert(sizeof(struct flat) == sizeof(hip_Memcpy2D), "hip_Memcpy2D");

static hipPitchedPtr pitched(const char *at, size_t pitch, size_t rows)
{
    return (hipPitchedPtr){ (void *)(uintptr_t)at, pitch, pitch, rows };
}

API hipError_t hipDrvMemcpy3D(const HIP_MEMCPY3D *given)
{
    const struct box *c = (const void *)given;
    if (!c || c->src.type == ARRAY || c->dst.type == ARRAY)
        return sim_return(hipErrorInvalidValue);
    struct hipMemcpy3DParms p = {
        .srcPos = { c->src.x, c->src.y, c->src.z }, .dstPos = { c->dst.x, c->dst.y, c->dst.z },
        .srcPtr = pitched(c->src.type == HOST ? c->src.host : c->src.device, c->src.pitch, c->src.height),
        .dstPtr = pitched(c->dst.type == HOST ? c->dst.host : c->dst.device, c->dst.pitch, c->dst.height),
        .extent = { c->width, c->height, c->depth }, .kind = hipMemcpyDefault,
    };
    return hipMemcpy3D(&p);
}

API hipError_t hipMemcpyParam2D(const hip_Memcpy2D *given)
{
    const struct flat *c = (const void *)given;
    if (!c || c->src.type == ARRAY || c->dst.type == ARRAY)
        return sim_return(hipErrorInvalidValue);
    const char *src = c->src.type == HOST ? c->src.host : c->src.device, *dst = c->dst.type == HOST ? c->dst.host : c->dst.device;
    return hipMemcpy2D((void *)(uintptr_t)(dst + c->dst.y * c->dst.pitch + c->dst.x), c->dst.pitch,
                       src + c->src.y * c->src.pitch + c->src.x, c->src.pitch, c->width, c->height, hipMemcpyDefault);
}
