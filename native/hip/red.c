/* The calls that make and free memory. Where the device can, the memory is mapped between fences (fence_map.c); else it is the
 * runtime's own with a red zone: larger than the program asked for, with a pattern behind the end that nobody may write.
 *
 * Whatever stands in the way of that, the program's allocation goes to the runtime as it came, and is counted: so a failing
 * allocation fails with the runtime's own status. Every path ends with a call of the runtime whose status is the program's,
 * so the error that it may ask for is the same, too. */
#define _GNU_SOURCE
#include "hip/red.h"

#include "core/gave_up.h"

struct gdx_fences gdx_hip_fences = { .blocks_most = 1 << 18, .ranges_most = 1 << 14, .bytes_most = 8ull << 40,
                                     .give_back = gdx_hip_give_back };

/* Why there is neither. */
static const char managed[] = "managed memory", captured[] = "made while a stream was captured",
    no_memory[] = "not enough device memory", refused[] = "a red zone that could not be filled",
    flagged[] = "memory with flags", boxed[] = "three-dimensional memory", empty[] = "without a size",
    ordered[] = "in the order of a stream";

uint64_t gdx_hip_owner(int device)
{
    return (uint64_t)device + 1;
}

/* ---- making ---- */

/* NULL: fenced memory can be made on this device, which is the current one. */
static const char *why_not(int *device)
{
    if (atomic_load(&gdx_hip_captures) > 0)
        return captured;  /* ours are not among the calls that a capture allows */
    if (!gdx_blocks_ready(&gdx_hip_fences) || gdx_hip_driver.hipGetDevice(device) != hipSuccess
        || !gdx_hip_own_stream(*device))
        return refused;
    gdx_hip_try_refusal(*device);
    return NULL;
}

/* Fresh memory, with at least the zone behind its `bytes`. */
static const char *keep(void *made, size_t bytes, int device)
{
    struct gdx_block block = { .device = device, .owner = gdx_hip_owner(device) };
    gdx_red_place(&block, GDX_HIP_WORD(made), bytes);
    if (gdx_hip_zone_fill(&block) && gdx_block_add(&gdx_hip_fences, &block)) {
        gdx_fence_note(&block, block.address, GDX_BLOCK_MADE);
        return NULL;
    }
    gdx_hip_driver.hipFree(made);
    return refused;
}

static const char *allocate(void **result, size_t bytes)
{
    int device = 0;
    void *made = NULL;
    const char *why = !result ? refused : !bytes || bytes > SIZE_MAX - GDX_RED_ZONE ? empty : why_not(&device);
    if (why)
        return why;
    if (gdx_hip_maps(device))
        return gdx_hip_map(result, bytes, device);
    if (gdx_hip_driver.hipMalloc(&made, bytes + GDX_RED_ZONE) != hipSuccess)
        return no_memory;
    why = keep(made, bytes, device);
    if (!why)
        *result = made;
    return why;
}

static hipError_t unfenced(const char *why, hipError_t status, void *const *result, size_t bytes)
{
    if (status == hipSuccess && result && *result)
        gdx_fence_note_missing(GDX_HIP_WORD(*result), bytes, why);
    return status;
}

static hipError_t red_hipMalloc(void **result, size_t bytes)
{
    const char *why = allocate(result, bytes);
    return why ? unfenced(why, gdx_hip_driver.hipMalloc(result, bytes), result, bytes) : hipSuccess;
}

/* Plain memory too, unless it is asked to be special (hip_runtime_api.h, hipDeviceMallocDefault). */
static hipError_t red_hipExtMallocWithFlags(void **result, size_t bytes, unsigned int flags)
{
    const char *why = flags ? flagged : allocate(result, bytes);
    return why ? unfenced(why, gdx_hip_driver.hipExtMallocWithFlags(result, bytes, flags), result, bytes) : hipSuccess;
}

/* ---- rows ---- */

