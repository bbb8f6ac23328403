/* See capture.h. */
#define _GNU_SOURCE
#include "driver/capture.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "core/clock.h"

enum { GLOBALS = 1 << 10, OBJECTS = 1 << 12, REACHED = 512, VALUE_MOST = 4096, NEARBY = 40 };
static const uint64_t PATIENCE_NS = 20000000000ull;

size_t gdx_elf_bytes(const struct gdx_reader *me, const char *from)
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
    return end <= GDX_IMAGE_MOST ? (size_t)end : 0;
}

/* ---- variables that the program asked for ---- */

static struct global { uint64_t address, bytes, owner; char name[256]; } globals[GLOBALS];  /* with the lock held */
static unsigned global_count;

void gdx_capture_global(uint64_t owner, uint64_t address, uint64_t bytes, const char *name)
{
    struct gdx_calm calm;
    struct gdx_lane *lane = gdx_on() ? gdx_lane() : NULL;
    struct global made = { .address = address, .bytes = bytes, .owner = owner };
    bool whole = false;
    if (!lane || !bytes || !name || !gdx_read_text(&lane->reader, made.name, sizeof made.name - 1, name, &whole) || !whole)
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

/* ---- texture and surface objects: numbers that stand for memory which no parameter points to ---- */

static struct object { uint64_t handle; const char *what; } objects[OBJECTS];  /* what: NULL where it was destroyed */
static unsigned object_count;

void gdx_capture_object(uint64_t handle, const char *what, bool alive)
{
    struct gdx_calm calm;
    if (!gdx_capturing() || !gdx_on())
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

/* ---- the memory that a launch can reach ---- */

struct gdx_launch_capture {
    struct gdx_capture file;
    const struct gdx_capture_api *api;
    uint64_t queue;
    uint32_t count;
    struct { uint64_t base, bytes; } places[REACHED];
    char room[GDX_CAPTURE_PIECE];
};

int gdx_capture_wait(const struct gdx_capture_api *api, uint64_t queue)
{
    uint64_t until = gdx_clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    for (unsigned tries = 0;; tries++) {
        int status = api->query(queue);
        if (status != api->not_ready || gdx_clock_ns(CLOCK_MONOTONIC) > until)
            return status;
        gdx_wait(tries);
    }
}

/* NULL: all of the stream's work is done. */
static const char *wait_for(struct gdx_launch_capture *c, int *status)
{
    *status = gdx_capture_wait(c->api, c->queue);
    return *status == c->api->not_ready ? "its stream did not end in 20 s" : NULL;
}

static bool add_place(struct gdx_launch_capture *c, uint64_t base, uint64_t bytes)
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
static bool is_near(const struct gdx_launch_capture *c, uint64_t word)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (c->places[i].base >> NEARBY == word >> NEARBY)
            return true;
    return false;
}

static bool is_known(const struct gdx_launch_capture *c, uint64_t word)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (word >= c->places[i].base && word - c->places[i].base < c->places[i].bytes)
            return true;
    return false;
}

static bool follow(struct gdx_launch_capture *c, const char *data, size_t bytes, bool all)
{
    bool fits = true;
    for (size_t at = 0; fits && at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) {
        uint64_t word;
        uint64_t base = 0, size = 0;
        memcpy(&word, data + at, sizeof word);
        if (word < 0x10000 || (!all && !is_near(c, word)) || is_known(c, word))
            continue;
        if (c->api->range(word, &base, &size) && size)
            fits = add_place(c, base, size);
    }
    return fits;
}

static const char *put_contents(struct gdx_launch_capture *c, enum gdx_capture_kind kind)
{
    for (uint32_t i = 0; i < c->count; i++)
        for (uint64_t offset = 0; offset < c->places[i].bytes; offset += sizeof c->room) {
            uint64_t rest = c->places[i].bytes - offset, bytes = rest < sizeof c->room ? rest : sizeof c->room;
            if (!c->api->read(c->room, c->places[i].base + offset, bytes, c->queue))
                return "the driver does not read memory that the launch reaches";
            gdx_capture_piece(&c->file, kind, i, offset, c->room, bytes);
            if (kind == GDX_CAPTURE_BEFORE && !follow(c, c->room, bytes, false))
                return "the launch reaches more memory than can be captured";
        }
    return NULL;
}

/* ---- the parts ---- */

/* Variables that the program has asked for: it may have written them. They are those of the kernel's module, or of a module that has no code
 * of its own, because it stands for another (CUDA: cuLibraryGetModule gives a library another handle). */
