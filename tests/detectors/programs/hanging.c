/* Programs that do not end by themselves. One that is about to wait for an event adds a byte to the file WAITING. */
#include "common.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int called;

static void held_up(cl_event event, cl_int state, void *data)
{
    (void)event, (void)state, (void)data;
    called = 1;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void say_so(void)
{
    const char *path = getenv("WAITING");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (file >= 0 && write(file, ".", 1) == 1)
        close(file);
}

int main(int argc, char **argv)
{
    cl_int status;
    start(argc, argv);
    cl_kernel spin = make_kernel("spin"), scale = make_kernel("scale");
    cl_mem data = filled_buffer(BYTES);
    size_t one = 1, count = COUNT;
    cl_event go = NULL, done = NULL;
    set_mem(scale, 0, data);
    set_float(scale, 1, 2);
    set_int(scale, 2, COUNT);
    launch(scale, COUNT);
    check(clFinish(queue), "clFinish");
    if (is("kernel")) {
        set_mem(spin, 0, data);
        launch(scale, COUNT);
        check(clEnqueueNDRangeKernel(queue, spin, 1, NULL, &one, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
        clFinish(queue);
    }
    if (is("event")) {
        go = clCreateUserEvent(context, &status);
        check(status, "clCreateUserEvent");
        status = clEnqueueNDRangeKernel(queue, scale, 1, NULL, &count, NULL, 1, &go, &done);
        check(status, "clEnqueueNDRangeKernel");
        clFlush(queue);
        say_so();
        clWaitForEvents(1, &done);
    }
    if (is("callback")) {
        go = clCreateUserEvent(context, &status);
        check(status, "clCreateUserEvent");
        check(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &count, NULL, 1, &go, &done), "clEnqueueNDRangeKernel");
        check(clSetEventCallback(done, CL_COMPLETE, held_up, NULL), "clSetEventCallback");
        pthread_mutex_lock(&mutex);
        check(clSetUserEventStatus(go, CL_COMPLETE), "clSetUserEventStatus");
        while (!called)
            usleep(1000);
        launch(scale, COUNT);  /* the driver's only thread is in the callback */
        clFinish(queue);
    }
    if (is("host"))
        pause();
    return finish();
}
