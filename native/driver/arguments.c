/* The arguments of a launch, as they stand when it is made.
 *
 * Written like those of OpenCL: one struct gdx_argument each, values over 8 bytes whole in the tail. The parts are
 * written in this order because readers expect the argument list at the head of the blob. */
#define _GNU_SOURCE
#include <string.h>

#include "driver/functions.h"

/* Where the values are: an array of pointers, or one packed buffer. */
struct source {
    const struct gdx_reader *me;
    void *const *params;
    const char *buffer;
    size_t buffer_bytes;
};

/* `extra` is a list of pairs of a key and a pointer. Keys are the same in CUDA (driver API reference, cuLaunchKernel) and
 * HIP (hip_runtime_api.h, HIP_LAUNCH_PARAM_*), but for the one that closes the list: 0 and 3. */
enum { BUFFER = 1, BUFFER_SIZE = 2 };

GDX_COLD static void find_buffer(struct source *source, void **extra)
{
    const size_t *size = NULL;
    void *pair[2];
    enum { PAIRS = 8 };
    for (int i = 0; i < PAIRS && gdx_read(source->me, pair, extra, sizeof pair); i++, extra += 2) {
        if ((uintptr_t)pair[0] == BUFFER)
            source->buffer = pair[1];
        else if ((uintptr_t)pair[0] == BUFFER_SIZE)
            size = pair[1];
        else
            break;
    }
    if (!source->buffer || !size || !gdx_read(source->me, &source->buffer_bytes, size, sizeof *size)
        || source->buffer_bytes > GDX_BLOB_MAX)
        source->buffer_bytes = 0;
    if (!source->buffer_bytes)
        source->buffer = NULL;
}

/* Where one value is; NULL: nowhere. */
static inline const void *place_of(const struct source *source, const struct gdx_param *param, uint32_t index)
{
    if (GDX_UNLIKELY(source->buffer))
        return param->offset + (uint64_t)param->like.size <= source->buffer_bytes ? source->buffer + param->offset : NULL;
    return source->params ? source->params[index] : NULL;
}

/* One that the packed buffer is too short for: how long the buffer is says more than that it could not be read. */
GDX_COLD static void beyond(struct gdx_argument *out, const struct source *source)
{
    out->flags |= GDX_ARG_beyond;
    out->value = source->buffer_bytes;
}

static void unreadable(struct gdx_argument *out)
{
    out->flags = (uint16_t)((out->flags & ~GDX_ARG_cut) | GDX_ARG_unreadable);
    out->value = 0;
    out->tail = 0;
}

/* Where the value goes. The first word of one that there is no room for is worth having. */
static inline void *room_for(struct gdx_argument *out, char *tail)
{
    return GDX_LIKELY(out->size <= sizeof out->value) || out->flags & GDX_ARG_cut ? (void *)&out->value : (void *)(tail + out->tail);
}

/* In place, word by word: built in registers and then stored it takes three times as many instructions. Returns where the
 * value goes, NULL: nowhere. */
static inline void *put_argument(struct gdx_argument *out, const struct gdx_param *param, const void *at, uint32_t tid, char *tail)
{
    const struct gdx_argument *like = &param->like;
    memcpy(out, like, sizeof *out);
    out->setter = tid;
    out->value = 0;
    if (GDX_UNLIKELY(!at || !like->size)) {
        unreadable(out);
        return NULL;
    }
    if (GDX_UNLIKELY(like->size > sizeof out->value && (!tail || like->tail == UINT32_MAX))) {
        out->tail = UINT32_MAX;
        out->flags |= GDX_ARG_cut;
    }
    return room_for(out, tail);
}

/* Without a layout only a packed buffer says anything; it is kept whole, as far as there is room. */
GDX_COLD static void put_raw(struct gdx_open *open, const struct source *source)
{
    open->slot->flags |= GDX_FLAG_cut;
    if (source->buffer)
        gdx_put(open, GDX_PART_argument_tail, source->buffer,
                source->buffer_bytes < GDX_TAIL ? source->buffer_bytes : GDX_TAIL);
}

/* The array of pointers, which is copied unless it lies on the stack. */
static inline void *const *pointers(const struct source *source, void **params, uint32_t count, void **room)
{
    size_t bytes = count * sizeof *params;
    if (GDX_LIKELY(gdx_stays(source->me, params, bytes)))
        return params;
    return gdx_read(source->me, room, params, bytes) ? room : NULL;
}

/* The first word of values over 8 bytes is the argument's value, too. */
static inline size_t bytes_of(const struct gdx_argument *out, const void *to)
{
    return to == &out->value && out->size > sizeof out->value ? sizeof out->value : out->size;
}

/* Values that the kernel has to fetch, all of a launch in one step. */
enum { PIECES = 64 };
struct fetch { unsigned count; struct iovec to[PIECES], from[PIECES]; uint32_t index[PIECES]; };

static void fetch_now(const struct source *source, struct fetch *fetch, struct gdx_argument *arguments)
{
    if (fetch->count && !gdx_read_pieces(source->me, fetch->to, fetch->from, fetch->count))
        for (unsigned i = 0; i < fetch->count; i++)
            if (!gdx_read(source->me, fetch->to[i].iov_base, fetch->from[i].iov_base, fetch->from[i].iov_len))
                unreadable(&arguments[fetch->index[i]]);
    fetch->count = 0;
}