/* How long a row is only the runtime knows, but not shorter than this: so many more rows hold a zone. */
enum { SHORTEST_ROW = 64 };

static size_t more_rows(size_t width)
{
    size_t row = width > SHORTEST_ROW ? width : SHORTEST_ROW;
    return (GDX_RED_ZONE + row - 1) / row;
}

static const char *keep_rows(void *made, size_t pitch, size_t width, size_t height, int device)
{
    if (pitch * more_rows(width) >= GDX_RED_ZONE)
        return keep(made, pitch * height, device);
    gdx_hip_driver.hipFree(made);
    return refused;
}

/* The runtime was asked for one row, to know how long it is. */
static const char *map_rows(void **result, size_t pitch, size_t height, int device)
{
    size_t bytes = 0;
    gdx_hip_driver.hipFree(*result);
    return __builtin_mul_overflow(pitch, height, &bytes) ? refused : gdx_hip_map(result, bytes, device);
}

#define PITCHED(name, type, more, ...)                                                                              \
    static hipError_t red_##name(type *result, size_t *pitch, size_t width, size_t height more)                     \
    {                                                                                                               \
        int device = 0;                                                                                             \
        const size_t asked = height;                                                                                \
        const char *why = !result || !pitch ? refused : !width || !height ? empty : why_not(&device);              \
        if (!why && gdx_hip_maps(device)) {                                                                         \
            height = 1;                                                                                             \
            why = gdx_hip_driver.name(result, pitch, width, height __VA_ARGS__) == hipSuccess                       \
                ? map_rows(result, *pitch, asked, device) : no_memory;                                              \
            height = asked;                                                                                         \
        } else if (!why) {                                                                                          \
            height += more_rows(width);                                                                             \
            why = gdx_hip_driver.name(result, pitch, width, height __VA_ARGS__) == hipSuccess                       \
                ? keep_rows(*result, *pitch, width, asked, device) : no_memory;                                     \
            height = asked;                                                                                         \
        }                                                                                                           \
        if (!why)                                                                                                   \
            return hipSuccess;                                                                                      \
        hipError_t status = gdx_hip_driver.name(result, pitch, width, height __VA_ARGS__);                          \
        return status == hipSuccess ? unfenced(why, status, result, *pitch *height) : status;                       \
    }
#define NOTHING
#define ELEMENT , unsigned int element
PITCHED(hipMallocPitch, void *, NOTHING)
PITCHED(hipMemAllocPitch, hipDeviceptr_t, ELEMENT, , element)

/* ---- what has no zone ---- */

#define WITHOUT(name, why, parameters, ...)                                                              \
    static hipError_t red_##name parameters                                                              \
    {                                                                                                    \
        return unfenced(why, gdx_hip_driver.name(__VA_ARGS__), result, bytes);                           \
    }
WITHOUT(hipMallocManaged, managed, (void **result, size_t bytes, unsigned int flags), result, bytes, flags)
WITHOUT(hipMallocAsync, ordered, (void **result, size_t bytes, hipStream_t queue), result, bytes, queue)
WITHOUT(hipMallocFromPoolAsync, ordered, (void **result, size_t bytes, hipMemPool_t pool, hipStream_t queue), result, bytes,
        pool, queue)

static hipError_t red_hipMalloc3D(hipPitchedPtr *result, hipExtent extent)
{
    hipError_t status = gdx_hip_driver.hipMalloc3D(result, extent);
    return status == hipSuccess
        ? unfenced(boxed, status, &result->ptr, result->pitch * extent.height * extent.depth) : status;
}

/* ---- unmaking ---- */

/* It cannot be looked at where its device is another: only the current one can be waited for. */
static void look_last(struct gdx_block *block)
{
    int device = -1;
    if (atomic_load(&gdx_hip_captures) == 0 && gdx_on() && gdx_hip_driver.hipGetDevice(&device) == hipSuccess
        && device == block->device && gdx_hip_driver.hipDeviceSynchronize() == hipSuccess)
        gdx_hip_zone_check(block);
}

