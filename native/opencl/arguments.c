/* The arguments that kernel objects hold now.
 *
 * A launch names its kernel only; what it was given lies in earlier clSetKernelArg calls, which the ring may have
 * overwritten long ago. So each kernel object has a shadow with the values set so far, and every launch is recorded
 * with a copy of it.
 *
 * Shadows sit in a fixed open-addressed table that is read without locks. Two threads that set arguments of one kernel
 * at the same time (a fault of the program that we must survive) may mix their values here just as they do in the
 * driver; every access stays inside the shadow. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "core/process.h"
#include "opencl/hooks.h"

enum { TABLE = 1 << 14, SMALL_TABLE = 1 << 9, PROBES = 64, ARGS = GDX_CL_ARGUMENTS, TAIL = 1024, LONGEST = 256 };

struct shadow {
    _Atomic uintptr_t kernel;      /* 0: never used, 1: used before */
    _Atomic int references;
    _Atomic uint32_t count;        /* highest index set, plus one */
    _Atomic uint32_t tail_bytes;
    struct gdx_argument args[ARGS];
    char tail[TAIL];
};
enum { UNUSED = 0, LEFT = 1 };

static struct shadow *_Atomic table GDX_HOT_DATA;
static size_t places GDX_HOT_DATA;  /* a power of two; set before `table` is */

static size_t home(uintptr_t kernel)
{
    return (size_t)((kernel >> 4) * 0x9e3779b97f4a7c15ull >> 40) & (places - 1);
}

GDX_HOT static struct shadow *find(cl_kernel kernel)
{
    struct shadow *shadows = atomic_load_explicit(&table, memory_order_acquire);
    uintptr_t key = (uintptr_t)kernel;
    if (!shadows || key <= LEFT)
        return NULL;
    for (size_t i = 0, at = home(key); i < PROBES; i++, at = (at + 1) & (places - 1)) {
        uintptr_t here = atomic_load_explicit(&shadows[at].kernel, memory_order_acquire);
        if (here == key)
            return &shadows[at];
        if (here == UNUSED)
            return NULL;
    }
    return NULL;
}

static struct shadow *claim(uintptr_t key)
{
    struct shadow *shadows = atomic_load(&table);
    if (!shadows) {
        /* Untouched pages cost nothing, so the table can be generous, unless addresses themselves are scarce. */
        places = gdx_memory_is_limited() ? SMALL_TABLE : TABLE;
        void *at = mmap(NULL, places * sizeof *shadows, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED)
            return NULL;
        atomic_store(&table, shadows = at);
    }
    for (size_t i = 0, at = home(key); i < PROBES; i++, at = (at + 1) & (places - 1))
        if (atomic_load(&shadows[at].kernel) <= LEFT)
            return &shadows[at];
    return NULL;
}

static struct shadow *add(cl_kernel kernel)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_KERNELS, &calm);
    struct shadow *shadow = find(kernel);  /* a driver may give a dead kernel's address to a new one */
    if (!shadow)
        shadow = claim((uintptr_t)kernel);
    if (shadow) {
        shadow->references = 1;
        shadow->count = shadow->tail_bytes = 0;
        memset(shadow->args, 0, sizeof shadow->args);
        atomic_store_explicit(&shadow->kernel, (uintptr_t)kernel, memory_order_release);
    }
    gdx_unlock(GDX_LOCK_KERNELS, &calm);
    return shadow;
}

void gdx_cl_kernel_born(cl_kernel kernel)
{
    if (kernel && gdx_on())
        add(kernel);
}

void gdx_cl_kernel_copied(cl_kernel from, cl_kernel to)
{
    struct shadow *source = find(from), *copy = to && gdx_on() ? add(to) : NULL;
    if (!source || !copy)
        return;
    memcpy(copy->args, source->args, sizeof copy->args);
    memcpy(copy->tail, source->tail, sizeof copy->tail);
    copy->count = atomic_load(&source->count);
    copy->tail_bytes = atomic_load(&source->tail_bytes);
}

void gdx_cl_kernel_retained(cl_kernel kernel)
{
    struct shadow *shadow = find(kernel);
    if (shadow)
        shadow->references++;
}

void gdx_cl_kernel_released(cl_kernel kernel)
{
    struct shadow *shadow = find(kernel);
    if (shadow && --shadow->references <= 0)
        atomic_store_explicit(&shadow->kernel, LEFT, memory_order_release);
}

/* Where the bytes of a value over 8 bytes are kept; a value that is set again takes its old place. */
static uint32_t tail_place(struct shadow *shadow, const struct gdx_argument *old, size_t size)
{
    uint32_t need = (uint32_t)((size + 7) & ~(size_t)7);
    /* Read once and checked: another thread may be writing a new size and place here, half done. */
    uint32_t place = *(const volatile uint32_t *)&old->tail;
    if (old->flags & GDX_ARG_set && old->size == size && place <= TAIL - need)
        return place;
    uint32_t at = atomic_fetch_add(&shadow->tail_bytes, need);
    if (at + need <= TAIL)
        return at;
    shadow->tail_bytes = TAIL;
    return UINT32_MAX;
}

