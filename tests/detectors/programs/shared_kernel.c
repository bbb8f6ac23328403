/* Two threads and one kernel object, step by step: a barrier decides whose turn it is, so nothing overlaps. */
#include "common.h"
#include <pthread.h>

enum { ROUNDS = 3 };
static pthread_barrier_t step;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cl_kernel kernel;
static cl_mem data;

static void set_all(cl_int count)
{
    set_mem(kernel, 0, data);
    set_float(kernel, 1, 2);
    set_int(kernel, 2, count);
}

/* The first sets, then the second sets, then the first launches. */
static void *mixed(void *second)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (!second)
            set_all(0);
        pthread_barrier_wait(&step);
        if (second)
            set_all(1);
        pthread_barrier_wait(&step);
        if (!second)
            launch(kernel, COUNT);
        pthread_barrier_wait(&step);
        if (second)
            launch(kernel, COUNT);
        pthread_barrier_wait(&step);
    }
    return NULL;
}

static void *locked(void *unused)
{
    (void)unused;
    for (int round = 0; round < 100; round++) {
        pthread_mutex_lock(&lock);
        set_all(1);
        launch(kernel, COUNT);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* One thread sets arguments, the other launches: handed over, never shared. */
static void *handed_over(void *second)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (!second)
            set_all(round);
        pthread_barrier_wait(&step);
        if (second)
            launch(kernel, COUNT);
        pthread_barrier_wait(&step);
    }
    return NULL;
}

static void *own(void *unused)
{
    (void)unused;
    cl_kernel mine = make_kernel("scale");
    for (int round = 0; round < 100; round++) {
        set_mem(mine, 0, data);
        set_float(mine, 1, 2);
        set_int(mine, 2, COUNT);
        launch(mine, COUNT);
    }
    clReleaseKernel(mine);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    start(argc, argv);
    void *(*work)(void *) = is("mixed") ? mixed : is("locked") ? locked : is("handed over") ? handed_over : own;
    pthread_barrier_init(&step, NULL, 2);
    kernel = make_kernel("scale");
    data = filled_buffer(BYTES);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, i ? &threads[i] : NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return finish();
}