/* Apart from what most launches need, whose values stay: its memory would take the stack's next page, too. */
GDX_COLD static void put_others(const struct source *source, const struct gdx_layout *layout, struct gdx_argument *room, char *tail)
{
    struct fetch fetch;
    fetch.count = 0;
    for (uint32_t i = 0; i < layout->count; i++) {
        const void *at = place_of(source, &layout->params[i], i);
        void *to = room[i].flags & GDX_ARG_unreadable ? NULL : room_for(&room[i], tail);
        size_t bytes = to ? bytes_of(&room[i], to) : 0;
        if (!to)
            continue;
        if (gdx_stays(source->me, at, bytes)) {
            gdx_copy_bytes(to, at, bytes);
            continue;
        }
        if (fetch.count == PIECES)
            fetch_now(source, &fetch, room);
        fetch.to[fetch.count] = (struct iovec){ to, bytes };
        fetch.from[fetch.count] = (struct iovec){ (void *)at, bytes };
        fetch.index[fetch.count++] = i;
    }
    fetch_now(source, &fetch, room);
}

GDX_HOT static inline void put_values(const struct source *source, const struct gdx_layout *layout, struct gdx_argument *room, char *tail,
                                      uint32_t tid)
{
    bool others = false;
    for (uint32_t i = 0; i < layout->count; i++) {
        const void *at = place_of(source, &layout->params[i], i);
        void *to = put_argument(&room[i], &layout->params[i], at, tid, tail);
        if (GDX_UNLIKELY(!to)) {
            if (source->buffer && !at)
                beyond(&room[i], source);
            continue;
        }
        size_t bytes = bytes_of(&room[i], to);
        if (GDX_LIKELY(gdx_stays(source->me, at, bytes)))
            gdx_copy_bytes(to, at, bytes);
        else
            others = true;
    }
    if (GDX_UNLIKELY(others))
        put_others(source, layout, room, tail);
    for (uint32_t i = 0; tail && i < layout->count; i++)
        if (room[i].flags == GDX_ARG_set && room[i].size > sizeof room[i].value)
            memcpy(&room[i].value, tail + room[i].tail, sizeof room[i].value);
}

GDX_INLINE void put_all(struct gdx_open *open, const struct gdx_layout *layout, const struct source *source)
{
    char *tail = layout->tail_bytes ? gdx_part(open, GDX_PART_argument_tail, layout->tail_bytes) : NULL;
    if (tail)
        memset(tail, 0, layout->tail_bytes);
    struct gdx_argument *room = gdx_part(open, GDX_PART_arguments, layout->count * sizeof *room);
    if (room)
        put_values(source, layout, room, tail, open->lane->tid);
    if (layout->count < layout->all)
        open->slot->flags |= GDX_FLAG_cut;
}

GDX_COLD static void put_unusual(struct gdx_open *open, const struct gdx_layout *layout, void **params, void **extra)
{
    struct source source = { .me = &open->lane->reader };
    void *copied[GDX_ARGUMENTS];
    if (!params && extra)
        find_buffer(&source, extra);
    if (!layout) {
        put_raw(open, &source);
        return;
    }
    if (params)
        source.params = pointers(&source, params, layout->count, copied);
    put_all(open, layout, &source);
}

GDX_HOT void gdx_put_arguments(struct gdx_open *open, const struct gdx_layout *layout, void **params, void **extra)
{
    struct source source = { .me = &open->lane->reader, .params = params };
    if (GDX_UNLIKELY(layout && !layout->count))
        return;
    if (GDX_LIKELY(layout && params && gdx_stays(source.me, params, layout->count * sizeof *params)))
        put_all(open, layout, &source);
    else
        put_unusual(open, layout, params, extra);
}

uint32_t gdx_argument_words(const struct gdx_layout *layout, void **params, void **extra, uint64_t values[GDX_ARGUMENTS])
{
    struct gdx_lane *lane = gdx_lane();
    struct source source = { .me = lane ? &lane->reader : NULL };
    void *copied[GDX_ARGUMENTS];
    uint32_t count = lane && layout->count < GDX_ARGUMENTS ? layout->count : 0;
    if (!params && extra && count)
        find_buffer(&source, extra);
    if (params && count)
        source.params = pointers(&source, params, count, copied);
    for (uint32_t i = 0; i < count; i++) {
        const void *at = place_of(&source, &layout->params[i], i);
        size_t size = layout->params[i].like.size < sizeof *values ? layout->params[i].like.size : sizeof *values;
        values[i] = 0;
        if (at && !gdx_read(source.me, &values[i], at, size))
            values[i] = 0;
    }
    return count;
}

size_t gdx_argument_bytes(const struct gdx_layout *layout, void **params, void **extra, uint32_t index, void *room, size_t most)
{
    struct gdx_lane *lane = gdx_lane();
    struct source source = { .me = lane ? &lane->reader : NULL };
    void *copied[GDX_ARGUMENTS];
    if (!lane || index >= layout->count || layout->count >= GDX_ARGUMENTS)
        return 0;
    if (!params && extra)
        find_buffer(&source, extra);
    if (params)
        source.params = pointers(&source, params, layout->count, copied);
    const void *at = place_of(&source, &layout->params[index], index);
    size_t size = layout->params[index].like.size;
    return at && size <= most && gdx_read(source.me, room, at, size) ? size : 0;
}
