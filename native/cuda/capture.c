/* See capture.h. */
#define _GNU_SOURCE
#include "cuda/capture.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "core/clock.h"

enum { IMAGES = 1 << 12, GLOBALS = 1 << 10, OBJECTS = 1 << 12, REACHED = 512, TEXT = 1024, IMAGE_MOST = 64 << 20, VALUE_MOST = 4096, NEARBY = 40 };
static const uint32_t wrapper_magic = 0x466243b1, fat_magic = 0xba55ed50;  /* images.c */
static const uint64_t PATIENCE_NS = 20000000000ull;

/* ---- what modules are made from ---- */

static struct image { uint64_t owner; char *copy; size_t bytes; uint32_t kind; } images[IMAGES];  /* with the lock held */
static unsigned image_count;
static struct global { CUdeviceptr address; size_t bytes; uint64_t owner; char name[256]; } globals[GLOBALS];
static unsigned global_count;

/* A cubin ends behind its last section or header. */
static size_t elf_bytes(const struct gdx_reader *me, const char *from)
{
    Elf64_Ehdr head;
    if (!gdx_read(me, &head, from, sizeof head))
        return 0;
    uint64_t end = head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize, other = head.e_phoff + (uint64_t)head.e_phnum * head.e_phentsize;
    end = other > end ? other : end;
    for (unsigned i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr section;
        if (!gdx_read(me, &section, from + head.e_shoff + (uint64_t)i * head.e_shentsize, sizeof section))
            return 0;
        if (section.sh_type != SHT_NOBITS && section.sh_offset + section.sh_size > end)
            end = section.sh_offset + section.sh_size;
    }
    return end <= IMAGE_MOST ? (size_t)end : 0;
}

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
        return fat.bytes <= IMAGE_MOST ? (size_t)fat.header_bytes + fat.bytes : 0;
    }
    if (!memcmp(&magic, ELFMAG, SELFMAG)) {
        *kind = GDX_CODE_CUBIN;
        return elf_bytes(me, *from);
    }
    *kind = GDX_CODE_PTX;
    size_t length = gdx_text_length(me, *from, IMAGE_MOST);
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

static void add_global(CUresult status, const CUdeviceptr *result, const size_t *size, uint64_t owner, const char *name)
{
    struct gdx_calm calm;
    struct gdx_lane *lane = GDX_UNLIKELY(gdx_capturing()) && gdx_on() ? gdx_lane() : NULL;
    struct global made = { .owner = owner };
    bool whole = false;
    if (!lane || status != CUDA_SUCCESS || !result || !name || !gdx_cu_driver.cuMemGetAddressRange_v2)
        return;
    made.address = *result;
    made.bytes = size ? *size : 0;
    if (!made.bytes || !gdx_read_text(&lane->reader, made.name, sizeof made.name - 1, name, &whole) || !whole)
        return;
    gdx_lock(GDX_LOCK_CAPTURE, &calm);
    unsigned at = 0;
    while (at < global_count && globals[at].address != made.address)
        at++;
    if (at < GLOBALS) {
        globals[at] = made;
        global_count = at == global_count ? at + 1 : global_count;
    }
    gdx_unlock(GDX_LOCK_CAPTURE, &calm);
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

/* ---- texture and surface objects: numbers that stand for memory which no parameter points to ---- */

static struct object { uint64_t handle; const char *what; } objects[OBJECTS];  /* what: NULL where it was destroyed */
static unsigned object_count;

static void note_object(CUresult status, uint64_t handle, const char *what, bool alive)
{
    struct gdx_calm calm;
    if (status != CUDA_SUCCESS || !gdx_capturing() || !gdx_on())
        return;
    gdx_lock(GDX_LOCK_CAPTURE, &calm);
    unsigned at = 0, reused = OBJECTS;
    while (at < object_count && (objects[at].handle != handle || objects[at].what != what)) {
        if (!objects[at].what)
            reused = at;
        at++;
    }
    if (at == object_count && alive && reused < OBJECTS)
        at = reused;
    if (at < OBJECTS && (alive || at < object_count)) {
        objects[at] = (struct object){ handle, alive ? what : NULL };
        object_count = at == object_count ? at + 1 : object_count;
    }
    gdx_unlock(GDX_LOCK_CAPTURE, &calm);
}

static const char *object_of(uint64_t word)
{
    struct gdx_calm calm;
    const char *found = NULL;
    gdx_lock(GDX_LOCK_CAPTURE, &calm);
    for (unsigned i = 0; i < object_count; i++)
        if (objects[i].what && objects[i].handle == word)
            found = objects[i].what;
    gdx_unlock(GDX_LOCK_CAPTURE, &calm);
    return found;
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

/* ---- the memory that a launch can reach ---- */

struct gdx_cu_capture {
    struct gdx_capture file;
    CUstream queue;
    uint32_t count;
    struct { CUdeviceptr base; size_t bytes; } places[REACHED];
    char room[GDX_CAPTURE_PIECE];
};

/* NULL: all of the stream's work is done. */
static const char *wait_for(CUstream queue, CUresult *status)
{
    uint64_t until = gdx_clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    for (unsigned tries = 0;; tries++) {
        *status = gdx_cu_driver.cuStreamQuery(queue);
        if (*status != CUDA_ERROR_NOT_READY)
            return NULL;
        if (gdx_clock_ns(CLOCK_MONOTONIC) > until)
            return "its stream did not end in 20 s";
        gdx_wait(tries);
    }
}

static bool add_place(struct gdx_cu_capture *c, CUdeviceptr base, size_t bytes)
{
    const uint64_t words[] = { 0, 0, base, 0 };
    for (uint32_t i = 0; i < c->count; i++)
        if (c->places[i].base == base)
            return true;
    if (c->count == REACHED || !gdx_capture_room(&c->file, bytes))
        return false;
    gdx_capture_put(&c->file, GDX_CAPTURE_BUFFER, c->count, bytes, 0, words, sizeof words);
    c->places[c->count].base = base;
    c->places[c->count++].bytes = bytes;
    return true;
}

/* Is a word near memory that is known? To ask the driver about each would take long. */
static bool is_near(const struct gdx_cu_capture *c, uint64_t word)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (c->places[i].base >> NEARBY == word >> NEARBY)
            return true;
    return false;
}

static bool is_known(const struct gdx_cu_capture *c, uint64_t word)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (word >= c->places[i].base && word - c->places[i].base < c->places[i].bytes)
            return true;
    return false;
}

