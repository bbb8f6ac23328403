/* The arguments of a launch, as they stand when it is made.
 *
 * Written like those of OpenCL: one struct gdx_argument each, values over 8 bytes whole in the tail. The parts are
 * written in this order because readers expect the argument list at the head of the blob. */
#define _GNU_SOURCE
#include <string.h>

#include "driver/functions.h"

/* Where the values are: an array of pointers, or one packed buffer. */
enum { PAGE = 4096 };
struct source {
    struct gdx_lane *lane;
    void **params;
    const char *buffer;
    size_t buffer_bytes;
    uintptr_t page;  /* one that can be read: most values of a launch are in one */
};

/* `extra` is a list of pairs of a key and a pointer. Keys are the same in CUDA (driver API reference, cuLaunchKernel) and
 * HIP (hip_runtime_api.h, HIP_LAUNCH_PARAM_*), but for the one that closes the list: 0 and 3. */
enum { BUFFER = 1, BUFFER_SIZE = 2 };

GDX_COLD static void find_buffer(struct source *source, void **extra)
{
    const size_t *size = NULL;
    enum { PAIRS = 8 };
    for (int i = 0; i < PAIRS && gdx_readable(source->lane, extra, 2 * sizeof *extra); i++, extra += 2) {
        if ((uintptr_t)extra[0] == BUFFER)
            source->buffer = extra[1];
        else if ((uintptr_t)extra[0] == BUFFER_SIZE)
            size = extra[1];
        else
            break;
    }
    if (source->buffer && size && gdx_readable(source->lane, size, sizeof *size))
        source->buffer_bytes = *size;
    if (!source->buffer_bytes || source->buffer_bytes > GDX_BLOB_MAX
        || !gdx_readable(source->lane, source->buffer, source->buffer_bytes))
        source->buffer = NULL;
}

/* The value of one parameter, NULL when it cannot be read. */
static inline const void *value_of(struct source *source, const struct gdx_param *param, uint32_t index)
{
    size_t size = param->like.size;
    if (GDX_UNLIKELY(source->buffer))
        return param->offset + size <= source->buffer_bytes ? source->buffer + param->offset : NULL;
    const void *at = source->params ? source->params[index] : NULL;
    uintptr_t last = ((uintptr_t)at + size - 1) / PAGE;
    if (GDX_LIKELY((uintptr_t)at / PAGE == source->page && last == source->page))
        return at;
    if (!at || !size || !gdx_readable(source->lane, at, size))
        return NULL;
    source->page = last;
    return at;
}

/* In place, word by word: built in registers and then stored it takes three times as many instructions. */
static inline void put_argument(struct gdx_argument *out, const struct gdx_param *param, const void *at, uint32_t tid, char *tail)
{
    const struct gdx_argument *like = &param->like;
    memcpy(out, like, sizeof *out);
    out->setter = tid;
    if (GDX_UNLIKELY(!at)) {
        out->flags |= GDX_ARG_unreadable;
        out->tail = 0;
        return;
    }
    out->value = gdx_first_word(at, like->size);
    if (GDX_LIKELY(like->size <= 8))
        return;
    if (tail && like->tail != UINT32_MAX) {
        memcpy(tail + like->tail, at, like->size);
    } else {
        out->tail = UINT32_MAX;
        out->flags |= GDX_ARG_cut;
    }
}

/* Without a layout only a packed buffer says anything; it is kept whole, as far as there is room. */
GDX_COLD static void put_raw(struct gdx_open *open, const struct source *source)
{
    open->slot->flags |= GDX_FLAG_cut;
    if (source->buffer)
        gdx_put(open, GDX_PART_argument_tail, source->buffer,
                source->buffer_bytes < GDX_TAIL ? source->buffer_bytes : GDX_TAIL);
}

GDX_HOT void gdx_put_arguments(struct gdx_open *open, const struct gdx_layout *layout, void **params, void **extra)
{
    struct source source = { .lane = open->lane, .page = UINTPTR_MAX };
    if (GDX_UNLIKELY(!params && extra))
        find_buffer(&source, extra);
    if (GDX_UNLIKELY(!layout)) {
        put_raw(open, &source);
        return;
    }
    if (!layout->count)
        return;
    if (params && gdx_readable(open->lane, params, layout->count * sizeof *params))
        source.params = params;
    char *tail = layout->tail_bytes ? gdx_part(open, GDX_PART_argument_tail, layout->tail_bytes) : NULL;
    if (tail)
        memset(tail, 0, layout->tail_bytes);
    struct gdx_argument *room = gdx_part(open, GDX_PART_arguments, layout->count * sizeof *room);
    const uint32_t tid = open->lane->tid;
    for (uint32_t i = 0; room && i < layout->count; i++)
        put_argument(&room[i], &layout->params[i], value_of(&source, &layout->params[i], i), tid, tail);
    if (layout->count < layout->all)
        open->slot->flags |= GDX_FLAG_cut;
}

uint32_t gdx_argument_words(const struct gdx_layout *layout, void **params, void **extra, uint64_t values[GDX_ARGUMENTS])
{
    struct source source = { .lane = gdx_lane(), .page = UINTPTR_MAX };
    uint32_t count = source.lane && layout->count < GDX_ARGUMENTS ? layout->count : 0;
    if (!params && extra && count)
        find_buffer(&source, extra);
    if (params && count && gdx_readable(source.lane, params, count * sizeof *params))
        source.params = params;
    for (uint32_t i = 0; i < count; i++) {
        const void *at = value_of(&source, &layout->params[i], i);
        values[i] = at ? gdx_first_word(at, layout->params[i].like.size) : 0;
    }
    return count;
}
