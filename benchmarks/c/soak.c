/* A small OpenCL program that does what its argument says, letter by letter: benchmarks/soak.py makes them up. Its output follows from
 * the letters alone, so that it is the same with and without a recorder. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "soak.h"

enum { COUNT = 256, BYTES = COUNT * 4, BUFFERS = 4 };
static const char *source =
    "kernel void fill(global int *out, int by) { out[get_global_id(0)] = by + (int)get_global_id(0); }\n"
    "kernel void add(global int *out, global const int *in, int n) { int i = get_global_id(0); if (i < n) out[i] += in[i]; }\n";
static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_kernel fill, add;
static cl_mem buffers[BUFFERS];
static int host[COUNT];

static void open_all(void)
{
    cl_int status;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    queue = clCreateCommandQueue(context, device, 0, &status);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    say(clBuildProgram(program, 1, &device, "", NULL, NULL));
    fill = clCreateKernel(program, "fill", &status);
    add = clCreateKernel(program, "add", &status);
    for (int i = 0; i < BUFFERS; i++)
        buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &status);
    for (int i = 0; i < BUFFERS; i++)
        say(clEnqueueWriteBuffer(queue, buffers[i], CL_TRUE, 0, BYTES, host, 0, NULL, NULL));
}

static void launch(cl_kernel kernel, size_t items)
{
    say(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
}

static void fill_one(int i)
{
    int by = i * 7;
    say(clSetKernelArg(fill, 0, sizeof(cl_mem), &buffers[i]));
    say(clSetKernelArg(fill, 1, sizeof by, &by));
    launch(fill, COUNT);
}

static void add_two(int i)
{
    int *n = malloc(sizeof *n);  /* values on the heap are read in another way than those on the stack */
    *n = COUNT;
    say(clSetKernelArg(add, 0, sizeof(cl_mem), &buffers[i]));
    say(clSetKernelArg(add, 1, sizeof(cl_mem), &buffers[(i + 1) % BUFFERS]));
    say(clSetKernelArg(add, 2, sizeof *n, n));
    free(n);
    launch(add, COUNT);
}

static void short_lived(void)
{
    cl_int status;
    int *memory = calloc(COUNT, 4);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, BYTES, memory, &status);
    say(status);
    say(clEnqueueCopyBuffer(queue, buffer, buffers[0], 0, 0, BYTES, 0, NULL, NULL));
    say(clReleaseMemObject(buffer));  /* before the copy is known to be done */
    free(memory);
}

static void refused(void)
{
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page, 4096);
    say(clSetKernelArg(add, 99, 4, page));
    say(clEnqueueReadBuffer(queue, buffers[0], CL_TRUE, BYTES, BYTES, host, 0, NULL, NULL));
    say(clSetKernelArg(add, 0, 3, page + 0 == NULL ? NULL : host));
}

static void *threaded(void *unused)
{
    cl_int status;
    cl_kernel own = clCreateKernel(program, "fill", &status);
    int by = 5;
    size_t items = COUNT;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &status);
    clSetKernelArg(own, 0, sizeof buffer, &buffer);
    clSetKernelArg(own, 1, sizeof by, &by);
    clEnqueueNDRangeKernel(queue, own, 1, NULL, &items, NULL, 0, NULL, NULL);
    clFinish(queue);
    clReleaseMemObject(buffer);
    clReleaseKernel(own);
    return unused;
}

static void threads(void)
{
    pthread_t all[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&all[i], NULL, threaded, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(all[i], NULL);
}

/* Commands of an out-of-order queue that are ordered by events alone. */
static void by_events(void)
{
    cl_int status;
    cl_event done, filled;
    int zero = 3;
    cl_command_queue any = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
    say(clFinish(queue));
    say(clEnqueueFillBuffer(any, buffers[3], &zero, sizeof zero, 0, BYTES, 0, NULL, &filled));
    say(clEnqueueCopyBuffer(any, buffers[3], buffers[1], 0, 0, BYTES, 1, &filled, &done));
    say(clWaitForEvents(1, &done));
    say(clReleaseEvent(filled));
    say(clReleaseEvent(done));
    say(clReleaseCommandQueue(any));
}

static void parts(void)
{
    cl_int status;
    cl_buffer_region half = { BYTES / 2, BYTES / 2 };
    cl_mem part = clCreateSubBuffer(buffers[2], CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &half, &status);
    int by = 9;
    say(status);
    say(clSetKernelArg(fill, 0, sizeof part, &part));
    say(clSetKernelArg(fill, 1, sizeof by, &by));
    launch(fill, COUNT / 2);
    say(clReleaseMemObject(part));
}

/* Of a buffer that no command uses: a driver may hold others for as long as it works on them. */
static void queries(void)
{
    cl_int status;
    cl_mem idle = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &status);
    cl_uint held = 0, arguments = 0;
    size_t bytes = 0;
    char options[64] = "";
    say(clGetMemObjectInfo(idle, CL_MEM_REFERENCE_COUNT, sizeof held, &held, NULL));
    say(clGetMemObjectInfo(idle, CL_MEM_SIZE, sizeof bytes, &bytes, NULL));
    say(clGetKernelInfo(add, CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, NULL));
    say(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof options, options, NULL));
    printf("%u %zu %u '%s'\n", held, bytes, arguments, options);
    say(clGetKernelArgInfo(add, 0, CL_KERNEL_ARG_NAME, sizeof options, options, NULL));
    say(clReleaseMemObject(idle));
}

static void show(int i)
{
    long sum = 0;
    say(clEnqueueReadBuffer(queue, buffers[i], CL_TRUE, 0, BYTES, host, 0, NULL, NULL));
    for (int k = 0; k < COUNT; k++)
        sum += host[k];
    printf("%ld\n", sum);
}

static void step(char what)
{
    switch (what) {
    case 'f': case 'g': case 'h': fill_one(what - 'f'); break;
    case 'a': case 'b': case 'c': add_two(what - 'a'); break;
    case 's': short_lived(); break;
    case 'r': refused(); break;
    case 't': threads(); break;
    case 'w': say(clFinish(queue)); break;
    case 'p': show(0); break;
    case 'q': show(1); break;
    case 'm': {
        cl_int status;
        int *at = clEnqueueMapBuffer(queue, buffers[2], CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, &status);
        printf("%d\n", at ? at[3] : -1);
        say(clEnqueueUnmapMemObject(queue, buffers[2], at, 0, NULL, NULL));
        break;
    }
    case 'e': by_events(); break;
    case 'u': parts(); break;
    case 'i': queries(); break;
    case 'o': fork_one(); break;
    case 'x': start_one(); break;
    case 'N': clFinish(queue); clReleaseKernel(fill); fill = NULL; say(clSetKernelArg(NULL, 0, 4, host)); break;
    default: clFinish(queue); end(what);
    }
}

int main(int argc, char **argv)
{
    open_all();
    for (const char *what = argc > 1 ? argv[1] : ""; *what; what++)
        step(*what);
    clFinish(queue);
    tell();
    return 0;
}
