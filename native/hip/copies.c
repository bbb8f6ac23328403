/* Copies that are described by a structure of the driver's kind: the two ends are worked out to plain addresses.
 *
 * HIP_MEMCPY3D had members of 32 bits before HIP 6. It is recorded in the form of HIP 6 whatever runs, so that a reader finds
 * everything in one place. */
#define _GNU_SOURCE
#include "hip/sites.h"
#include "hip/watch.h"

/* ---- structures ---- */

struct side3 { uint64_t x, y, z, level; uint32_t type; const void *host, *device, *array; uint64_t pitch, height; };
struct copy3 { struct side3 src, dst; uint64_t width, height, depth; };
_Static_assert(sizeof(struct copy3) == 184, "HIP_MEMCPY3D of HIP 6");

struct old_side3 { uint32_t x, y, z, level, type; const void *host, *device, *array; uint32_t pitch, height; };
struct old_copy3 { struct old_side3 src, dst; uint32_t width, height, depth; };
_Static_assert(sizeof(struct old_copy3) == 128, "HIP_MEMCPY3D of HIP 5");

static struct side3 widened(const struct old_side3 *s)
{
    return (struct side3){ s->x, s->y, s->z, s->level, s->type, s->host, s->device, s->array, s->pitch, s->height };
}

/* hip_runtime_api.h, hipMemoryType: host, device, array and unified are 0, 1, 2, 3 in HIP 5 and 1, 2, 10, 11 since; managed is 3
 * since then. Recorded as 1 host, 2 device, 3 array, 4 either. */
enum { HOST = 1, DEVICE = 2, ARRAY = 3, EITHER = 4 };
static unsigned kind_of(uint32_t type)
{
    if (!gdx_hip_is_later())
        return type <= 3 ? type + 1 : EITHER;
    return type == 1 ? HOST : type == 2 ? DEVICE : type == 10 ? ARRAY : EITHER;
}

/* HIP runtime API, hipDrvMemcpy3D: the first byte of a side is base + (z * height + y) * pitch + x; unified memory is named by
 * the member for device memory. For an array it is the handle, and the structure has the rest. */
static uint64_t first_byte(unsigned kind, const void *host, const void *device, const void *array, uint64_t offset)
{
    return kind == ARRAY ? GDX_HIP_WORD(array) : GDX_HIP_WORD(kind == HOST ? host : device) + offset;
}

static uint64_t start3(const struct side3 *side)
{
    uint64_t offset = (side->z * side->height + side->y) * side->pitch + side->x;
    return first_byte(kind_of(side->type), side->host, side->device, side->array, offset);
}

static uint64_t start2(const struct gdx_hip_side2 *side)
{
    return first_byte(kind_of(side->type), side->host, side->device, side->array, side->y * side->pitch + side->x);
}

static uint64_t kinds_of(uint32_t src, uint32_t dst)
{
    return kind_of(src) | (uint64_t)kind_of(dst) << 8;
}

/* ---- recording ---- */

static void put_words(struct gdx_open *open, const uint64_t words[GDX_WORDS])
{
    memcpy(open->slot->w, words, GDX_WORDS * sizeof *words);
}

/* A copy of the program's structure. False: it cannot be read, and the record says so. */
static bool copy_in(struct gdx_open *open, uint64_t queue, void *to, const void *from, size_t bytes)
{
    const uint64_t none[GDX_WORDS] = { queue };
    put_words(open, none);
    gdx_show(open);
    if (from && gdx_read(&open->lane->reader, to, from, bytes))
        return true;
    open->slot->flags |= GDX_FLAG_cut;
    return false;
}

static void put_copy2(struct gdx_open *open, uint64_t queue, const hip_Memcpy2D *given)
{
    hip_Memcpy2D c;
    if (!copy_in(open, queue, &c, given, sizeof c))
        return;
    const uint64_t words[GDX_WORDS] = { queue, start2(&c.src), start2(&c.dst), c.src.pitch, c.dst.pitch,
                                        c.width, c.height, 1, kinds_of(c.src.type, c.dst.type) };
    put_words(open, words);
    gdx_put(open, 0, &c, sizeof c);
}

