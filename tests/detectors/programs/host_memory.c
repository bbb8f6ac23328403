/* Copies that the host does not wait for, and what becomes of their host memory meanwhile. */
#include "common.h"

#include <pthread.h>

static cl_mem buffer, other_buffer;
static cl_command_queue second;
static float heap[COUNT];

static void write_from(const float *data, cl_event *event)
{
    check(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, BYTES, data, 0, NULL, event), "clEnqueueWriteBuffer");
}

static void wait_until_done(cl_event event)
{
    cl_int state = CL_QUEUED;
    while (state != CL_COMPLETE)
        check(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL), "clGetEventInfo");
}

/* The array is this function's own; "stack" leaves it to the driver and returns. */
__attribute__((noinline)) static void upload(void)
{
    float data[COUNT];
    cl_event event;
    for (int i = 0; i < COUNT; i++)
        data[i] = (float)i;
    write_from(data, &event);
    if (is("polled"))
        wait_until_done(event);
    else if (!is("stack") && !is("thread"))
        check(clWaitForEvents(1, &event), "clWaitForEvents");
}

static void *in_thread(void *unused)
{
    upload();
    check(clFinish(queue), "clFinish");
    return unused;
}

/* Two buffers of the host take turns: each is filled again only when its last copy is done. */
static void take_turns(void)
{
    static float turns[2][COUNT];
    cl_event done[2] = { NULL, NULL };
    for (int i = 0; i < 6; i++) {
        if (done[i % 2])
            check(clWaitForEvents(1, &done[i % 2]), "clWaitForEvents");
        turns[i % 2][0] = (float)i;
        write_from(turns[i % 2], &done[i % 2]);
    }
    check(clFinish(queue), "clFinish");
}

/* One array is the source of a copy in one queue and the destination of a copy in another. */
static void both_ways(void)
{
    cl_event event;
    write_from(heap, &event);
    check(clEnqueueReadBuffer(second, other_buffer, CL_FALSE, 0, BYTES, heap, is("rewritten") ? 0 : 1,
                              is("rewritten") ? NULL : &event, NULL), "clEnqueueReadBuffer");
    check(clFinish(second), "clFinish");
    check(clFinish(queue), "clFinish");
}

int main(int argc, char **argv)
{
    float here[COUNT] = { 0 };
    cl_int status;
    pthread_t thread;
    open_device(argc, argv);
    second = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    buffer = filled_buffer(BYTES);
    other_buffer = filled_buffer(BYTES);
    check(clFinish(queue), "clFinish");
    if (is("thread")) {
        pthread_create(&thread, NULL, in_thread, NULL);
        pthread_join(thread, NULL);
    } else {
        upload();
    }
    write_from(here, NULL); /* called from a function of its own, but the array is still there */
    check(clFinish(queue), "clFinish");
    take_turns();
    both_ways();
    puts("done");
    return 0;
}