static const char *put_globals(struct gdx_launch_capture *c, uint64_t owner)
{
    for (unsigned i = 0; i < global_count; i++) {
        if (globals[i].owner != owner && (!c->api->has_code || c->api->has_code(globals[i].owner)))
            continue;
        if (!add_place(c, globals[i].address, globals[i].bytes))
            return "the launch reaches more memory than can be captured";
        gdx_capture_text(&c->file, GDX_CAPTURE_SYMBOL, c->count - 1, globals[i].name);
    }
    return NULL;
}

static const char *put_arguments(struct gdx_launch_capture *c, const struct gdx_wanted_launch *l, const struct gdx_layout *layout)
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

static const char *put_launch(struct gdx_launch_capture *c, const struct gdx_wanted_launch *l, const struct gdx_layout *layout)
{
    int status;
    char device[GDX_DEVICE_TEXT] = "";
    struct gdx_function *row = gdx_known(l->kernel);
    const struct gdx_shape *s = &l->shape;
    const uint64_t words[] = { s->grid_x, s->grid_y, s->grid_z, s->block_x, s->block_y, s->block_z, s->shared_bytes };
    if (!layout || !row || layout->count < layout->all)
        return "the driver does not describe its parameters";
    c->api->device(device);
    gdx_capture_text(&c->file, GDX_CAPTURE_DEVICE, 0, device);
    const char *why = c->api->put_code(&c->file, l->kernel, row);
    gdx_capture_put(&c->file, GDX_CAPTURE_GEOMETRY, 0, 0, 0, words, sizeof words);
    why = why ? why : put_globals(c, atomic_load(&row->owner));
    why = why ? why : put_arguments(c, l, layout);
    why = why ? why : wait_for(c, &status);
    return why ? why : put_contents(c, GDX_CAPTURE_BEFORE);
}

static const char *why_not(const struct gdx_capture_api *api, const struct gdx_wanted_launch *l)
{
    if (l->why_not)
        return l->why_not;
    return atomic_load(api->stream_captures) > 0 ? "a stream is being captured into a graph" : api->why_not ? api->why_not() : NULL;
}

/* The launch is asked for, and may be read: everything that has to be asked is asked here, and leaves no trace in the driver. */
static struct gdx_launch_capture *started(const struct gdx_capture_api *api, struct gdx_capture *file, const struct gdx_wanted_launch *l,
                                          const struct gdx_layout *layout, const char **why)
{
    struct gdx_launch_capture *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c == MAP_FAILED)
        return NULL;
    c->file = *file;
    c->api = api;
    c->queue = l->queue;
    *why = put_launch(c, l, layout);
    if (api->settle)
        api->settle();
    *file = c->file;
    return c;
}

struct gdx_launch_capture *gdx_launch_capture_before(const struct gdx_capture_api *api, const struct gdx_wanted_launch *l,
                                                     const struct gdx_layout *layout)
{
    uint64_t number = 0;
    int saved = errno;
    struct gdx_capture file;
    struct gdx_launch_capture *c = NULL;
    if (!gdx_on() || !l->name || !gdx_capture_wants(l->name, &number) || !gdx_capture_open(&file, api->number, number, l->name))
        return NULL;
    const char *why = why_not(api, l);
    c = why ? NULL : started(api, &file, l, layout, &why);
    if (why)
        gdx_capture_text(&file, GDX_CAPTURE_REFUSED, 0, why);
    if (why || !c) {
        gdx_capture_close(&file);
        if (c)
            munmap(c, sizeof *c);
        c = NULL;
    }
    errno = saved;
    return c;
}

void gdx_launch_capture_after(struct gdx_launch_capture *c, int status)
{
    int saved = errno, ended = 0;
    gdx_capture_put(&c->file, GDX_CAPTURE_LAUNCHED, (uint64_t)(int64_t)status, 0, 0, NULL, 0);
    const char *why = status == 0 ? wait_for(c, &ended) : NULL;
    if (!why && status == 0 && ended == 0)
        why = put_contents(c, GDX_CAPTURE_AFTER);
    if (why)
        gdx_capture_text(&c->file, GDX_CAPTURE_REFUSED, 1, why);
    else
        gdx_capture_put(&c->file, GDX_CAPTURE_ENDED, (uint64_t)(int64_t)ended, 0, 0, NULL, 0);
    if (status == 0 && c->api->settle)
        c->api->settle();
    gdx_capture_close(&c->file);
    munmap(c, sizeof *c);
    errno = saved;
}
