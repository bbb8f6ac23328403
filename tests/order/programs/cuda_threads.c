/* Host threads and host functions: what the host has ordered is not yet ordered on the device. */
#include "planted_cuda.h"
#include "at_once.h"

#include <semaphore.h>

static void in_thread(void *(*body)(void *))
{
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    pthread_join(thread, NULL);
}

static void *upload(void *nothing)
{
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
    if (twin)
        CHECK(cuEventRecord(done, a));
    return nothing;
}

static void *compute(void *nothing)
{
    CHECK(cuCtxSetCurrent(context));
    if (twin)
        CHECK(cuStreamWaitEvent(b, done, 0));
    add(b, x, ones, y);
    return nothing;
}

/* The second thread starts when the first has ended; its copy may still run. */
static void two_threads(void)
{
    in_thread(upload);
    in_thread(compute);
}

static void *upload_of_its_own(void *nothing)
{
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, PER_THREAD));
    if (twin)
        CHECK(cuStreamSynchronize(PER_THREAD));
    return nothing;
}

/* One handle, but a stream for each thread. */
static void per_thread_streams(void)
{
    in_thread(upload_of_its_own);
    add(PER_THREAD, x, ones, y);
}

static void tell(void *semaphore)
{
    sem_post(semaphore);
}

/* A host function runs when its stream reaches it, and says nothing of other streams. */
static void host_function(void)
{
    sem_t reached;
    sem_init(&reached, 0, 0);
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
    CHECK(cuLaunchHostFunc(twin ? a : c, tell, &reached));
    sem_wait(&reached);
    add(b, x, ones, y);
}

static CUdeviceptr large;

static void clear(void)
{
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemsetD8Async(large, 0, LONG_BYTES, a));
}

static void add_to_it(void)
{
    CHECK(cuCtxSetCurrent(context));
    add(a, twin ? z : large, ones, y);
}

/* One stream keeps the order in which it is given work; here nobody knows which thread comes first. */
static void one_stream(void)
{
    CHECK(cuMemAlloc_v2(&large, LONG_BYTES));
    at_once(clear, add_to_it);
    CHECK(cuCtxSynchronize());
    CHECK(cuMemFree_v2(large));
}

int main(int argc, char **argv)
{
    const struct mode modes[] = {
        { "two-threads", two_threads, 3 },
        { "per-thread-streams", per_thread_streams, 3 },
        { "host-function", host_function, 3 },
        { "one-stream", one_stream, 10 },
        { NULL, NULL, 0 },
    };
    return play(modes, argc, argv);
}
