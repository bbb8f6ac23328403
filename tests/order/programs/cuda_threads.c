/* Host threads and host functions: what the host has ordered is not yet ordered on the device. */
#include "planted_cuda.h"

#include <pthread.h>
#include <semaphore.h>

enum { ROUNDS = 8 };

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

static pthread_barrier_t together;

static void *clear_often(void *nothing)
{
    CHECK(cuCtxSetCurrent(context));
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&together);
        CHECK(cuMemsetD8Async(x, 0, BYTES, a));
    }
    return nothing;
}

static void *add_often(void *nothing)
{
    CHECK(cuCtxSetCurrent(context));
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&together);
        add(a, twin ? z : x, ones, y);
    }
    return nothing;
}

/* One stream keeps the order in which it is given work; here nobody knows which thread comes first. */
static void one_stream(void)
{
    pthread_t first, second;
    pthread_barrier_init(&together, NULL, 2);
    pthread_create(&first, NULL, clear_often, NULL);
    pthread_create(&second, NULL, add_often, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
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