static bool follow(struct gdx_cu_capture *c, const char *data, size_t bytes, bool all)
{
    bool fits = true;
    for (size_t at = 0; fits && at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) {
        uint64_t word;
        CUdeviceptr base = 0;
        size_t size = 0;
        memcpy(&word, data + at, sizeof word);
        if (word < 0x10000 || (!all && !is_near(c, word)) || is_known(c, word))
            continue;
        if (gdx_cu_driver.cuMemGetAddressRange_v2(&base, &size, word) == CUDA_SUCCESS && size)
            fits = add_place(c, base, size);
    }
    return fits;
}

static const char *put_contents(struct gdx_cu_capture *c, enum gdx_capture_kind kind)
{
    for (uint32_t i = 0; i < c->count; i++)
        for (uint64_t offset = 0; offset < c->places[i].bytes; offset += sizeof c->room) {
            size_t rest = c->places[i].bytes - offset, bytes = rest < sizeof c->room ? rest : sizeof c->room;
            if (gdx_cu_driver.cuMemcpyDtoH_v2(c->room, c->places[i].base + offset, bytes) != CUDA_SUCCESS)
                return "the driver does not read memory that the launch reaches";
            gdx_capture_piece(&c->file, kind, i, offset, c->room, bytes);
            if (kind == GDX_CAPTURE_BEFORE && !follow(c, c->room, bytes, false))
                return "the launch reaches more memory than can be captured";
        }
    return NULL;
}

/* ---- the parts ---- */

static void put_device(struct gdx_cu_capture *c)
{
    char text[TEXT], name[256] = "";
    int version = 0, major = 0, minor = 0;
    CUdevice device = gdx_cu_current_device();
    gdx_cu_driver.cuDeviceGetName(name, sizeof name, device);
    gdx_cu_driver.cuDriverGetVersion(&version);
    gdx_cu_driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    gdx_cu_driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    snprintf(text, sizeof text, "%s\nsm_%d%d\nCUDA %d.%d\nNVIDIA CUDA", name, major, minor, version / 1000, version % 1000 / 10);
    gdx_capture_text(&c->file, GDX_CAPTURE_DEVICE, 0, text);
}

static const char *put_code(struct gdx_cu_capture *c, uint64_t owner)
{
    struct gdx_calm calm;
    struct image found = { 0 };
    gdx_lock(GDX_LOCK_CAPTURE, &calm);
    for (unsigned i = 0; i < image_count; i++)
        if (images[i].owner == owner)
            found = images[i];
    gdx_unlock(GDX_LOCK_CAPTURE, &calm);
    if (!found.bytes)
        return "the image of its module was not seen";
    gdx_capture_put(&c->file, GDX_CAPTURE_CODE, found.kind, 0, 0, found.copy, found.bytes);
    return NULL;
}

static bool has_image(uint64_t owner)
{
    for (unsigned i = 0; i < image_count; i++)
        if (images[i].owner == owner)
            return true;
    return false;
}

