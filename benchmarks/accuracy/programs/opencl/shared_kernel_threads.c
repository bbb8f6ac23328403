//: class = "D2"
//: group = "order"
//: cause = ["kernel-shared-by-threads", "threads-collide"]
//: kernel = "store"
//: plain = "sometimes"
//: fault = "Two threads set arguments of one kernel object and launch it, without a lock around the pair."
#include "start.h"
#include <pthread.h>

static const char *source = "__kernel void store(__global int *x, int value) { x[get_global_id(0)] = value; }\n";

typedef struct {
    Gpu gpu;
    cl_kernel kernel;
    int value, wrong;
} Worker;

static void *work(void *data)
{
    Worker *w = data;
    cl_int status;
    cl_command_queue queue = clCreateCommandQueue(w->gpu.context, w->gpu.device, 0, &status);
    must(status, "queue");
    cl_mem x = buffer(w->gpu, 64);
    size_t n = 16;
    for (int round = 0; round < 400; ++round) {
        int host[16] = {0}, value = w->value * 1000 + round;
        must(clSetKernelArg(w->kernel, 0, sizeof x, &x), "x");
        must(clSetKernelArg(w->kernel, 1, sizeof value, &value), "value");
        must(clEnqueueNDRangeKernel(queue, w->kernel, 1, NULL, &n, NULL, 0, NULL, NULL), "store");
        must(clEnqueueReadBuffer(queue, x, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
        w->wrong += host[0] != value;
    }
    return NULL;
}

int main(void)
{
    Gpu gpu = start(0);
    cl_program program = build(gpu, source);
    cl_kernel shared = clCreateKernel(program, "store", NULL);
    Worker workers[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) {
#ifdef TWIN
        cl_kernel kernel = clCreateKernel(program, "store", NULL);
#else
        cl_kernel kernel = shared; // FAULT
#endif
        workers[i] = (Worker){gpu, kernel, i + 1, 0};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    int wrong = workers[0].wrong + workers[1].wrong;
    clReleaseKernel(shared);
    puts(wrong ? "wrong values" : "all values right");
    return wrong ? 1 : 0;
}