static hipError_t free_red(struct gdx_block *block)
{
    look_last(block);
    gdx_fence_note(block, block->address, GDX_BLOCK_GIVEN_BACK);  /* before anybody can be given the address again */
    hipError_t status = gdx_hip_driver.hipFree((void *)(uintptr_t)block->address);
    if (status != hipSuccess)
        gdx_fence_note(block, block->address, GDX_BLOCK_MADE);
    return status;
}

/* The program has freed it, but it cannot go yet: it is not the program's any more, and goes when no work can use it. */
static hipError_t free_later(struct gdx_block *block)
{
    int device;
    block->flags |= GDX_BLOCK_DEAD;
    gdx_block_add(&gdx_hip_fences, block);
    return gdx_hip_driver.hipGetDevice(&device);  /* for the last error: it cannot fail */
}

static hipError_t look_and_unmap(struct gdx_block *block)
{
    gdx_hip_zone_check(block);
    return gdx_hip_unmap(block);
}

/* Its device is waited for, whichever is the current one. */
static hipError_t free_mapped(struct gdx_block *block)
{
    int now = -1;
    hipError_t status = gdx_hip_driver.hipGetDevice(&now);
    bool away = status == hipSuccess && now != block->device;
    if (away)
        status = gdx_hip_driver.hipSetDevice(block->device);
    if (status == hipSuccess)
        status = gdx_hip_driver.hipDeviceSynchronize();
    if (status == hipSuccess)
        status = look_and_unmap(block);
    if (away)
        gdx_hip_driver.hipSetDevice(now);
    return status;
}

static bool is_mapped(const struct gdx_block *block)
{
    return !(block->flags & GDX_BLOCK_RED);
}

/* HIP runtime API, hipFree: it waits for the device, so a wait of ours before it changes nothing. */
static hipError_t red_hipFree(void *address)
{
    struct gdx_block block;
    enum gdx_taken taken = address ? gdx_block_take(&gdx_hip_fences, GDX_HIP_WORD(address), 0, &block) : GDX_NOT_THERE;
    if (taken == GDX_NOT_THERE)
        return gdx_hip_driver.hipFree(address);
    if (taken == GDX_LEFT_DEAD)
        return hipSuccess;  /* somebody reads it and does not come to an end: it stays */
    if (is_mapped(&block) && atomic_load(&gdx_hip_captures) > 0)
        return free_later(&block);  /* a wait would spoil the capture */
    hipError_t status = is_mapped(&block) ? free_mapped(&block) : free_red(&block);
    if (status != hipSuccess)
        gdx_block_add(&gdx_hip_fences, &block);  /* it is the program's again */
    return status;
}

void gdx_hip_end_dead(void)
{
    struct gdx_block block;
    int device = -1;
    if (!gdx_blocks(&gdx_hip_fences) || gdx_hip_driver.hipGetDevice(&device) != hipSuccess)
        return;
    while (gdx_block_take_dead(&gdx_hip_fences, gdx_hip_owner(device), &block))
        if (is_mapped(&block))
            gdx_hip_unmap(&block);
}

/* Other ways to free take it, too; then the zone is gone with it. */
static hipError_t freed_otherwise(const void *address, hipError_t status)
{
    struct gdx_block block;
    if (status == hipSuccess && address
        && gdx_block_take(&gdx_hip_fences, GDX_HIP_WORD(address), 0, &block) == GDX_TAKEN)
        gdx_fence_note(&block, block.address, GDX_BLOCK_GIVEN_BACK);
    return status;
}

