/* Several workers scale and shift their own numbers on the device. A library keeps its kernels in a cache keyed by name
 * and hands the same kernel object to whoever asks; the lock around the cache makes that look safe. */
#define _POSIX_C_SOURCE 200809L
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 8, ROUNDS = 3000, COUNT = 2048, CACHE_SLOTS = 8 };

static const char source[] =
    "kernel void scale_and_shift(global const int *in, global int *out, int scale, int shift) {\n"
    "    size_t i = get_global_id(0);\n"
    "    out[i] = in[i] * scale + shift;\n"
    "}\n";

struct library {
    cl_device_id device;
    cl_context context;
    cl_program program;
    pthread_mutex_t lock;
    pthread_barrier_t start;
    struct {
        const char *name;
        cl_kernel kernel;
    } cache[CACHE_SLOTS];
};

struct worker {
    struct library *library;
    pthread_t thread;
    int id;
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem in, out;
    cl_int numbers[COUNT], results[COUNT];
    int wrong_rounds;
};

static void stop_unless(cl_int status, const char *what, int exit_code)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s failed with %d\n", what, (int)status);
    exit(exit_code);
}

static void check(cl_int status, const char *what)
{
    stop_unless(status, what, 2);
}

/* An error once the work is under way is a failure of the program, not of the machine: as bad as a wrong result. */
static void check_round(cl_int status, const char *what)
{
    stop_unless(status, what, 1);
}

static void open_device(struct library *lib)
{
    cl_int status;
    cl_platform_id platform;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &lib->device, NULL), "clGetDeviceIDs");
    lib->context = clCreateContext(NULL, 1, &lib->device, NULL, NULL, &status);
    check(status, "clCreateContext");
}

static void build_program(struct library *lib)
{
    cl_int status;
    const char *text = source;
    lib->program = clCreateProgramWithSource(lib->context, 1, &text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(lib->program, 1, &lib->device, NULL, NULL, NULL), "clBuildProgram");
}

static cl_kernel new_kernel(struct library *lib, const char *name)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(lib->program, name, &status);
    check(status, "clCreateKernel");
    return kernel;
}

#ifdef TWIN
/* A kernel object holds the arguments of its next launch, so each worker gets one of its own. */
static cl_kernel kernel_for(struct library *lib, const char *name)
{
    return new_kernel(lib, name);
}
#else
static cl_kernel find_or_create(struct library *lib, const char *name)
{
    int i = 0;
    while (i < CACHE_SLOTS - 1 && lib->cache[i].name && strcmp(lib->cache[i].name, name) != 0)
        i++;
    if (!lib->cache[i].name) {
        lib->cache[i].kernel = new_kernel(lib, name);
        lib->cache[i].name = name;
    }
    check(clRetainKernel(lib->cache[i].kernel), "clRetainKernel");
    return lib->cache[i].kernel;
}

/* The lock guards the table, not the arguments that workers set on what they take from it. */
static cl_kernel kernel_for(struct library *lib, const char *name)
{
    pthread_mutex_lock(&lib->lock);
    cl_kernel kernel = find_or_create(lib, name);
    pthread_mutex_unlock(&lib->lock);
    return kernel;
}
#endif

static cl_mem new_buffer(struct library *lib)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(lib->context, CL_MEM_READ_WRITE, COUNT * sizeof(cl_int), NULL, &status);
    check(status, "clCreateBuffer");
    return buffer;
}

