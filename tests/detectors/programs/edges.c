/* What the driver says to ranges at the end of a buffer, and to questions about it: printed, to be the same with and without
 * something behind the end. "refused" is about ranges, "lives" about references and flags, "order" about what a wait must not
 * disturb, "unwritten" computes with memory that nobody wrote, "svm" looks at fresh shared virtual memory. */
#include "common.h"

#include <unistd.h>

static char room[3 * BYTES];

static void say(const char *what, cl_int status)
{
    printf("%s %d\n", what, (int)status);
}

static size_t size_of(cl_mem mem)
{
    size_t size = 0;
    check(clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof size, &size, NULL), "CL_MEM_SIZE");
    return size;
}

/* ---- refused ---- */

static void lines(cl_mem mem, size_t offset, size_t size)
{
    cl_int status;
    char byte = 1;
    cl_mem other = filled_buffer(3 * BYTES);
    cl_buffer_region region = { offset, size };
    printf("%zu bytes from %zu on\n", size, offset);
    say("read", clEnqueueReadBuffer(queue, mem, CL_TRUE, offset, size, room, 0, NULL, NULL));
    say("write", clEnqueueWriteBuffer(queue, mem, CL_TRUE, offset, size, room, 0, NULL, NULL));
    say("fill", clEnqueueFillBuffer(queue, mem, &byte, 1, offset, size, 0, NULL, NULL));
    say("from", clEnqueueCopyBuffer(queue, mem, other, offset, 0, size, 0, NULL, NULL));
    say("to", clEnqueueCopyBuffer(queue, other, mem, 0, offset, size, 0, NULL, NULL));
    void *at = clEnqueueMapBuffer(queue, mem, CL_TRUE, CL_MAP_WRITE, offset, size, 0, NULL, NULL, &status);
    say("map", status);
    if (at)
        say("unmap", clEnqueueUnmapMemObject(queue, mem, at, 0, NULL, NULL));
    cl_mem part = clCreateSubBuffer(mem, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    say("part", status);
    if (part) {
        printf("of %zu bytes\n", size_of(part));
        clReleaseMemObject(part);
    }
    check(clFinish(queue), "clFinish");
    clReleaseMemObject(other);
}

static void boxes(cl_mem mem, size_t rows)
{
    const size_t none[3] = { 0, 0, 0 }, region[3] = { 64, rows, 1 };
    cl_mem other = filled_buffer(3 * BYTES);
    printf("%zu rows\n", rows);
    say("read", clEnqueueReadBufferRect(queue, mem, CL_TRUE, none, none, region, 64, 0, 64, 0, room, 0, NULL, NULL));
    say("write", clEnqueueWriteBufferRect(queue, mem, CL_TRUE, none, none, region, 64, 0, 64, 0, room, 0, NULL, NULL));
    say("from", clEnqueueCopyBufferRect(queue, mem, other, none, none, region, 64, 0, 64, 0, 0, NULL, NULL));
    say("to", clEnqueueCopyBufferRect(queue, other, mem, none, none, region, 64, 0, 64, 0, 0, NULL, NULL));
    check(clFinish(queue), "clFinish");
    clReleaseMemObject(other);
}

static void images(cl_mem mem, size_t offset)
{
    cl_int status;
    const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
    cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 4 };
    const size_t none[3] = { 0, 0, 0 }, region[3] = { 16, 4, 1 };
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    printf("image %zu\n", offset);
    if (!image)
        return;
    say("from", clEnqueueCopyBufferToImage(queue, mem, image, offset, none, region, 0, NULL, NULL));
    say("to", clEnqueueCopyImageToBuffer(queue, image, mem, none, region, offset, 0, NULL, NULL));
    check(clFinish(queue), "clFinish");
    clReleaseMemObject(image);
}

static void refused(void)
{
    cl_mem mem = filled_buffer(BYTES);
    const size_t sizes[] = { 0, 128, BYTES, BYTES + 1, BYTES + 128, 2 * BYTES, 2 * BYTES + 1, (size_t)-1, (size_t)-128 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        lines(mem, 0, sizes[i]);
        lines(mem, BYTES - 128, sizes[i]);
        lines(mem, BYTES, sizes[i]);
    }
    for (size_t rows = 63; rows < 130; rows += 1 + 64 * (rows == 65))
        boxes(mem, rows);
    images(mem, BYTES - 256);
    images(mem, BYTES - 252);
    printf("whole %zu\n", size_of(mem));
}

/* ---- lives ---- */

static void gone(cl_mem mem, void *name)
{
    (void)mem;
    printf("gone %s\n", (const char *)name);
}

static void count(cl_mem mem)
{
    cl_uint references = 0;
    check(clGetMemObjectInfo(mem, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL), "references");
    printf("references %u\n", references);
}

