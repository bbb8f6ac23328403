/* What-if experiments (driver/what_if.h) for CUDA. */
#define _GNU_SOURCE
#include <string.h>

#include "cuda/fence.h"
#include "driver/what_if.h"

static struct gdx_cu_table below;

#include "cu_what_if.h"

/* ---- copies between rows, which a structure describes: cudaMemcpy2D makes these ---- */

static void *address_of(struct gdx_cu_side2 *side)
{
    return side->type == CU_MEMORYTYPE_ARRAY ? NULL : side->type == CU_MEMORYTYPE_HOST ? (void *)&side->host : (void *)&side->device;
}

static uint64_t read_address(struct gdx_cu_side2 *side)
{
    uint64_t address = 0;
    if (address_of(side))
        memcpy(&address, address_of(side), sizeof address);
    return address;
}

static void write_address(struct gdx_cu_side2 *side, uint64_t address)
{
    if (address_of(side))
        memcpy(address_of(side), &address, sizeof address);
}

/* The program's copy, or `own` with what is changed in it. */
static const CUDA_MEMCPY2D *instead(const char *call, const CUDA_MEMCPY2D *copy, CUDA_MEMCPY2D *own)
{
    struct gdx_lane *lane = copy ? gdx_lane() : NULL;
    if (!lane || !gdx_read(&lane->reader, own, copy, sizeof *own))
        return copy;
    struct gdx_transfer t = { { read_address(&own->src), read_address(&own->dst) }, { own->src.pitch, own->dst.pitch }, own->width, false };
    gdx_what_if_transfer(call, &t);
    if (t.backwards) {
        const struct gdx_cu_side2 src = own->src;
        own->src = own->dst;
        own->dst = src;
        return own;
    }
    write_address(&own->src, t.memory[0]);
    write_address(&own->dst, t.memory[1]);
    own->src.pitch = t.pitch[0];
    own->dst.pitch = t.pitch[1];
    own->width = t.bytes;
    return own;
}

#define ROWS(name, call, more, ...)                                     \
    static CUresult other_##name(const CUDA_MEMCPY2D *copy more)        \
    {                                                                   \
        CUDA_MEMCPY2D own;                                              \
        return below.name(instead(#call, copy, &own) __VA_ARGS__);      \
    }
#define NOTHING
#define STREAM , CUstream queue
#define QUEUE , queue
ROWS(cuMemcpy2D_v2, cuMemcpy2D_v2, NOTHING, NOTHING)
ROWS(cuMemcpy2D_v2_ptds, cuMemcpy2D_v2, NOTHING, NOTHING)
ROWS(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2, NOTHING, NOTHING)
ROWS(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2DUnaligned_v2, NOTHING, NOTHING)
ROWS(cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2, STREAM, QUEUE)
ROWS(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync_v2, STREAM, QUEUE)

#define STAND_IN(name) { GDX_CU_##name, (void *)other_##name }
static const struct gdx_cu_stand_in by_hand[] = {
    STAND_IN(cuMemcpy2D_v2), STAND_IN(cuMemcpy2D_v2_ptds), STAND_IN(cuMemcpy2DUnaligned_v2), STAND_IN(cuMemcpy2DUnaligned_v2_ptds),
    STAND_IN(cuMemcpy2DAsync_v2), STAND_IN(cuMemcpy2DAsync_v2_ptsz), { -1, NULL },
};

void gdx_cu_what_if_table(void **functions)
{
    if (!gdx_what_if())
        return;
    memcpy(&below, functions, sizeof below);
    gdx_cu_put(functions, made_from_schema);
    gdx_cu_put(functions, by_hand);
}
