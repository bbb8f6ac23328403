/* Launches to capture: every kind of argument, each result printed as a sum. launches [WHICH] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CL/cl.h>

enum { N = 4096 };
static const char source[] =
    "struct pair { float a; int n; long far[40]; };\n"
    "kernel void axpy(global float *y, global const float *x, struct pair p) {\n"
    "  int i = get_global_id(0); if (i < p.n) y[i] = p.a * x[i] + y[i] + p.far[39]; }\n"
    "kernel void total(global const int *x, global int *sum, local int *t) {\n"
    "  int l = get_local_id(0); t[l] = x[get_global_id(0)]; barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  for (int s = get_local_size(0) / 2; s; s /= 2) { if (l < s) t[l] += t[l + s]; barrier(CLK_LOCAL_MEM_FENCE); }\n"
    "  if (!l) atomic_add(sum, t[0]); }\n"
    "kernel void halves(global int *low, global int *high) { int i = get_global_id(0); high[i] = low[i] * 2 + SCALE; low[i] = -low[i]; }\n"
    "kernel void chase(global ulong *nodes, global int *out) {\n"
    "  global ulong *at = nodes; int i = 0; while (at) { out[i++] = (int)at[1]; at = (global ulong *)at[0]; } }\n"
    "kernel void shifted(global uint *out) { out[get_global_id(1) * 8 + get_global_id(0)] = 7; }\n"
    "kernel void maybe(global int *a, global int *b) { int i = get_global_id(0); a[i] = b ? b[i] : 5; }\n"
    "#ifdef POCL_DEVICE_ADDRESS_BITS\n#define FAR (1l << 44)\n#else\n#define FAR 0\n#endif\n"
    "kernel void unlike(global int *a) { a[get_global_id(0) + FAR] = 1; }\n"  /* as if a driver compiled it wrongly */
    "kernel void wild(global int *a, ulong far) { a[get_global_id(0) + far] = 1; }\n";
static cl_context context;
static cl_command_queue queue;
static cl_program program;

static cl_mem buffer(size_t bytes, const void *from)
{
    cl_int status;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE | (from ? CL_MEM_COPY_HOST_PTR : 0), bytes, (void *)from, &status);
    if (status)
        exit(9);
    return made;
}

static cl_kernel kernel(const char *name)
{
    cl_int status;
    cl_kernel made = clCreateKernel(program, name, &status);
    if (status)
        exit(8);
    return made;
}

static void launch(cl_kernel k, size_t global, size_t local)
{
    cl_int status = clEnqueueNDRangeKernel(queue, k, 1, NULL, &global, local ? &local : NULL, 0, NULL, NULL);
    if (status)
        printf("launch: %d\n", status);
}

static long sum(cl_mem mem, size_t count)
{
    int *room = malloc(count * sizeof *room);
    long total = 0;
    clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, count * sizeof *room, room, 0, NULL, NULL);
    for (size_t i = 0; i < count; i++)
        total += room[i] ^ (long)i;
    free(room);
    return total;
}

static void axpy(void)
{
    static float x[N];
    struct { float a; int n; long far[40]; } p = { 2.5f, N - 3, { 0 } };
    for (int i = 0; i < N; i++)
        x[i] = (float)i / 7;
    p.far[39] = 11;
    cl_mem bx = buffer(sizeof x, x), by = buffer(sizeof x, x);
    cl_kernel k = kernel("axpy");
    clSetKernelArg(k, 0, sizeof by, &by);
    clSetKernelArg(k, 1, sizeof bx, &bx);
    for (int i = 0; i < 3; i++) {
        p.a += 1;
        clSetKernelArg(k, 2, sizeof p, &p);
        launch(k, N, 64);
    }
    printf("axpy %ld\n", sum(by, N));
}

static void total(void)
{
    static int x[N], zero;
    for (int i = 0; i < N; i++)
        x[i] = i * 3;
    cl_mem bx = buffer(sizeof x, x), bs = buffer(sizeof zero, &zero);
    cl_kernel k = kernel("total");
    clSetKernelArg(k, 0, sizeof bx, &bx);
    clSetKernelArg(k, 1, sizeof bs, &bs);
    clSetKernelArg(k, 2, 64 * sizeof(int), NULL);
    launch(k, N, 64);
    printf("total %ld\n", sum(bs, 1));
}

