/* See capture.h. */
#define _GNU_SOURCE
#include "cuda/capture.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { IMAGES = 1 << 12 };
static const uint32_t wrapper_magic = 0x466243b1, fat_magic = 0xba55ed50;  /* images.c */

/* ---- what modules are made from ---- */

static struct image { uint64_t owner; char *copy; size_t bytes; uint32_t kind; } images[IMAGES];  /* with the lock held */
static unsigned image_count;

/* How long an image is, and what it is; 0: not known, and `text` says whether it ends with a zero. */
static size_t measure(const struct gdx_reader *me, const char **from, uint32_t *kind)
{
    struct { uint32_t magic, version; const char *data; } wrapper;
    struct { uint32_t magic; uint16_t version, header_bytes; uint64_t bytes; } fat;
    uint32_t magic = 0;
    if (gdx_read(me, &wrapper, *from, sizeof wrapper) && wrapper.magic == wrapper_magic)
        *from = wrapper.data;
    gdx_read_some(me, &magic, *from, sizeof magic);
    if (magic == fat_magic && gdx_read(me, &fat, *from, sizeof fat)) {
        *kind = GDX_CODE_FATBIN;
        return fat.bytes <= GDX_IMAGE_MOST ? (size_t)fat.header_bytes + fat.bytes : 0;
    }
    if (!memcmp(&magic, ELFMAG, SELFMAG)) {
        *kind = GDX_CODE_CUBIN;
        return gdx_elf_bytes(me, *from);
    }
    *kind = GDX_CODE_PTX;
    size_t length = gdx_text_length(me, *from, GDX_IMAGE_MOST);
    return length == SIZE_MAX ? 0 : length;
}

