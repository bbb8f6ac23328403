/* Writes into memory that a launch was not given, for runs that watch it. Each mode is a fault of its own, or correct:
 * those are named with what they do. Kernels index with a number from the host, so that no compiler sees what they do. */
#include "common.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PART = 4096 };

static const char kernels[] =
    "kernel void put(global float *data, long at, float value) { data[at] = value; }\n"
    "kernel void put_beside(global const float *in, global float *out, long at) { out[at] = in[0] + 1; }\n"
    "kernel void scale(global float *data, float factor) { data[get_global_id(0)] *= factor; }\n"
    "kernel void count_up(global int *data) { data[get_global_id(0)] += 1; }\n";

static cl_mem part_of(cl_mem parent, size_t offset, size_t bytes)
{
    cl_int status;
    cl_buffer_region region = { offset, bytes };
    cl_mem part = clCreateSubBuffer(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    check(status, "clCreateSubBuffer");
    return part;
}

static void put_in(cl_command_queue where, cl_mem data, cl_long at, float value)
{
    size_t one = 1;
    cl_kernel kernel = make_kernel("put");
    set_mem(kernel, 0, data);
    set(kernel, 1, sizeof at, &at);
    set_float(kernel, 2, value);
    check(clEnqueueNDRangeKernel(where, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    clReleaseKernel(kernel);
}

static void put(cl_mem data, cl_long at)
{
    put_in(queue, data, at, 7);
}

static void count_up(cl_mem data, size_t bytes)
{
    cl_kernel kernel = make_kernel("count_up");
    set_mem(kernel, 0, data);
    launch(kernel, bytes / 4);
    clReleaseKernel(kernel);
}

static void done(void)
{
    check(clFinish(queue), "clFinish");
}

/* ---- faults ---- */

static void into_a_part(cl_mem parent)
{
    cl_mem first = part_of(parent, 0, PART), second = part_of(parent, 2 * PART, PART);
    put(second, 0);
    done();
    put(first, is("gap") ? PART / 4 : 2 * PART / 4 + 3);  /* past its end: right behind it, or in the other part */
    done();
}

static void into_an_argument(cl_mem parent)
{
    cl_mem in = part_of(parent, PART, PART), out = part_of(parent, 0, PART);
    cl_kernel kernel = make_kernel("put_beside");
    cl_long at = PART / 4;
    set_mem(kernel, 0, in);
    set_mem(kernel, 1, out);
    set(kernel, 2, sizeof at, &at);
    launch(kernel, 1);
    done();
}

static char *address_of(cl_mem buffer)
{
    cl_int status;
    char *at = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, PART, 0, NULL, NULL, &status);
    check(status, "clEnqueueMapBuffer");
    check(clEnqueueUnmapMemObject(queue, buffer, at, 0, NULL, NULL), "clEnqueueUnmapMemObject");
    done();
    return at;
}

static void into_a_buffer(void)
{
    cl_mem mine = filled_buffer(PART), other = filled_buffer(PART);
    put(mine, (address_of(other) - address_of(mine)) / 4 + 5);
    done();
}

static void one_of_many(cl_mem parent)
{
    cl_mem first = part_of(parent, 0, PART), second = part_of(parent, PART, PART);
    for (int i = 0; i < 20; i++)
        count_up(first, PART);
    put(first, PART / 4);
    for (int i = 0; i < 20; i++)
        count_up(first, PART);
    done();
    (void)second;
}

/* ---- correct ---- */

static void ranges(cl_mem parent)
{
    char room[PART];
    const size_t origin[3] = { 16, 2, 0 }, region[3] = { 64, 8, 1 }, zero[3] = { 0 };
    cl_mem part = part_of(parent, PART, PART);
    for (int i = 0; i < 10; i++) {
        memset(room, i + 1, sizeof room);
        check(clEnqueueWriteBuffer(queue, part, i % 2, 5, 100, room, 0, NULL, NULL), "clEnqueueWriteBuffer");
        check(clEnqueueFillBuffer(queue, parent, &room, 4, 3 * PART, 128, 0, NULL, NULL), "clEnqueueFillBuffer");
        check(clEnqueueCopyBuffer(queue, parent, part, 0, 1000, 24, 0, NULL, NULL), "clEnqueueCopyBuffer");
        check(clEnqueueWriteBufferRect(queue, part, CL_TRUE, origin, zero, region, 128, 0, 64, 0, room, 0, NULL, NULL), "rect");
        count_up(parent, PART);
        done();
    }
}

static void mapped(cl_mem parent)
{
    cl_int status;
    cl_mem other = filled_buffer(PART);
    for (int i = 0; i < 10; i++) {
        char *at = clEnqueueMapBuffer(queue, parent, CL_TRUE, CL_MAP_WRITE, 100, PART, 0, NULL, NULL, &status);
        check(status, "clEnqueueMapBuffer");
        at[i] = 5;
        count_up(other, PART);
        done();
        at[PART - 1 - i] = 6;
        check(clEnqueueUnmapMemObject(queue, parent, at, 0, NULL, NULL), "clEnqueueUnmapMemObject");
        count_up(other, PART);
        done();
    }
}

static void events(cl_mem parent)
{
    cl_int status;
    cl_event begun = clCreateUserEvent(context, &status), over;
    cl_command_queue second = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
    cl_kernel kernel = make_kernel("count_up");
    size_t count = PART / 4;
    cl_mem parts[] = { part_of(parent, 0, PART), part_of(parent, PART, PART) };
    set_mem(kernel, 0, parts[0]);
    check(clEnqueueNDRangeKernel(second, kernel, 1, NULL, &count, NULL, 1, &begun, &over), "waits for the program");
    count_up(parts[1], PART);
    done();  /* the other queue cannot end before the next line */
    check(clSetUserEventStatus(begun, CL_COMPLETE), "clSetUserEventStatus");
    check(clWaitForEvents(1, &over), "clWaitForEvents");
    check(clEnqueueNDRangeKernel(second, kernel, 1, NULL, &count, NULL, 0, NULL, NULL), "launch");
    clReleaseCommandQueue(second);
    done();
    clReleaseMemObject(parts[0]);
    read_back(parts[1], PART);
}

static void *thread(void *parent)
{
    cl_int status;
    cl_command_queue mine = clCreateCommandQueue(context, device, 0, &status);
    for (int i = 0; i < 40; i++) {
        cl_mem buffer = make_buffer(PART + 4 * (size_t)i);
        put_in(mine, buffer, i, (float)i);
        put_in(mine, *(cl_mem *)parent, i, (float)i);
        check(clFinish(mine), "clFinish");
        clReleaseMemObject(buffer);
    }
    clReleaseCommandQueue(mine);
    return NULL;
}

static void threads(cl_mem parent)
{
    pthread_t all[4];
    cl_mem parts[4];
    for (int i = 0; i < 4; i++) {
        parts[i] = part_of(parent, (size_t)i * PART, PART);
        pthread_create(&all[i], NULL, thread, &parts[i]);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
}

static void references(cl_mem parent)
{
    cl_uint count = 0;
    check(clGetMemObjectInfo(parent, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL), "CL_MEM_REFERENCE_COUNT");
    printf("%u\n", count);
    clRetainMemObject(parent);
    clReleaseMemObject(parent);
    for (int i = 0; i < 100; i++) {
        cl_mem one = filled_buffer(PART), part = part_of(one, 0, 128);
        count_up(one, PART);
        clReleaseMemObject(one);
        clReleaseMemObject(part);
    }
    done();
}

static void *many_launches(void *parent)
{
    cl_kernel kernel = make_kernel("put");
    cl_long at = 1;
    set_mem(kernel, 0, *(cl_mem *)parent);
    set(kernel, 1, sizeof at, &at);
    for (int i = 0; i < 20000; i++) {
        set_float(kernel, 2, (float)i);
        launch(kernel, 1);
    }
    clReleaseKernel(kernel);
    return NULL;
}

/* Of so many calls of one thread only the last are kept; the wait is another's. */
static void loop(cl_mem parent)
{
    pthread_t thread;
    pthread_create(&thread, NULL, many_launches, &parent);
    pthread_join(thread, NULL);
    done();
}

static void own_memory(void)
{
    static float room[PART] __attribute__((aligned(4096)));
    cl_int status;
    cl_mem own = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, sizeof room, room, &status), other = filled_buffer(PART);
    for (int i = 0; i < 5; i++) {
        room[i] = 1;
        count_up(other, PART);
        done();
    }
    clReleaseMemObject(own);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "processes")) {
        pid_t child = fork();
        int status = 0;
        if (!child)
            execl(argv[0], argv[0], argc > 2 ? argv[2] : "ranges", NULL);
        argv[1] = "ranges";
        waitpid(child, &status, 0);
        if (status)
            return 1;
    }
    open_device(argc, argv);
    program = build(kernels);
    cl_mem parent = filled_buffer(4 * PART);
    done();
    if (is("part") || is("gap"))
        into_a_part(parent);
    else if (is("argument"))
        into_an_argument(parent);
    else if (is("buffer"))
        into_a_buffer();
    else if (is("many"))
        one_of_many(parent);
    else if (is("ranges"))
        ranges(parent);
    else if (is("mapped"))
        mapped(parent);
    else if (is("events"))
        events(parent);
    else if (is("threads"))
        threads(parent);
    else if (is("references"))
        references(parent);
    else if (is("loop"))
        loop(parent);
    else if (is("own"))
        own_memory();
    clReleaseMemObject(parent);
    puts("done");
    return finish();
}