static void halves(void)
{
    static int x[N];
    for (int i = 0; i < N; i++)
        x[i] = i;
    cl_mem whole = buffer(sizeof x, x);
    cl_buffer_region low = { 0, sizeof x / 2 }, high = { sizeof x / 2, sizeof x / 2 };
    cl_int status;
    cl_mem one = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &low, &status);
    cl_mem two = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &high, &status);
    cl_kernel k = kernel("halves");
    clSetKernelArg(k, 0, sizeof one, &one);
    clSetKernelArg(k, 1, sizeof two, &two);
    launch(k, N / 2, 0);
    printf("halves %ld\n", sum(whole, N));
}

static void chase(void)
{
    cl_ulong *nodes[3];
    for (int i = 0; i < 3; i++)
        if (!(nodes[i] = clSVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0))) {
            printf("chase none\n");
            return;
        }
    for (int i = 0; i < 3; i++) {
        clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, nodes[i], 4096, 0, NULL, NULL);
        memset(nodes[i], 0, 4096);
        nodes[i][0] = i < 2 ? (cl_ulong)(size_t)nodes[i + 1] : 0;
        nodes[i][1] = 100 + i;
        clEnqueueSVMUnmap(queue, nodes[i], 0, NULL, NULL);
    }
    clFinish(queue);
    cl_mem out = buffer(64, NULL);
    int zero = 0;
    clEnqueueFillBuffer(queue, out, &zero, 4, 0, 64, 0, NULL, NULL);
    cl_kernel k = kernel("chase");
    clSetKernelArgSVMPointer(k, 0, nodes[0]);
    clSetKernelArg(k, 1, sizeof out, &out);
    clSetKernelExecInfo(k, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof nodes, nodes);
    launch(k, 1, 1);
    printf("chase %ld\n", sum(out, 16));
}

static void shifted(void)
{
    static unsigned room[64];
    cl_mem out = buffer(sizeof room, room);
    cl_kernel k = kernel("shifted");
    size_t offset[2] = { 2, 3 }, global[2] = { 4, 2 };
    clSetKernelArg(k, 0, sizeof out, &out);
    clEnqueueNDRangeKernel(queue, k, 2, offset, global, NULL, 0, NULL, NULL);
    printf("shifted %ld\n", sum(out, 64));
}

static void maybe(void)
{
    static int room[64];
    cl_mem out = buffer(sizeof room, room), none = NULL;
    cl_kernel k = kernel("maybe");
    clReleaseProgram(program);  /* the kernel keeps it */
    clSetKernelArg(k, 0, sizeof out, &out);
    clSetKernelArg(k, 1, sizeof none, &none);
    launch(k, 64, 0);
    printf("maybe %ld\n", sum(out, 64));
}

static void unlike(void)
{
    static int room[64];
    cl_mem out = buffer(sizeof room, room);
    cl_kernel k = kernel("unlike");
    clSetKernelArg(k, 0, sizeof out, &out);
    launch(k, 64, 0);
    printf("unlike %ld\n", sum(out, 64));
}

static void wild(void)
{
    cl_mem out = buffer(256, NULL);
    cl_ulong far = 1ull << 44;
    cl_kernel k = kernel("wild");
    clSetKernelArg(k, 0, sizeof out, &out);
    clSetKernelArg(k, 1, sizeof far, &far);
    launch(k, 64, 0);
    clFinish(queue);
    printf("wild survived\n");
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } all[] = {
        { "axpy", axpy }, { "total", total }, { "halves", halves }, { "chase", chase }, { "shifted", shifted }, { "maybe", maybe },
    };
    const char *text = source;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 7;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    queue = clCreateCommandQueue(context, device, 0, &status);
    program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    if (clBuildProgram(program, 1, &device, "-cl-std=CL2.0 -DSCALE=3", NULL, NULL)
        && clBuildProgram(program, 1, &device, "-DSCALE=3", NULL, NULL))
        return 6;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (argc < 2 || !strcmp(argv[1], all[i].name))
            all[i].run();
    if (argc > 1 && !strcmp(argv[1], "wild"))
        wild();
    if (argc > 1 && !strcmp(argv[1], "unlike"))
        unlike();
    return 0;
}
