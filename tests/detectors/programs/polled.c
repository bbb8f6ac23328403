/* A host that waits for memory to change in a loop of its own. */
#include "common.h"
#include <pthread.h>
#include <unistd.h>

static volatile float *mapped, own[4];

static void *sets_it_later(void *data)
{
    (void)data;
    sleep(1000);
    mapped[1] = 1;
    return NULL;
}

static void wait_for(volatile float *value)
{
    while (*value != 12345)
        usleep(200);
}

int main(int argc, char **argv)
{
    cl_int status;
    start(argc, argv);
    cl_kernel scale = make_kernel("scale");
    cl_mem data = filled_buffer(BYTES), other = filled_buffer(BYTES);
    cl_command_queue second = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    size_t count = COUNT;
    pthread_t thread;
    set_mem(scale, 0, is("elsewhere") ? other : data);
    set_float(scale, 1, 2);
    set_int(scale, 2, COUNT);
    launch(scale, COUNT);
    mapped = clEnqueueMapBuffer(queue, data, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, &status);
    check(status, "clEnqueueMapBuffer");
    if (is("pending")) {
        cl_event go = clCreateUserEvent(context, &status);
        check(status, "clCreateUserEvent");
        check(clEnqueueNDRangeKernel(second, scale, 1, NULL, &count, NULL, 1, &go, NULL), "clEnqueueNDRangeKernel");
        check(clFlush(second), "clFlush");
    }
    if (is("worker"))
        pthread_create(&thread, NULL, sets_it_later, NULL);
    wait_for(is("bare") ? own : mapped + 1);
    return finish();
}
