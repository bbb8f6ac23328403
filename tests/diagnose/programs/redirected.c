/* Programs that check their own result, and use the wrong buffer, direction or row pitch on the host. The first argument says which. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 60, PITCH = 64, ROWS = 20, STEPS = 3 };
static const char *text =
    "kernel void next(global const int *from, global int *to) { int i = get_global_id(0); to[i] = from[i] * 3 + i % 7; }\n"
    "kernel void wrong(global const int *from, global int *to) { int i = get_global_id(0); to[i] = from[i] * 3 + i % 5; }\n"
    "kernel void sum(global const int *a, global const int *b, global int *to) { int i = get_global_id(0); to[i] = 2 * a[i] + b[i]; }\n"
    "kernel void rows(global int *grid, int n, int pitch) {\n"
    "  int x = get_global_id(0), y = get_global_id(1); if (x < n) grid[y * pitch + x] = y * 1000 + x; }\n";
static cl_context context;
static cl_command_queue queue;
static cl_program program;

static void check(cl_int status)
{
    if (status)
        exit(3);
}

static void begin(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    check(clGetPlatformIDs(1, &platform, NULL));
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    queue = clCreateCommandQueue(context, device, 0, &status);
    program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(clBuildProgram(program, 1, &device, "", NULL, NULL));
}

static cl_mem buffer(size_t bytes, const void *data)
{
    cl_int status;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE | (data ? CL_MEM_COPY_HOST_PTR : 0), bytes, (void *)data, &status);
    check(status);
    return made;
}

static void launch(const char *name, int count, const cl_mem *given)
{
    cl_int status;
    size_t items = N;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    check(status);
    for (int i = 0; i < count; i++)
        check(clSetKernelArg(kernel, (cl_uint)i, sizeof(cl_mem), &given[i]));
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
}

static void copy(cl_mem from, cl_mem to)
{
    check(clEnqueueCopyBuffer(queue, from, to, 0, 0, N * sizeof(int), 0, NULL, NULL));
}

/* Two buffers in turn: STEPS steps, and the result is in the second one. */
static void steps(const int *data, cl_mem pair[2], const char *kernel)
{
    pair[0] = buffer(N * sizeof(int), data);
    pair[1] = buffer(N * sizeof(int), data);
    for (int i = 0; i < STEPS; i++)
        launch(kernel, 2, (cl_mem[]){ pair[i % 2], pair[(i + 1) % 2] });
}

static int differs(const int *found, const int *expected)
{
    for (int i = 0; i < N; i++)
        if (found[i] != expected[i])
            return 1;
    return 0;
}

static int in_turn(const int *data, const int *expected, int which, const char *kernel)
{
    cl_mem pair[2];
    int found[N];
    steps(data, pair, kernel);
    check(clEnqueueReadBuffer(queue, pair[which], CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));  /* the buffer */
    return differs(found, expected);
}

static int mapped(const int *data, const int *expected, int which)
{
    cl_mem pair[2];
    cl_int status;
    steps(data, pair, "next");
    int *found = clEnqueueMapBuffer(queue, pair[which], CL_TRUE, CL_MAP_READ, 0, N * sizeof(int), 0, NULL, NULL, &status);  /* the map */
    check(status);
    int result = differs(found, expected);
    check(clEnqueueUnmapMemObject(queue, pair[which], found, 0, NULL, NULL));
    check(clFinish(queue));
    return result;
}

/* Each step is kept, and the one after it taken back. One function copies in both directions. */
static void keep(cl_mem live, cl_mem kept, int wrong)
{
    copy(wrong ? kept : live, wrong ? live : kept);  /* the direction */
}

static void take_back(cl_mem live, cl_mem kept)
{
    copy(kept, live);
}

static int rolled_back(const int *data, const int *expected, int wrong)
{
    cl_mem live = buffer(N * sizeof(int), data), kept = buffer(N * sizeof(int), data), next = buffer(N * sizeof(int), data);
    int found[N];
    for (int i = 0; i < STEPS; i++) {
        launch("next", 2, (cl_mem[]){ live, next });
        copy(next, live);
        keep(live, kept, wrong);
        launch("wrong", 2, (cl_mem[]){ live, next });
        copy(next, live);
        take_back(live, kept);
    }
    check(clEnqueueReadBuffer(queue, live, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));
    return differs(found, expected);
}

static int padded(int pitch)
{
    cl_int status;
    int given[2] = { N, PITCH }, found[ROWS][N];
    size_t items[2] = { PITCH, ROWS }, origin[3] = { 0 }, region[3] = { N * sizeof(int), ROWS, 1 };
    cl_mem grid = buffer(PITCH * ROWS * sizeof(int), NULL);
    cl_kernel kernel = clCreateKernel(program, "rows", &status);
    check(clSetKernelArg(kernel, 0, sizeof grid, &grid));
    check(clSetKernelArg(kernel, 1, sizeof(int), &given[0]));
    check(clSetKernelArg(kernel, 2, sizeof(int), &given[1]));
    check(clEnqueueFillBuffer(queue, grid, &status, 4, 0, PITCH * ROWS * sizeof(int), 0, NULL, NULL));
    check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, items, NULL, 0, NULL, NULL));
    check(clEnqueueReadBufferRect(queue, grid, CL_TRUE, origin, origin, region, pitch * sizeof(int), 0, 0, 0, found, 0, NULL,
                                  NULL));  /* the pitch */
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < N; x++)
            if (found[y][x] != y * 1000 + x)
                return 1;
    return 0;
}

static int forgotten(const int *data, const int *other, int wrong)
{
    cl_mem a = buffer(N * sizeof(int), data), b = buffer(N * sizeof(int), other), to = buffer(N * sizeof(int), NULL);
    int found[N], expected[N];
    launch("sum", 3, (cl_mem[]){ a, wrong ? a : b, to });  /* the argument */
    check(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));
    for (int i = 0; i < N; i++)
        expected[i] = 2 * data[i] + other[i];
    check(clReleaseMemObject(b));
    return differs(found, expected);
}

/* Two results are read by one line and compared: both are read from where they are. */
static int compared(const int *data, int wrong)
{
    cl_mem from = buffer(N * sizeof(int), data), to[2] = { buffer(N * sizeof(int), NULL), buffer(N * sizeof(int), NULL) };
    int found[2][N];
    launch("next", 2, (cl_mem[]){ from, to[0] });
    launch(wrong ? "wrong" : "next", 2, (cl_mem[]){ from, to[1] });
    for (int i = 0; i < 2; i++)
        check(clEnqueueReadBuffer(queue, to[i], CL_TRUE, 0, sizeof found[i], found[i], 0, NULL, NULL));
    return differs(found[0], found[1]);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "right";
    int data[N], other[N], expected[N];
    for (int i = 0; i < N; i++) {
        data[i] = expected[i] = i * 11 % 13;
        other[i] = i * 5 % 19;
    }
    for (int step = 0; step < STEPS; step++)
        for (int i = 0; i < N; i++)
            expected[i] = expected[i] * 3 + i % 7;
    begin();
    int failed = in_turn(data, expected, strcmp(mode, "buffer") != 0, strcmp(mode, "kernel") ? "next" : "wrong")
        || mapped(data, expected, strcmp(mode, "map") != 0) || rolled_back(data, expected, !strcmp(mode, "direction"))
        || padded(strcmp(mode, "pitch") ? PITCH : N) || forgotten(data, other, !strcmp(mode, "argument"))
        || compared(data, !strcmp(mode, "reference"));
    puts(failed ? "wrong" : "right");
    return failed;
}
