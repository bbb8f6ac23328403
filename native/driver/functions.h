/* Functions that a program can launch, and the layout of their parameters: shared by the APIs whose launches give the
 * driver an array of pointers without sizes.
 *
 * The table is open-addressed, read and written without locks. Keys stay for ever: a handle that dies and comes back
 * takes its old row. Layouts are written once into memory that is never given back, so a thread that still reads the
 * layout of a function that another thread unloads reads old numbers, never freed memory. */
#pragma once

#include <stdatomic.h>

#include "core/recorder.h"

enum { GDX_ARGUMENTS = 256, GDX_TAIL = 4096 };  /* most arguments, and bytes of long ones, kept per launch */

struct gdx_param {
    struct gdx_argument like;  /* how it is written down, but for what is not known before the launch */
    uint32_t offset;
};
struct gdx_layout {
    uint32_t count;      /* of `params` */
    uint32_t all;        /* how many the function has */
    uint32_t bytes;      /* of the whole parameter block */
    uint32_t tail_bytes;
    struct gdx_param params[];
};

/* How large a launch is, in the words of every recorded launch: schema/events.toml. */
struct gdx_shape { uint64_t grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes; };

static inline void gdx_put_shape(struct gdx_open *open, uint64_t queue, const void *kernel, struct gdx_shape shape)
{
    uint64_t *w = open->slot->w;
    w[0] = queue;
    w[1] = (uint64_t)(uintptr_t)kernel;
    w[2] = shape.grid_x;
    w[3] = shape.grid_y;
    w[4] = shape.grid_z;
    w[5] = shape.block_x;
    w[6] = shape.block_y;
    w[7] = shape.block_z;
    w[8] = shape.shared_bytes;
}

/* Whose functions they are; bits, so that several kinds can be forgotten at once. */
enum gdx_kind { GDX_CU_FUNCTION = 1, GDX_CU_KERNEL = 2, GDX_HIP_FUNCTION = 4, GDX_OF_CUDA = 3 };

struct gdx_function {
    _Atomic uintptr_t function;
    _Atomic uintptr_t owner;               /* its module or library, 0: not known */
    _Atomic(struct gdx_layout *) layout;
    _Atomic(const void *) about;           /* what the API keeps of it */
    _Atomic uint8_t state, kind, tries;
};

/* The driver gave `function` to the program: it is good until its owner goes. */
void gdx_meet(uintptr_t function, uintptr_t owner, enum gdx_kind kind, const void *about);
struct gdx_function *gdx_known(uintptr_t function);     /* NULL: not one that the driver gave out, or its owner went */
void gdx_forget_owner(uintptr_t owner);                 /* its module or library is about to be unloaded */
void gdx_forget_functions(unsigned kinds);

/* A layout of `count` parameters, to be filled in by gdx_layout_add one after the other; NULL: no room. */
struct gdx_layout *gdx_layout_begin(uint32_t count);
void gdx_layout_add(struct gdx_layout *layout, uint32_t index, size_t offset, size_t size);
void gdx_note_layout(uintptr_t function, const struct gdx_layout *layout);
void *gdx_keep(size_t bytes);                           /* for ever; NULL: no room */

/* The parameters of a function that is about to be launched; NULL when they are not known. The first time `describe` is
 * asked. Only functions that the driver gave to the program are asked about: a stale or made-up handle must reach the
 * driver inside the program's own, recorded call. */
typedef const struct gdx_layout *gdx_describer(struct gdx_function *row, uintptr_t function);
static inline const struct gdx_layout *gdx_layout_of(uintptr_t function, gdx_describer *describe)
{
    struct gdx_function *row = gdx_known(function);
    if (GDX_UNLIKELY(!row))
        return NULL;
    const struct gdx_layout *layout = atomic_load_explicit(&row->layout, memory_order_acquire);
    return GDX_LIKELY(layout) ? layout : describe(row, function);
}

/* arguments.c: `extra` is the packed form, a list of pairs */
void gdx_put_arguments(struct gdx_open *open, const struct gdx_layout *layout, void **params, void **extra);
/* One argument whole: its size, 0 if it cannot be read or has more than `most` bytes. */
size_t gdx_argument_bytes(const struct gdx_layout *layout, void **params, void **extra, uint32_t index, void *room, size_t most);
/* The first word of each argument; how many there are, 0: not known. */
uint32_t gdx_argument_words(const struct gdx_layout *layout, void **params, void **extra, uint64_t values[GDX_ARGUMENTS]);
