/* Which bytes of buffers somebody wrote, a byte of ours for each of theirs (checks.h).
 *
 * A shadow only ever goes from "not written" to "written". So it does no harm that host calls mark their range when they are
 * made and not when they run: a read of bytes that nobody wrote may be missed then, but none is reported that had been written.
 * What cannot be followed (mapped, part of an image, used by kernels that are not checked) counts as written; and once somebody
 * can write where no call of ours is (gdx_cl_check_blind), all memory does. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "opencl/checks.h"

enum { BUFFERS = 1 << 12, MARKS = 24, ROWS_MOST = 4096 };
static const size_t FOLLOWED_MOST = 1ull << 30;

struct mark { size_t offset, bytes, pitch, rows; };  /* `bytes` in each row */
struct buffer {
    cl_mem mem;       /* NULL: the place is free */
    size_t size;
    cl_mem shadow;    /* NULL: no checked kernel has had it yet */
    bool all;         /* all of it counts as written */
    size_t first;     /* so many bytes from its start count as written */
    bool divided;     /* parts were made of it */
    uint32_t marks;   /* ranges that the shadow does not have yet */
    struct mark mark[MARKS];
};
static struct buffer buffers[BUFFERS];  /* with the lock held */
static _Atomic bool blind;
#define WORD(x) ((uint64_t)(uintptr_t)(x))

static struct buffer *place_of(cl_mem mem, bool fresh)
{
    size_t at = (size_t)((WORD(mem) >> 4) * 0x9e3779b97f4a7c15ull >> 40) & (BUFFERS - 1);
    struct buffer *room = NULL;
    for (size_t i = 0; i < 64; i++, at = (at + 1) & (BUFFERS - 1)) {
        if (buffers[at].mem == mem)
            return &buffers[at];
        if (!room && !buffers[at].mem)
            room = &buffers[at];
    }
    return fresh ? room : NULL;
}

void gdx_cl_check_blind(void)
{
    atomic_store(&blind, true);
}

void gdx_cl_check_made(cl_mem mem, const cl_mem_properties *properties, cl_mem_flags flags, size_t bytes)
{
    struct gdx_calm calm;
    cl_mem old = NULL;
    if (!mem || !gdx_on())
        return;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct buffer *place = place_of(mem, true);
    if (place) {
        bool content = flags & (CL_MEM_COPY_HOST_PTR | CL_MEM_USE_HOST_PTR) || gdx_cl_has_properties(properties);
        old = place->shadow;
        *place = (struct buffer){ .mem = mem, .size = bytes, .all = content || bytes > FOLLOWED_MOST };
    }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    if (old)
        gdx_cl_next.clReleaseMemObject(old);
}

/* The program drops a reference: the last one? */
void gdx_cl_check_mem_released(cl_mem mem)
{
    struct gdx_calm calm;
    cl_uint count = 0;
    cl_mem shadow = NULL;
    if (!gdx_on() || gdx_cl_next.clGetMemObjectInfo(mem, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL) != CL_SUCCESS
        || count > 1)
        return;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct buffer *known = place_of(mem, false);
    if (known) {
        shadow = known->shadow;
        *known = (struct buffer){ 0 };
    }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    if (shadow)
        gdx_cl_next.clReleaseMemObject(shadow);
}

static void mark_rows(struct buffer *b, size_t offset, size_t bytes, size_t pitch, size_t rows)
{
    size_t end = offset + (rows - 1) * pitch + bytes;
    if (b->all || end > b->size || end < offset)
        return;  /* the driver refuses what does not fit */
    if (rows > ROWS_MOST || b->marks == MARKS) {
        b->all = true;
        return;
    }
    b->mark[b->marks++] = (struct mark){ offset, bytes, pitch, rows };
}

static void mark(struct buffer *b, size_t offset, size_t bytes)
{
    if (b->all || offset >= b->size)
        return;
    bytes = bytes < b->size - offset ? bytes : b->size - offset;
    if (offset + bytes <= b->first)
        return;  /* by a mark before */
    if (offset <= b->first)
        b->first = offset + bytes;
    if (b->first == b->size || b->marks == MARKS) {
        b->all = true;  /* without room for more, nothing of it is followed any longer */
        return;
    }
    if (bytes)
        b->mark[b->marks++] = (struct mark){ offset, bytes, bytes, 1 };
}

static bool marked(cl_mem mem, size_t offset, size_t bytes)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct buffer *known = place_of(mem, false);
    if (known)
        mark(known, offset, bytes);
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    return known;
}

void gdx_cl_check_wrote(cl_mem mem, size_t offset, size_t bytes)
{
    if (mem && gdx_on())
        marked(mem, offset, bytes);  /* parts and images: all of their buffer counts as written since they were made */
}