void gdx_cu_capture_image(const void *image, CUresult status, const void *result)
{
    struct gdx_calm calm;
    struct gdx_lane *lane = gdx_on() ? gdx_lane() : NULL;
    int saved = errno;
    const char *from = image;
    struct image made = { 0 };
    if (status != CUDA_SUCCESS || !result || !image || !lane)
        return;
    made.owner = *(const uint64_t *)result;
    made.bytes = measure(&lane->reader, &from, &made.kind);
    made.copy = made.bytes ? mmap(NULL, made.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    if (made.copy != MAP_FAILED && gdx_read(&lane->reader, made.copy, from, made.bytes)) {
        gdx_lock(GDX_LOCK_CAPTURE, &calm);
        unsigned at = 0;
        while (at < image_count && images[at].owner != made.owner)  /* a handle may be given out again */
            at++;
        if (at < IMAGES) {
            images[at] = made;
            image_count = at == image_count ? at + 1 : image_count;
        }
        gdx_unlock(GDX_LOCK_CAPTURE, &calm);
    }
    errno = saved;
}

/* ---- variables, textures and surfaces ---- */

static void add_global(CUresult status, const CUdeviceptr *result, const size_t *size, uint64_t owner, const char *name)
{
    if (GDX_UNLIKELY(gdx_capturing()) && status == CUDA_SUCCESS && result && size && gdx_cu_driver.cuMemGetAddressRange_v2)
        gdx_capture_global(owner, *result, *size, name);
}

/* A caller need not ask for the size, and CUDA's runtime does not always: it is asked for here then. */
void gdx_cu_after_cuModuleGetGlobal_v2(CUresult status, CUdeviceptr *result, size_t *size, CUmodule program, const char *name)
{
    CUdeviceptr same;
    size_t bytes = 0;
    if (GDX_UNLIKELY(gdx_capturing()) && status == CUDA_SUCCESS && !size)
        status = gdx_cu_next.cuModuleGetGlobal_v2(&same, &bytes, program, name);
    add_global(status, result, size ? size : &bytes, GDX_CU_WORD(program), name);
}

void gdx_cu_after_cuLibraryGetGlobal(CUresult status, CUdeviceptr *result, size_t *size, CUlibrary program, const char *name)
{
    CUdeviceptr same;
    size_t bytes = 0;
    if (GDX_UNLIKELY(gdx_capturing()) && status == CUDA_SUCCESS && !size)
        status = gdx_cu_next.cuLibraryGetGlobal(&same, &bytes, program, name);
    add_global(status, result, size ? size : &bytes, GDX_CU_WORD(program), name);
}

static void note_object(CUresult status, uint64_t handle, const char *what, bool alive)
{
    if (status == CUDA_SUCCESS)
        gdx_capture_object(handle, what, alive);
}

static const char texture_object[] = "texture object", surface_object[] = "surface object";

void gdx_cu_after_cuTexObjectCreate(CUresult status, CUtexObject *result, const CUDA_RESOURCE_DESC *resource,
                                    const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view)
{
    (void)resource, (void)texture, (void)view;
    note_object(status, result ? *result : 0, texture_object, true);
}

void gdx_cu_after_cuTexObjectDestroy(CUresult status, CUtexObject texture)
{
    note_object(status, texture, texture_object, false);
}

void gdx_cu_after_cuSurfObjectCreate(CUresult status, CUsurfObject *result, const CUDA_RESOURCE_DESC *resource)
{
    (void)resource;
    note_object(status, result ? *result : 0, surface_object, true);
}

void gdx_cu_after_cuSurfObjectDestroy(CUresult status, CUsurfObject surface)
{
    note_object(status, surface, surface_object, false);
}

/* ---- what a capture needs of the driver ---- */

static void put_device(char text[GDX_DEVICE_TEXT])
{
    char name[256] = "";
    int version = 0, major = 0, minor = 0;
    CUdevice device = gdx_cu_current_device();
    gdx_cu_driver.cuDeviceGetName(name, sizeof name, device);
    gdx_cu_driver.cuDriverGetVersion(&version);
    gdx_cu_driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    gdx_cu_driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    snprintf(text, GDX_DEVICE_TEXT, "%s\nsm_%d%d\nCUDA %d.%d\nNVIDIA CUDA", name, major, minor, version / 1000, version % 1000 / 10);
}

static const char *put_code(struct gdx_capture *to, uintptr_t kernel, struct gdx_function *row)
{
    struct gdx_calm calm;
    struct image found = { 0 };
    uint64_t owner = atomic_load(&row->owner);
    (void)kernel;
    gdx_lock(GDX_LOCK_CAPTURE, &calm);
    for (unsigned i = 0; i < image_count; i++)
        if (images[i].owner == owner)
            found = images[i];
    gdx_unlock(GDX_LOCK_CAPTURE, &calm);
    if (!found.bytes)
        return "the image of its module was not seen";
    gdx_capture_put(to, GDX_CAPTURE_CODE, found.kind, 0, 0, found.copy, found.bytes);
    return NULL;
}

static bool has_image(uint64_t owner)
{
    for (unsigned i = 0; i < image_count; i++)
        if (images[i].owner == owner)
            return true;
    return false;
}

static bool range_of(uint64_t address, uint64_t *base, uint64_t *bytes)
{
    CUdeviceptr start = 0;
    size_t size = 0;
    bool found = gdx_cu_driver.cuMemGetAddressRange_v2(&start, &size, address) == CUDA_SUCCESS;
    *base = start;
    *bytes = size;
    return found;
}

static bool read_memory(void *to, uint64_t from, size_t bytes, uint64_t queue)
{
    (void)queue;
    return gdx_cu_driver.cuMemcpyDtoH_v2(to, from, bytes) == CUDA_SUCCESS;
}

static int query(uint64_t queue)
{
    return (int)gdx_cu_driver.cuStreamQuery((CUstream)(uintptr_t)queue);
}

static const struct gdx_capture_api api = {
    .number = 1, .not_ready = CUDA_ERROR_NOT_READY, .stream_captures = &gdx_cu_captures, .device = put_device,
    .put_code = put_code, .has_code = has_image, .range = range_of, .read = read_memory, .query = query,
};

struct gdx_launch_capture *gdx_cu_capture_before(const struct gdx_cu_wanted *l, const struct gdx_layout *layout)
{
    const struct gdx_wanted_launch launch = {
        .name = gdx_cu_name_of(l->kernel), .kernel = (uintptr_t)l->kernel, .shape = l->shape,
        .queue = l->own_thread && !l->queue ? CU_STREAM_PER_THREAD : GDX_CU_WORD(l->queue), .params = l->params, .extra = l->extra,
    };
    return gdx_launch_capture_before(&api, &launch, layout);
}
