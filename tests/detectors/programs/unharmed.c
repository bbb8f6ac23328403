/* Programs that survive what they do, and crashes whose cause must not be made up. */
#include "common.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, BAD_INDEX = 77 };
static void *page;
static _Atomic int stop;

static void *map_page(void)
{
    return mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (page ? MAP_FIXED : 0), -1, 0);
}

/* The driver looks at the index first, so an argument that is not there does no harm. */
static void unmapped(cl_kernel kernel)
{
    page = map_page();
    cl_int good = clSetKernelArg(kernel, 1, 4, page);
    munmap(page, PAGE);
    printf("%d %d\n", good, clSetKernelArg(kernel, BAD_INDEX, 4, page));
}

static void *remap(void *unused)
{
    while (!stop) {
        map_page();
        mmap(page, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    return unused;
}

static void remapped(cl_kernel kernel)
{
    pthread_t thread;
    cl_int status = 0;
    page = map_page();
    pthread_create(&thread, NULL, remap, NULL);
    for (int i = 0; i < 20000; i++)
        status = clSetKernelArg(kernel, BAD_INDEX, 4 + i % 3 * 20, page);
    stop = 1;
    pthread_join(thread, NULL);
    printf("%d\n", status);
}

/* Takes the memory away that the recorder writes to: all of the trace but its header. */
static void unmap_trace(void)
{
    char line[1024];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long from, to, offset;
        if (strstr(line, ".gdx") && sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 && offset)
            munmap((void *)from, to - from);
    }
    if (maps)
        fclose(maps);
}

/* Fails what a launch waits for, which has an event of the program's. */
static void fail_event(cl_kernel kernel)
{
    size_t count = COUNT;
    cl_mem data = make_buffer(BYTES);
    cl_event go = clCreateUserEvent(context, NULL), done;
    set_mem(kernel, 0, data);
    set_float(kernel, 1, 2);
    set_int(kernel, 2, COUNT);
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 1, &go, &done), "clEnqueueNDRangeKernel");
    printf("%d", clSetUserEventStatus(go, -5));
    printf(" %d\n", clWaitForEvents(1, &done));
    fflush(stdout);
    _exit(0);  /* PoCL waits for ever for a queue with a failed command */
}

int main(int argc, char **argv)
{
    volatile uintptr_t nowhere = 0xdeadbeefdeadbeef;
    start(argc, argv);
    cl_kernel kernel = make_kernel("scale");
    if (is("unmapped"))
        unmapped(kernel);
    if (is("remapped"))
        remapped(kernel);
    if (is("failed_event"))
        fail_event(kernel);
    if (is("own")) {
        unmap_trace();
        clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, 0, NULL, NULL);
        clFinish(queue);
    }
    if (is("impossible"))
        *(volatile int *)(nowhere + 8) = 1;
    return finish();
}
