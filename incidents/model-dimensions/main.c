/* One feed-forward layer of a model in a file: out = residual + relu(x * up) * down. All buffers are parts of one arena. */
#define CL_TARGET_OPENCL_VERSION 120
#include "gguf.h"

#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 4, N_EMBD = 16, N_FF = 14336, DEFAULT_N_FF = 11008, PATH = 4096 };
enum { HIDDEN, RESIDUAL, DOWN, UP, X, OUT, PARTS };

static const char source[] =
    "kernel void ffn_up(global float *hidden, global const float *x, global const float *up, int rows, int n_ff, int n_embd) {\n"
    "    int unit = get_global_id(0), row = get_global_id(1);\n"
    "    float sum = 0;\n"
    "    for (int i = 0; i < n_embd; i++)\n"
    "        sum += x[row * n_embd + i] * up[unit * n_embd + i];\n"
    "    hidden[row * n_ff + unit] = max(sum, 0.0f);\n"
    "}\n"
    "kernel void ffn_down(global float *out, global const float *residual, global const float *hidden,\n"
    "                     global const float *down, int rows, int n_ff, int n_embd) {\n"
    "    int column = get_global_id(0), row = get_global_id(1);\n"
    "    float sum = residual[row * n_embd + column];\n"
    "    for (int i = 0; i < n_ff; i++)\n"
    "        sum += hidden[row * n_ff + i] * down[column * n_ff + i];\n"
    "    out[row * n_embd + column] = sum;\n"
    "}\n";

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_kernel ffn_up, ffn_down;
static cl_mem parts[PARTS];

static void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s failed with %d\n", what, (int)status);
    exit(2);
}

static cl_kernel make_kernel(cl_program program, const char *name)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    check(status, "clCreateKernel");
    return kernel;
}

static void gpu_open(void)
{
    cl_int status;
    cl_platform_id platform;
    const char *text = source;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, "-cl-std=CL1.2", NULL, NULL), "clBuildProgram");
    ffn_up = make_kernel(program, "ffn_up");
    ffn_down = make_kernel(program, "ffn_down");
}

/* The layer's memory, planned before anything is allocated. */
static void plan(const struct model *model, size_t *bytes)
{
#ifdef TWIN
    size_t n_ff = model->n_ff;
#else
    size_t n_ff = DEFAULT_N_FF;
#endif
    size_t rows = ROWS * model->n_embd * sizeof(float), weights = (size_t)model->n_embd * model->n_ff * sizeof(float);
    bytes[HIDDEN] = ROWS * n_ff * sizeof(float);
    bytes[RESIDUAL] = bytes[X] = bytes[OUT] = rows;
    bytes[DOWN] = bytes[UP] = weights;
}

static size_t aligned(size_t bytes)
{
    cl_uint bits;
    check(clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL), "clGetDeviceInfo");
    size_t unit = bits / 8;
    return (bytes + unit - 1) / unit * unit;
}

static void allocate(const size_t *bytes)
{
    cl_int status;
    size_t total = 0;
    for (int i = 0; i < PARTS; i++)
        total += aligned(bytes[i]);
    cl_mem arena = clCreateBuffer(context, CL_MEM_READ_WRITE, total, NULL, &status);
    check(status, "clCreateBuffer");
    cl_buffer_region region = {0, 0};
    for (int i = 0; i < PARTS; i++) {
        region.size = bytes[i];
        parts[i] = clCreateSubBuffer(arena, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
        check(status, "clCreateSubBuffer");
        region.origin += aligned(bytes[i]);
    }
}

static void upload(int part, size_t bytes, const void *data)
{
    check(clEnqueueWriteBuffer(queue, parts[part], CL_TRUE, 0, bytes, data, 0, NULL, NULL), "clEnqueueWriteBuffer");
}

static void set_parts(cl_kernel kernel, const int *which, cl_uint count)
{
    for (cl_uint i = 0; i < count; i++)
        check(clSetKernelArg(kernel, i, sizeof(cl_mem), &parts[which[i]]), "clSetKernelArg");
}

static void launch(cl_kernel kernel, cl_uint first, const struct model *model, size_t columns)
{
    cl_int numbers[] = {ROWS, (cl_int)model->n_ff, (cl_int)model->n_embd};
    size_t global[] = {columns, ROWS};
    for (cl_uint i = 0; i < 3; i++)
        check(clSetKernelArg(kernel, first + i, sizeof(cl_int), &numbers[i]), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
}

/* The same on the host; whole numbers, so that every order of summation gives the same. */
static float expected(const struct model *model, const float *x, int row, uint32_t column)
{
    float sum = x[(uint32_t)row * model->n_embd + column];
    for (uint32_t unit = 0; unit < model->n_ff; unit++) {
        float hidden = 0;
        for (uint32_t i = 0; i < model->n_embd; i++)
            hidden += x[(uint32_t)row * model->n_embd + i] * model->up[unit * model->n_embd + i];
        sum += (hidden > 0 ? hidden : 0) * model->down[column * model->n_ff + unit];
    }
    return sum;
}

int main(int argc, char **argv)
{
    (void)argc;
    char path[PATH];
    struct model model = {0};
    size_t bytes[PARTS];
    float x[ROWS * N_EMBD], out[ROWS * N_EMBD];
    snprintf(path, sizeof path, "%s.gguf", argv[0]);
    if (model_write(path, N_EMBD, N_FF) != 0 || model_open(&model, path) != 0) {
        fprintf(stderr, "%s cannot be written\n", path);
        return 2;
    }
    for (int i = 0; i < ROWS * N_EMBD; i++)
        x[i] = (float)(i % 5) - 2;
    gpu_open();
    plan(&model, bytes);
    allocate(bytes);
    upload(X, bytes[X], x);
    upload(RESIDUAL, bytes[RESIDUAL], x);
    upload(UP, bytes[UP], model.up);
    upload(DOWN, bytes[DOWN], model.down);
    set_parts(ffn_up, (int[]){HIDDEN, X, UP}, 3);
    launch(ffn_up, 3, &model, model.n_ff);
    set_parts(ffn_down, (int[]){OUT, RESIDUAL, HIDDEN, DOWN}, 4);
    launch(ffn_down, 4, &model, model.n_embd);
    check(clEnqueueReadBuffer(queue, parts[OUT], CL_TRUE, 0, bytes[OUT], out, 0, NULL, NULL), "clEnqueueReadBuffer");
    int wrong = 0;
    for (int row = 0; row < ROWS; row++)
        for (uint32_t column = 0; column < model.n_embd; column++)
            wrong += out[(uint32_t)row * model.n_embd + column] != expected(&model, x, row, column);
    printf("%d of %d results are wrong\n", wrong, ROWS * N_EMBD);
    return wrong ? 1 : 0;
}