static void prepare(struct worker *w)
{
    cl_int status;
    w->queue = clCreateCommandQueue(w->library->context, w->library->device, 0, &status);
    check(status, "clCreateCommandQueue");
    w->in = new_buffer(w->library);
    w->out = new_buffer(w->library);
    for (int i = 0; i < COUNT; i++)
        w->numbers[i] = w->id * 100000 + i;
    check(clEnqueueWriteBuffer(w->queue, w->in, CL_TRUE, 0, sizeof w->numbers, w->numbers, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
    w->kernel = kernel_for(w->library, "scale_and_shift");
}

static void set_argument(const struct worker *w, cl_uint index, size_t size, const void *value)
{
    check_round(clSetKernelArg(w->kernel, index, size, value), "clSetKernelArg");
}

/* Up to 256, or what this kernel can have on the device if that is less. */
static size_t group_size(const struct worker *w)
{
    size_t size;
    check_round(clGetKernelWorkGroupInfo(w->kernel, w->library->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof size, &size,
                                         NULL),
                "clGetKernelWorkGroupInfo");
    while (COUNT % size != 0)
        size--;
    return size < 256 ? size : 256;
}

static void launch(struct worker *w, cl_int scale, cl_int shift)
{
    size_t count = COUNT, group;
    set_argument(w, 0, sizeof w->in, &w->in);
    set_argument(w, 1, sizeof w->out, &w->out);
    set_argument(w, 2, sizeof scale, &scale);
    set_argument(w, 3, sizeof shift, &shift);
    group = group_size(w);
    check_round(clEnqueueNDRangeKernel(w->queue, w->kernel, 1, NULL, &count, &group, 0, NULL, NULL),
                "clEnqueueNDRangeKernel");
    check_round(clEnqueueReadBuffer(w->queue, w->out, CL_TRUE, 0, sizeof w->results, w->results, 0, NULL, NULL),
                "clEnqueueReadBuffer");
}

static int is_wrong(const struct worker *w, cl_int scale, cl_int shift)
{
    for (int i = 0; i < COUNT; i++)
        if (w->results[i] != w->numbers[i] * scale + shift)
            return 1;
    return 0;
}

/* The shift differs in every round and worker, so results left over from another launch never pass. */
static void *work(void *argument)
{
    struct worker *w = argument;
    prepare(w);
    pthread_barrier_wait(&w->library->start);
    for (int round = 0; round < ROUNDS; round++) {
        cl_int scale = w->id + 2, shift = round * WORKERS + w->id;
        launch(w, scale, shift);
        w->wrong_rounds += is_wrong(w, scale, shift);
    }
    return NULL;
}

static void release_worker(struct worker *w)
{
    check(clReleaseKernel(w->kernel), "clReleaseKernel");
    check(clReleaseMemObject(w->in), "clReleaseMemObject");
    check(clReleaseMemObject(w->out), "clReleaseMemObject");
    check(clReleaseCommandQueue(w->queue), "clReleaseCommandQueue");
}

static void release_library(struct library *lib)
{
    for (int i = 0; i < CACHE_SLOTS; i++)
        if (lib->cache[i].name)
            check(clReleaseKernel(lib->cache[i].kernel), "clReleaseKernel");
    check(clReleaseProgram(lib->program), "clReleaseProgram");
    check(clReleaseContext(lib->context), "clReleaseContext");
    pthread_barrier_destroy(&lib->start);
    pthread_mutex_destroy(&lib->lock);
}

static void start_all(struct worker *workers, struct library *lib)
{
    for (int i = 0; i < WORKERS; i++) {
        workers[i].library = lib;
        workers[i].id = i;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            fprintf(stderr, "cannot start a thread\n");
            exit(2);
        }
    }
}

static int finish_all(struct worker *workers)
{
    int wrong = 0;
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        wrong += workers[i].wrong_rounds;
        release_worker(&workers[i]);
    }
    return wrong;
}

int main(void)
{
    static struct library lib = {.lock = PTHREAD_MUTEX_INITIALIZER};
    static struct worker workers[WORKERS];
    pthread_barrier_init(&lib.start, NULL, WORKERS);
    open_device(&lib);
    build_program(&lib);
    start_all(workers, &lib);
    int wrong = finish_all(workers);
    release_library(&lib);
    printf("%d of %d results are wrong\n", wrong, WORKERS * ROUNDS);
    return wrong ? 1 : 0;
}