GDX_HOT static void keep(struct shadow *shadow, struct gdx_argument *arg, const struct gdx_cl_fresh *given)
{
    struct gdx_argument fresh = given->is;
    if (fresh.size > 8 && fresh.flags == GDX_ARG_set) {
        fresh.tail = fresh.size <= LONGEST ? tail_place(shadow, arg, fresh.size) : UINT32_MAX;
        if (fresh.tail == UINT32_MAX)
            fresh.flags |= GDX_ARG_cut;
        else
            memcpy(shadow->tail + fresh.tail, given->value, fresh.size);
    }
    *arg = fresh;
    if (shadow->count <= fresh.index)
        shadow->count = fresh.index + 1u;
}

/* A value over 8 bytes is a part of the record, and kept from there for the launches. */
GDX_COLD static bool read_long(struct gdx_open *open, struct gdx_cl_fresh *fresh, size_t size, const void *value)
{
    enum { PARAMETER = 3 };  /* of clSetKernelArg */
    fresh->value = gdx_put(open, PARAMETER, value, size);
    if (fresh->value)
        memcpy(&fresh->is.value, fresh->value, sizeof fresh->is.value);
    return fresh->value;
}

GDX_HOT void gdx_cl_argument_read(struct gdx_open *open, struct gdx_cl_fresh *fresh, cl_uint index, size_t size, const void *value)
{
    fresh->is = (struct gdx_argument){ .index = (uint16_t)index, .flags = GDX_ARG_set, .size = (uint32_t)size,
                                       .setter = open->lane->tid };
    bool read = true;
    if (!value)
        fresh->is.flags |= GDX_ARG_local;
    else if (GDX_LIKELY(size && size <= sizeof fresh->is.value))
        read = gdx_read(&open->lane->reader, &fresh->is.value, value, size);
    else
        read = size && read_long(open, fresh, size, value);
    if (GDX_UNLIKELY(!read)) {
        fresh->is.flags |= GDX_ARG_unreadable;
        fresh->is.value = 0;
    }
    open->slot->w[4] = fresh->is.value;
}

GDX_HOT void gdx_cl_argument_keep(const struct gdx_open *open, cl_kernel kernel, cl_uint index, const struct gdx_cl_fresh *fresh)
{
    struct shadow *shadow = find(kernel);
    if (shadow && index < ARGS && gdx_still_open(open))
        keep(shadow, &shadow->args[index], fresh);
}

GDX_HOT void gdx_cl_put_arguments(struct gdx_open *open, cl_kernel kernel)
{
    struct shadow *shadow = find(kernel);
    if (!shadow)
        return;
    uint32_t count = atomic_load_explicit(&shadow->count, memory_order_relaxed);
    uint32_t tail = atomic_load_explicit(&shadow->tail_bytes, memory_order_relaxed);
    if (tail) {
        tail = tail < TAIL ? tail : TAIL;
        void *room = gdx_part(open, GDX_PART_argument_tail, tail);
        if (room)
            memcpy(room, shadow->tail, tail);
    }
    void *room = count ? gdx_part(open, GDX_PART_arguments, count * sizeof *shadow->args) : NULL;
    if (room)
        memcpy(room, shadow->args, count * sizeof *shadow->args);
}

uint32_t gdx_cl_argument_words(cl_kernel kernel, uint64_t *values, uint32_t room)
{
    struct shadow *shadow = find(kernel);
    uint32_t count = shadow ? atomic_load_explicit(&shadow->count, memory_order_relaxed) : 0, found = 0;
    for (uint32_t i = 0; i < count && found < room; i++)
        if (shadow->args[i].flags == GDX_ARG_set && shadow->args[i].size == sizeof *values)
            values[found++] = shadow->args[i].value;
    return found;
}

bool gdx_cl_arguments_known(cl_kernel kernel)
{
    return find(kernel);
}

bool gdx_cl_argument_at(cl_kernel kernel, cl_uint index, struct gdx_argument *out)
{
    struct shadow *shadow = find(kernel);
    if (!shadow || index >= ARGS || !(shadow->args[index].flags & GDX_ARG_set))
        return false;
    *out = shadow->args[index];
    return true;
}

bool gdx_cl_argument_bytes(cl_kernel kernel, cl_uint index, void *room)
{
    struct gdx_argument a;
    struct shadow *shadow = find(kernel);
    if (!shadow || !gdx_cl_argument_at(kernel, index, &a) || a.flags != GDX_ARG_set || a.size > LONGEST || a.tail > TAIL - a.size)
        return false;
    memcpy(room, shadow->tail + a.tail, a.size);
    return true;
}