static void lives(void)
{
    static const cl_mem_flags flags[] = { CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY,
                                          CL_MEM_READ_ONLY, CL_MEM_ALLOC_HOST_PTR, CL_MEM_COPY_HOST_PTR };
    cl_int status;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        cl_mem_flags told = 0;
        cl_mem mem = clCreateBuffer(context, flags[i], 100, flags[i] == CL_MEM_COPY_HOST_PTR ? room : NULL, &status);
        check(clGetMemObjectInfo(mem, CL_MEM_FLAGS, sizeof told, &told, NULL), "CL_MEM_FLAGS");
        printf("flags %d, size %zu\n", told == flags[i], size_of(mem));
        say("read", clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, 100, room, 0, NULL, NULL));
        count(mem);
        check(clSetMemObjectDestructorCallback(mem, gone, "one"), "clSetMemObjectDestructorCallback");
        say("retain", clRetainMemObject(mem));
        count(mem);
        say("release", clReleaseMemObject(mem));
        count(mem);
        puts("last");
        say("release", clReleaseMemObject(mem));
    }
}

/* ---- order ---- */

static void scale(cl_mem mem, cl_uint waits, cl_event *wait)
{
    size_t global = COUNT;
    cl_kernel kernel = make_kernel("scale");
    set_mem(kernel, 0, mem);
    set_float(kernel, 1, 2);
    set_int(kernel, 2, COUNT);
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, waits, wait, NULL), "clEnqueueNDRangeKernel");
    clReleaseKernel(kernel);
}

static _Atomic int seen;
static cl_mem shared;

/* Not on the thread that made the program wait, and not allowed to wait itself. */
static void next(cl_event event, cl_int state, void *data)
{
    (void)event, (void)data;
    scale(shared, 0, NULL);
    clReleaseMemObject(make_buffer(100));
    check(clFlush(queue), "clFlush");
    seen = 1 + state;
}

static void order(void)
{
    cl_int status;
    float first = 1, got = 0;
    cl_event go = clCreateUserEvent(context, &status), done;
    shared = filled_buffer(BYTES);
    check(clEnqueueFillBuffer(queue, shared, &first, sizeof first, 0, BYTES, 0, NULL, NULL), "clEnqueueFillBuffer");
    scale(shared, 1, &go);  /* whoever waits for this one waits for ever */
    clReleaseMemObject(make_buffer(BYTES));
    check(clSetUserEventStatus(go, CL_COMPLETE), "clSetUserEventStatus");
    check(clEnqueueMarkerWithWaitList(queue, 0, NULL, &done), "clEnqueueMarkerWithWaitList");
    check(clSetEventCallback(done, CL_COMPLETE, next, NULL), "clSetEventCallback");
    check(clFlush(queue), "clFlush");
    while (!seen)
        usleep(1000);
    scale(shared, 0, NULL);
    check(clEnqueueReadBuffer(queue, shared, CL_TRUE, 0, sizeof got, &got, 0, NULL, NULL), "clEnqueueReadBuffer");
    printf("%g, called with %d\n", got, seen - 1);
}

/* ---- unwritten ---- */

/* So large that a CPU device gets it from the system, which gives zeros. */
static void unwritten(void)
{
    float got[COUNT];
    cl_mem mem = make_buffer(64 << 20);
    scale(mem, 0, NULL);
    check(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, BYTES, got, 0, NULL, NULL), "clEnqueueReadBuffer");
    for (int i = 0; i < COUNT; i++)
        if (got[i] != 0) {
            fprintf(stderr, "%g is not 0\n", got[i]);
            exit(3);
        }
}

/* ---- shared virtual memory ---- */

static void show(cl_svm_mem_flags flags, const char *name)
{
    cl_uint *words = clSVMAlloc(context, flags, BYTES, 0);
    int found = 0;
    if (!words)
        return;
    check(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, words, BYTES, 0, NULL, NULL), "clEnqueueSVMMap");
    for (int i = 0; i < COUNT; i++)
        found += words[i] == 0xcbcbcbcb;
    printf("%s %d\n", name, found);
    check(clEnqueueSVMUnmap(queue, words, 0, NULL, NULL), "clEnqueueSVMUnmap");
    check(clFinish(queue), "clFinish");
    clSVMFree(context, words);
}

int main(int argc, char **argv)
{
    start(argc, argv);
    if (is("refused"))
        refused();
    else if (is("lives"))
        lives();
    else if (is("order"))
        order();
    else if (is("svm")) {
        show(CL_MEM_READ_WRITE, "coarse");
        show(CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, "fine");
    } else
        unwritten();
    return finish();
}