/* The runtime takes plain memory here, too. Its own would wait in the stream; here the stream is waited for. */
static hipError_t free_in_order(struct gdx_block *block, hipStream_t queue)
{
    hipError_t status = gdx_hip_ended(queue);
    if (status == hipErrorNotReady) {
        gdx_gave_up(GDX_STAYS_ACCESSIBLE);
        return free_later(block);
    }
    if (status == hipSuccess)
        status = look_and_unmap(block);
    if (status != hipSuccess)
        gdx_block_add(&gdx_hip_fences, block);
    return status;
}

static hipError_t red_hipFreeAsync(void *address, hipStream_t queue)
{
    struct gdx_block block;
    if (address && gdx_block_at(&gdx_hip_fences, GDX_HIP_WORD(address), &block) && is_mapped(&block)
        && atomic_load(&gdx_hip_captures) == 0) {
        enum gdx_taken taken = gdx_block_take(&gdx_hip_fences, GDX_HIP_WORD(address), 0, &block);
        if (taken != GDX_NOT_THERE)
            return taken == GDX_TAKEN ? free_in_order(&block, queue) : hipSuccess;
    }
    return freed_otherwise(address, gdx_hip_driver.hipFreeAsync(address, queue));
}

static hipError_t red_hipHostFree(void *address)
{
    return freed_otherwise(address, gdx_hip_driver.hipHostFree(address));
}

static hipError_t red_hipFreeHost(void *address)
{
    return freed_otherwise(address, gdx_hip_driver.hipFreeHost(address));
}

void gdx_hip_red_end_device(int device)
{
    struct gdx_block block;
    gdx_hip_look_forget(device);
    gdx_hip_around_forget(device);
    while (gdx_block_take_any(&gdx_hip_fences, gdx_hip_owner(device), &block))
        if (is_mapped(&block))
            gdx_hip_unmap(&block);
        else
            gdx_fence_note(&block, block.address, GDX_BLOCK_GIVEN_BACK);
    gdx_hip_driver.hipGetDevice(&device);  /* for the last error: it cannot fail */
}

/* ---- the table ---- */

#define STAND_IN(name) { GDX_HIP_##name, (void *)red_##name }
static const struct gdx_hip_stand_in own[] = {
    STAND_IN(hipMalloc), STAND_IN(hipExtMallocWithFlags), STAND_IN(hipMallocPitch), STAND_IN(hipMemAllocPitch),
    STAND_IN(hipMalloc3D), STAND_IN(hipMallocManaged), STAND_IN(hipMallocAsync), STAND_IN(hipMallocFromPoolAsync),
    STAND_IN(hipFree), STAND_IN(hipFreeAsync), STAND_IN(hipHostFree), STAND_IN(hipFreeHost), { -1, NULL },
};

static bool can_look(void *const *functions)
{
    static const int needed[] = {
        GDX_HIP_hipMalloc, GDX_HIP_hipFree, GDX_HIP_hipGetDevice, GDX_HIP_hipStreamCreateWithFlags, GDX_HIP_hipStreamDestroy,
        GDX_HIP_hipStreamQuery, GDX_HIP_hipMemcpyAsync, GDX_HIP_hipDeviceSynchronize, GDX_HIP_hipPeekAtLastError,
        GDX_HIP_hipGetLastError,
    };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!functions[needed[i]])
            return false;
    return true;
}

void gdx_hip_put(void **functions, const struct gdx_hip_stand_in *list)
{
    for (; list->number >= 0; list++)
        if (functions[list->number])
            functions[list->number] = list->function;
}

void gdx_hip_red_table(void **functions)
{
    if (!gdx_fence_edge() || !can_look(functions))
        return;
    gdx_hip_put(functions, own);
    gdx_hip_put(functions, gdx_hip_around);
    gdx_hip_put(functions, gdx_hip_looking);
}

void gdx_hip_red_forget(void)
{
    gdx_hip_look_forget(-1);
    gdx_hip_around_forget(-1);
    gdx_hip_map_forget();
    gdx_blocks_forget(&gdx_hip_fences);
}
