//: class = "D2"
//: group = "order"
//: cause = ["use-of-released-object", "use-after-free", "crash-in-call", "threads-collide"]
//: call = ["clEnqueueReadBuffer", "clEnqueueFillBuffer"]
//: plain = "sometimes"
//: fault = "The cache thread releases the last reference of a buffer that the worker is about to use."
#include "start.h"
#include <pthread.h>
#include <stdatomic.h>

static cl_mem entry;
static atomic_int evicted;

static void *evict(void *unused)
{
    (void)unused;
    must(clReleaseMemObject(entry), "release"); // FAULT
    atomic_store(&evicted, 1);
    return NULL;
}

int main(void)
{
    Gpu gpu = start(0);
    int four = 4, back = 0;
    entry = buffer(gpu, 1 << 16);
    must(clEnqueueFillBuffer(gpu.queue, entry, &four, sizeof four, 0, 1 << 16, 0, NULL, NULL), "fill");
    must(clFinish(gpu.queue), "finish");
    pthread_t cache;
#ifdef TWIN
    must(clRetainMemObject(entry), "retain");
#endif
    pthread_create(&cache, NULL, evict, NULL);
    while (!atomic_load(&evicted)) {
    }
    must(clEnqueueReadBuffer(gpu.queue, entry, CL_TRUE, 0, sizeof back, &back, 0, NULL, NULL), "read");
    pthread_join(cache, NULL);
    printf("%d\n", back);
#ifdef TWIN
    clReleaseMemObject(entry);
#endif
    return back == 4 ? 0 : 1;
}
