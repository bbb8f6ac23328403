/* Threads that use kernel objects together, as programs wrongly do: arguments of changing sizes are set on one kernel by
 * all, kernels come and go, copies are made. Nothing of it may break the recorder. */
#include "gpu.h"

#include <pthread.h>

enum { THREADS = 6, ROUNDS = 3000 };

static void *worker(void *number)
{
    char value[300];
    size_t global = 64;
    unsigned seed = (unsigned)(size_t)number * 7919 + 1;
    for (int i = 0; i < ROUNDS; i++) {
        seed = seed * 1103515245 + 12345;
        size_t size = 1 + (seed >> 16) % sizeof value;
        memset(value, (int)size, sizeof value);
        clSetKernelArg(gpu_kernel, (seed >> 8) % 70, size, value);
        clEnqueueNDRangeKernel(NULL, gpu_kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
        if (i % 50 == 0) {
            cl_kernel copy = clCloneKernel(gpu_kernel, NULL);
            clRetainKernel(copy);
            clSetKernelArg(copy, 1, sizeof copy, &copy);
            clReleaseKernel(copy);
            clReleaseKernel(copy);
        }
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    gpu_open();
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, worker, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
