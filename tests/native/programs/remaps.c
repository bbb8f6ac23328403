/* Threads that map and unmap what other threads pass: arguments, sizes, wait lists, names, options, sources and properties. The
 * driver (fake_opencl.py) looks at none of it, so nothing of this is a fault. */
#include "gpu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { BYTES = 4 * 4096 };
static char *room;
static _Atomic int stop;

static void *remap(void *unused)
{
    for (unsigned i = 0; !stop; i++) {
        mmap(room, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (i % 3)  /* not a hole, in which somebody else's memory could come to lie */
            mmap(room + 4096 * (i % 3), 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        else
            mprotect(room, BYTES, PROT_NONE);
    }
    return unused;
}

/* Each thread has a kernel of its own: to share one is a fault of the program. */
static void *pass(void *kernel)
{
    for (int i = 0; i < 400; i++) {
        char *at = room + i * 40 % (BYTES - 64);
        clSetKernelArg(kernel, 0, 8, at);
        clSetKernelArg(kernel, 1, 1 + (size_t)i % 3000, at);
        clEnqueueNDRangeKernel(NULL, kernel, 3, (size_t *)at, (size_t *)at, (size_t *)at, 5, (cl_event *)at, NULL);
        clCreateKernel(NULL, at, NULL);
        clCreateCommandQueueWithProperties(NULL, NULL, (cl_queue_properties *)at, NULL);
        clCreateContext((cl_context_properties *)at, 2, (cl_device_id *)at, NULL, NULL, NULL);
        clCreateProgramWithSource(NULL, 1, (const char **)at, (size_t *)at, NULL);
        clEnqueueReadBufferRect(NULL, NULL, 0, (size_t *)at, (size_t *)at, (size_t *)at, 0, 0, 0, 0, at, 0, NULL, NULL);
        clWaitForEvents(3, (cl_event *)at);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    gpu_open();
    cl_kernel kernels[2] = { gpu_kernel, (cl_kernel)((char *)gpu_kernel + 4096) };  /* the recorder knows the first */
    room = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, i < 2 ? pass : remap, i < 2 ? kernels[i] : NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    stop = 1;
    pthread_join(threads[2], NULL);
    pthread_join(threads[3], NULL);
    puts("still here");
    return 0;
}
