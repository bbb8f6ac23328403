/* Copies that are described by a structure: the two ends are worked out to plain addresses, and the structure is kept
 * as it was. */
#define _GNU_SOURCE
#include "cuda/crumbs.h"
#include "cuda/hooks.h"
#include "cuda/sites.h"

/* Driver API reference, cuMemcpy3D: the first byte of a side is base + (z * height + y) * pitch + x. For an array it is
 * the array's handle, and the structure has the rest. */
static uint64_t first_byte(uint32_t type, const void *host, CUdeviceptr device, CUarray array, uint64_t offset)
{
    if (type == CU_MEMORYTYPE_ARRAY)
        return GDX_CU_WORD(array);
    return (type == CU_MEMORYTYPE_HOST ? GDX_CU_WORD(host) : device) + offset;
}

static uint64_t start2(const struct gdx_cu_side2 *side)
{
    return first_byte(side->type, side->host, side->device, side->array, side->y * side->pitch + side->x);
}

static uint64_t start3(const struct gdx_cu_side3 *side)
{
    uint64_t rows = side->z * side->height + side->y;
    return first_byte(side->type, side->host, side->device, side->array, rows * side->pitch + side->x);
}

static uint64_t kinds(uint32_t src, uint32_t dst)
{
    return (src & 255) | (uint64_t)(dst & 255) << 8;
}

static struct gdx_cu_box box2(const CUDA_MEMCPY2D *copy)
{
    return (struct gdx_cu_box){ start2(&copy->src), start2(&copy->dst), copy->src.pitch, copy->dst.pitch, copy->width,
                                copy->height, 1, kinds(copy->src.type, copy->dst.type) };
}

struct gdx_cu_box gdx_cu_box3(const CUDA_MEMCPY3D *copy)
{
    return (struct gdx_cu_box){ start3(&copy->src), start3(&copy->dst), copy->src.pitch, copy->dst.pitch, copy->width,
                                copy->height, copy->depth, kinds(copy->src.type, copy->dst.type) };
}

static struct gdx_cu_box box_peer(const CUDA_MEMCPY3D_PEER *copy)
{
    return gdx_cu_box3((const CUDA_MEMCPY3D *)copy);  /* the same but for two members that hold contexts */
}
_Static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(CUDA_MEMCPY3D_PEER), "the two kinds of copies");

static void put_box(struct gdx_open *open, uint64_t queue, struct gdx_cu_box box)
{
    const uint64_t words[GDX_WORDS] = { queue,     box.src,    box.dst,   box.src_pitch, box.dst_pitch,
                                        box.width, box.height, box.depth, box.kinds };
    for (unsigned i = 0; i < GDX_WORDS; i++)
        open->slot->w[i] = words[i];
}

/* The structure is the program's: only our copy of it is looked at. */
#define COPY(name, call, type, box, queue_parameter, queue, own_thread, crumb, behind, ...)                     \
    CUresult rec_##name(const type *copy queue_parameter)                                                       \
    {                                                                                                           \
        struct gdx_open open;                                                                                   \
        unsigned site = gdx_cu_site_begins(#call, queue, own_thread);                                           \
        if (gdx_cu_begin(&open, GDX_CALL_##call, __builtin_return_address(0))) {                                \
            type own;                                                                                           \
            put_box(&open, gdx_cu_queue(queue, own_thread), (struct gdx_cu_box){ 0 });                          \
            gdx_show(&open);                                                                                    \
            if (copy && gdx_read(&open.lane->reader, &own, copy, sizeof own)) {                                 \
                put_box(&open, gdx_cu_queue(queue, own_thread), box(&own));                                     \
                gdx_put(&open, 0, &own, sizeof own);                                                            \
            } else {                                                                                            \
                open.slot->flags |= GDX_FLAG_cut;                                                               \
            }                                                                                                   \
            gdx_commit(&open);                                                                                  \
        }                                                                                                       \
        CUresult result = gdx_cu_next.name(__VA_ARGS__);                                                        \
        crumb(&open, queue, own_thread, result);                                                                \
        gdx_cu_end_on(&open, queue, own_thread, result);                                                        \
        gdx_cu_site_ends(site, queue, own_thread, result);                                                      \
        behind(queue, own_thread, result)                                                                       \
        return result;                                                                                          \
    }
#define NOTHING
#define NO_CRUMB(...)  /* these return only when the work is done */
#define ENDED(queue, own_thread, result)
#define GOES_ON(queue, own_thread, result) gdx_cu_transfer_ends(queue, own_thread, result);
#define STREAM , CUstream queue
#define BLOCKING(name, type, box)                                            \
    COPY(name, name, type, box, NOTHING, NULL, false, NO_CRUMB, ENDED, copy) \
    COPY(name##_ptds, name, type, box, NOTHING, NULL, true, NO_CRUMB, ENDED, copy)
#define QUEUED(name, type, box, behind)                                                  \
    COPY(name, name, type, box, STREAM, queue, false, gdx_cu_crumb, behind, copy, queue) \
    COPY(name##_ptsz, name, type, box, STREAM, queue, true, gdx_cu_crumb, behind, copy, queue)

BLOCKING(cuMemcpy2D_v2, CUDA_MEMCPY2D, box2)
BLOCKING(cuMemcpy2DUnaligned_v2, CUDA_MEMCPY2D, box2)
BLOCKING(cuMemcpy3D_v2, CUDA_MEMCPY3D, gdx_cu_box3)
BLOCKING(cuMemcpy3DPeer, CUDA_MEMCPY3D_PEER, box_peer)
QUEUED(cuMemcpy2DAsync_v2, CUDA_MEMCPY2D, box2, GOES_ON)
QUEUED(cuMemcpy3DAsync_v2, CUDA_MEMCPY3D, gdx_cu_box3, GOES_ON)
QUEUED(cuMemcpy3DPeerAsync, CUDA_MEMCPY3D_PEER, box_peer, ENDED)
