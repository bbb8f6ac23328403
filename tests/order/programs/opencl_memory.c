/* Mapped buffers, parts of buffers, and host memory that a copy still has. */
#include "planted_opencl.h"
#include "at_once.h"

static void *map(cl_command_queue queue, cl_mem mem, cl_map_flags how, cl_uint waits, const cl_event *list)
{
    cl_int status;
    void *at = clEnqueueMapBuffer(queue, mem, CL_TRUE, how, 0, BYTES, waits, waits ? list : NULL, NULL, &status);
    check(status, "clEnqueueMapBuffer");
    return at;
}

static void map_while_written(void)
{
    cl_event computed;
    add(a, ones, ones, y, 0, NULL, &computed);
    CHECK(clFlush(a));
    void *seen = map(b, y, CL_MAP_READ, twin, &computed);
    memcpy(back, seen, BYTES);
    CHECK(clEnqueueUnmapMemObject(b, y, seen, 0, NULL, NULL));
    CHECK(clReleaseEvent(computed));
    host_result = back;
}

/* What the host wrote into a mapping is there for others when the unmap is done. */
static void unmap_not_awaited(void)
{
    cl_event unmapped;
    void *room = map(a, x, CL_MAP_WRITE_INVALIDATE_REGION, 0, NULL);
    memcpy(room, in, BYTES);
    CHECK(clEnqueueUnmapMemObject(a, x, room, 0, NULL, &unmapped));
    CHECK(clFlush(a));
    add(b, x, ones, y, twin, &unmapped, NULL);
    CHECK(clReleaseEvent(unmapped));
}

/* Two parts of one buffer, which overlap by half of each, or only touch. */
static void parts_overlap(void)
{
    cl_mem low = part(x, 0), high = part(x, twin ? HALF : HALF / 2);
    add_some(a, ones, ones, low, HALF / 4, 0, NULL, NULL);
    add_some(b, ones, ones, high, HALF / 4, 0, NULL, NULL);
    finish_all();
    CHECK(clReleaseMemObject(low));
    CHECK(clReleaseMemObject(high));
    result = x;
}

static void part_and_whole(void)
{
    cl_mem low = part(x, 0);
    add_some(a, ones, ones, low, HALF / 4, 0, NULL, NULL);
    CHECK(clFlush(a));
    CHECK(clEnqueueCopyBuffer(b, x, y, twin ? HALF : 0, 0, HALF, 0, NULL, NULL));
    finish_all();
    CHECK(clReleaseMemObject(low));
    result = z;
}

/* The host memory that one queue is still filling is the source of the other's copy. */
static void read_then_write(void)
{
    cl_event fetched;
    CHECK(clEnqueueReadBuffer(a, y, CL_FALSE, 0, BYTES, back, 0, NULL, &fetched));
    CHECK(clFlush(a));
    CHECK(clEnqueueWriteBuffer(b, x, CL_FALSE, 0, BYTES, back, twin, twin ? &fetched : NULL, NULL));
    CHECK(clReleaseEvent(fetched));
    result = x;
}

static void source_rewritten(void)
{
    cl_event written;
    CHECK(clEnqueueWriteBuffer(a, x, CL_FALSE, 0, BYTES, in, 0, NULL, &written));
    CHECK(clFlush(a));
    CHECK(clEnqueueReadBuffer(b, y, CL_FALSE, 0, BYTES, in, twin, twin ? &written : NULL, NULL));
    CHECK(clReleaseEvent(written));
    result = x;
}

static void two_reads_one_place(void)
{
    cl_event fetched;
    CHECK(clEnqueueReadBuffer(a, x, CL_FALSE, 0, BYTES, back, 0, NULL, &fetched));
    CHECK(clFlush(a));
    CHECK(clEnqueueReadBuffer(b, y, CL_FALSE, 0, BYTES, back, twin, twin ? &fetched : NULL, NULL));
    CHECK(clReleaseEvent(fetched));
    host_result = back;
}

/* `values` is gone when this returns; the copy may not have begun. */
static __attribute__((noinline)) void write_from_stack(void)
{
    float values[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i] = 2;
    CHECK(clEnqueueWriteBuffer(a, x, CL_FALSE, 0, BYTES, values, 0, NULL, NULL));
    if (twin)
        CHECK(clFinish(a));
}

static void stack_gone(void)
{
    write_from_stack();
    add(a, x, ones, y, 0, NULL, NULL);
}

static cl_mem large;
static float *values;

static void write_all(void)
{
    CHECK(clEnqueueWriteBuffer(a, large, CL_TRUE, 0, LONG_BYTES, values, 0, NULL, NULL));
}

static void copy_some(void)
{
    CHECK(clEnqueueCopyBuffer(a, twin ? z : large, y, 0, 0, BYTES, 0, NULL, NULL));
}

/* A queue keeps the order in which it is given work; here nobody knows which thread comes first. */
static void one_queue(void)
{
    large = buffer(LONG_BYTES, 0);
    values = calloc(1, LONG_BYTES);
    at_once(write_all, copy_some);
    finish_all();
    CHECK(clReleaseMemObject(large));
    free(values);
}

int main(int argc, char **argv)
{
    const struct mode modes[] = {
        { "map-while-written", map_while_written, 2 },
        { "unmap-not-awaited", unmap_not_awaited, 3 },
        { "parts-overlap", parts_overlap, 2 },
        { "part-and-whole", part_and_whole, 9 },
        { "read-then-write", read_then_write, 7 },
        { "source-rewritten", source_rewritten, 2 },
        { "two-reads-one-place", two_reads_one_place, 7 },
        { "stack-gone", stack_gone, 3 },
        { "one-queue", one_queue, 9 },
        { NULL, NULL, 0 },
    };
    return play(modes, argc, argv);
}