static void put_copy3(struct gdx_open *open, uint64_t queue, const void *given)
{
    struct copy3 c;
    struct old_copy3 old;
    bool later = gdx_hip_is_later();
    if (!copy_in(open, queue, later ? (void *)&c : (void *)&old, given, later ? sizeof c : sizeof old))
        return;
    if (!later)
        c = (struct copy3){ widened(&old.src), widened(&old.dst), old.width, old.height, old.depth };
    const uint64_t words[GDX_WORDS] = { queue, start3(&c.src), start3(&c.dst), c.src.pitch, c.dst.pitch,
                                        c.width, c.height, c.depth, kinds_of(c.src.type, c.dst.type) };
    put_words(open, words);
    gdx_put(open, 0, &c, sizeof c);
}

/* hip_runtime_api.h, hipMemcpy3DPeerParms: as hipMemcpy3DParms, with a device on each side and no direction. */
static uint64_t peer_start(hipArray_t array, hipPos pos, const hipPitchedPtr *side)
{
    return first_byte(array ? ARRAY : DEVICE, NULL, side->ptr, array, (pos.z * side->ysize + pos.y) * side->pitch + pos.x);
}

static void put_peer(struct gdx_open *open, uint64_t queue, const hipMemcpy3DPeerParms *given)
{
    hipMemcpy3DPeerParms c;
    if (!copy_in(open, queue, &c, given, sizeof c))
        return;
    const uint64_t words[GDX_WORDS] = {
        queue, peer_start(c.src_array, c.src_pos, &c.src), peer_start(c.dst_array, c.dst_pos, &c.dst),
        c.src.pitch, c.dst.pitch, c.extent.width, c.extent.height, c.extent.depth,
        (c.src_array ? ARRAY : DEVICE) | (c.dst_array ? ARRAY : DEVICE) << 8,
    };
    put_words(open, words);
    gdx_put(open, 0, &c, sizeof c);
}

#define COPY(name, type, put, parameter, queue, ...)                                       \
    hipError_t rec_##name(type *copy parameter)                                            \
    {                                                                                      \
        struct gdx_open open;                                                              \
        unsigned site = gdx_hip_site_begins(#name, queue, false);                          \
        if (gdx_hip_begin(&open, GDX_CALL_##name, __builtin_return_address(0))) {          \
            put(&open, gdx_hip_queue(queue, false), copy);                                 \
            gdx_commit(&open);                                                             \
        }                                                                                  \
        hipError_t status = gdx_hip_next.name(__VA_ARGS__);                                \
        gdx_hip_watch_submitted(queue, false, status);                                     \
        gdx_hip_end_on(&open, queue, false, status);                                       \
        gdx_hip_site_ends(site, queue, false, status);                                     \
        return status;                                                                     \
    }
#define NOTHING
#define STREAM , hipStream_t queue
COPY(hipMemcpyParam2D, const hip_Memcpy2D, put_copy2, NOTHING, NULL, copy)
COPY(hipMemcpyParam2DAsync, const hip_Memcpy2D, put_copy2, STREAM, queue, copy, queue)
COPY(hipDrvMemcpy2DUnaligned, const hip_Memcpy2D, put_copy2, NOTHING, NULL, copy)
COPY(hipDrvMemcpy3D, const HIP_MEMCPY3D, put_copy3, NOTHING, NULL, copy)
COPY(hipDrvMemcpy3DAsync, const HIP_MEMCPY3D, put_copy3, STREAM, queue, copy, queue)
COPY(hipMemcpy3DPeer, hipMemcpy3DPeerParms, put_peer, NOTHING, NULL, copy)
COPY(hipMemcpy3DPeerAsync, hipMemcpy3DPeerParms, put_peer, STREAM, queue, copy, queue)