/* A function of the program's writes these, each of them anywhere. */
void gdx_cl_check_wrote_all(cl_uint count, const cl_mem *mems)
{
    cl_mem mem;
    struct gdx_lane *lane = gdx_on() ? gdx_lane() : NULL;
    for (cl_uint i = 0; lane && mems && i < count && gdx_read(&lane->reader, &mem, mems + i, sizeof mem); i++)
        gdx_cl_check_wrote(mem, 0, SIZE_MAX);
}

void gdx_cl_check_wrote_rows(cl_mem mem, const size_t *origin, const size_t *region, size_t row_pitch, size_t slice_pitch)
{
    struct gdx_calm calm;
    if (!mem || !gdx_on() || !origin || !region || !region[0] || !region[1])
        return;
    row_pitch = row_pitch ? row_pitch : region[0];
    slice_pitch = slice_pitch ? slice_pitch : region[1] * row_pitch;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct buffer *known = place_of(mem, false);
    for (size_t z = 0; known && z < region[2] && !known->all; z++)
        mark_rows(known, (origin[2] + z) * slice_pitch + origin[1] * row_pitch + origin[0], region[0], row_pitch, region[1]);
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
}

/* A part that is made of a buffer, or an image over it, can be written where we do not look. */
void gdx_cl_check_part(cl_mem of)
{
    struct gdx_calm calm;
    if (!of || !gdx_on())
        return;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct buffer *known = place_of(of, false);
    if (known)
        known->all = known->divided = true;
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
}

/* The same rule as in src/gpudx/backends/opencl/rules.py, starts_work: extensions are many, so what is not known to leave memory alone
 * may write it. */
void gdx_cl_check_function(const char *name)
{
    static const char *const harmless[] = { "clGet", "clCreate", "clRetain", "clRelease", "clIcd", "clLog" };
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (!strncmp(name, harmless[i], strlen(harmless[i])))
            return;
    gdx_cl_check_blind();
}

void gdx_cl_check_image(const cl_image_desc *desc)
{
    gdx_cl_check_part(desc->buffer);
}

bool gdx_cl_check_first_written(cl_mem mem, size_t bytes)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct buffer *known = place_of(mem, false);
    bool written = !known || known->all || atomic_load(&blind) || bytes <= known->first;  /* what is not followed is not checked at run time either */
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    return written;
}

bool gdx_cl_check_is_whole_buffer(cl_mem mem)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct buffer *known = place_of(mem, false);
    bool whole = known && !known->divided;
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    return whole;
}

/* ---- the shadow ---- */

static bool fill(cl_context context, cl_command_queue queue, cl_mem shadow, size_t offset, size_t bytes, unsigned char value)
{
    cl_event event;
    if (!bytes)
        return true;
    return gdx_cl_next.clEnqueueFillBuffer(queue, shadow, &value, 1, offset, bytes, 0, NULL, &event) == CL_SUCCESS
        && gdx_cl_own_ended(context, queue, event, GDX_CL_PATIENCE_MS);
}

static cl_mem brought_up(cl_context context, cl_command_queue queue, const struct buffer *b)
{
    cl_int status = CL_SUCCESS;
    cl_mem shadow = b->shadow;
    if (!shadow) {
        shadow = gdx_cl_next.clCreateBuffer(context, CL_MEM_READ_WRITE, b->size, NULL, &status);
        if (!shadow || !fill(context, queue, shadow, 0, b->size, 0))
            return NULL;
    }
    for (uint32_t i = 0; i < b->marks; i++)
        for (size_t row = 0; row < b->mark[i].rows; row++)
            if (!fill(context, queue, shadow, b->mark[i].offset + row * b->mark[i].pitch, b->mark[i].bytes, 1))
                return NULL;
    return shadow;
}

/* The shadow of a buffer, with all that the host has written; NULL: its bytes are not followed. */
cl_mem gdx_cl_check_written(cl_context context, cl_mem mem)
{
    struct gdx_calm calm;
    struct buffer copy = { 0 };
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct buffer *known = place_of(mem, false);
    if (known && !known->all && !atomic_load(&blind))
        copy = *known;
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    cl_command_queue queue = copy.mem ? gdx_cl_own_hold(context, true) : NULL;
    if (!queue)
        return NULL;
    cl_mem shadow = brought_up(context, queue, &copy);
    gdx_cl_own_drop(context);
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    known = place_of(mem, false);
    if (known && known->mem == mem && known->size == copy.size) {
        known->shadow = shadow;
        known->all |= !shadow;
        uint32_t done = copy.marks < known->marks ? copy.marks : known->marks;
        memmove(known->mark, known->mark + done, (known->marks - done) * sizeof *known->mark);
        known->marks -= done;
    }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    return shadow;
}