/* Variables that the program has asked for: it may have written them. They are those of the kernel's module, or of a module that stands for
 * its library: cuLibraryGetModule gives that another handle, which has no image of its own. */
static const char *put_globals(struct gdx_cu_capture *c, uint64_t owner)
{
    for (unsigned i = 0; i < global_count; i++) {
        if (globals[i].owner != owner && has_image(globals[i].owner))
            continue;
        if (!add_place(c, globals[i].address, globals[i].bytes))
            return "the launch reaches more memory than can be captured";
        gdx_capture_text(&c->file, GDX_CAPTURE_SYMBOL, c->count - 1, globals[i].name);
    }
    return NULL;
}

static const char *put_arguments(struct gdx_cu_capture *c, const struct gdx_cu_wanted *l, const struct gdx_layout *layout)
{
    char value[VALUE_MOST];
    for (uint32_t i = 0; i < layout->count; i++) {
        size_t bytes = gdx_argument_bytes(layout, l->params, l->extra, i, value, sizeof value);
        if (!bytes)
            return "one of its parameters cannot be read";
        gdx_capture_put(&c->file, GDX_CAPTURE_ARGUMENT, i, GDX_GIVEN_VALUE, 0, value, bytes);
        uint64_t word = 0;
        memcpy(&word, value, bytes < sizeof word ? bytes : sizeof word);
        const char *object = bytes == sizeof word ? object_of(word) : NULL;
        if (object)
            gdx_capture_text(&c->file, GDX_CAPTURE_OBJECT, i, object);
        if (!follow(c, value, bytes, true))
            return "the launch reaches more memory than can be captured";
    }
    return NULL;
}

static const char *put_launch(struct gdx_cu_capture *c, const struct gdx_cu_wanted *l, const struct gdx_layout *layout)
{
    CUresult status;
    struct gdx_function *row = gdx_known((uintptr_t)l->kernel);
    const struct gdx_shape *s = &l->shape;
    const uint64_t words[] = { s->grid_x, s->grid_y, s->grid_z, s->block_x, s->block_y, s->block_z, s->shared_bytes };
    if (!layout || !row || layout->count < layout->all)
        return "the driver does not describe its parameters";
    if (atomic_load(&gdx_cu_captures) > 0)
        return "a stream is being captured into a graph";
    put_device(c);
    const char *why = put_code(c, atomic_load(&row->owner));
    gdx_capture_put(&c->file, GDX_CAPTURE_GEOMETRY, 0, 0, 0, words, sizeof words);
    why = why ? why : put_globals(c, atomic_load(&row->owner));
    why = why ? why : put_arguments(c, l, layout);
    why = why ? why : wait_for(c->queue, &status);
    return why ? why : put_contents(c, GDX_CAPTURE_BEFORE);
}

struct gdx_cu_capture *gdx_cu_capture_before(const struct gdx_cu_wanted *l, const struct gdx_layout *layout)
{
    uint64_t number = 0;
    int saved = errno;
    struct gdx_capture file;
    struct gdx_cu_capture *c = NULL;
    const char *name = gdx_on() ? gdx_cu_name_of(l->kernel) : NULL;
    if (!name || !gdx_capture_wants(name, &number) || !gdx_capture_open(&file, 1, number, name))
        return NULL;
    c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c == MAP_FAILED) {
        gdx_capture_close(&file);
        return NULL;
    }
    c->file = file;
    c->queue = l->own_thread && !l->queue ? (CUstream)CU_STREAM_PER_THREAD : l->queue;
    const char *why = put_launch(c, l, layout);
    if (why) {
        gdx_capture_text(&c->file, GDX_CAPTURE_REFUSED, 0, why);
        gdx_capture_close(&c->file);
        munmap(c, sizeof *c);
        c = NULL;
    }
    errno = saved;
    return c;
}

void gdx_cu_capture_after(struct gdx_cu_capture *c, CUresult status)
{
    int saved = errno;
    CUresult ended = CUDA_SUCCESS;
    gdx_capture_put(&c->file, GDX_CAPTURE_LAUNCHED, status, 0, 0, NULL, 0);
    const char *why = status == CUDA_SUCCESS ? wait_for(c->queue, &ended) : NULL;
    if (!why && status == CUDA_SUCCESS && ended == CUDA_SUCCESS)
        why = put_contents(c, GDX_CAPTURE_AFTER);
    if (why)
        gdx_capture_text(&c->file, GDX_CAPTURE_REFUSED, 1, why);
    else
        gdx_capture_put(&c->file, GDX_CAPTURE_ENDED, ended, 0, 0, NULL, 0);
    gdx_capture_close(&c->file);
    munmap(c, sizeof *c);
    errno = saved;
}
