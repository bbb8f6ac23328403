/* Calls that fail, and programs that look or do not. */
#include "common.h"

static cl_program try_build(const char *text)
{
    cl_program made = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    return clBuildProgram(made, 1, &device, "", NULL, NULL) == CL_SUCCESS ? made : NULL;
}

static void no_program(int stop)
{
    const char *broken = "kernel void f(global int *x) { x[0] = nonsense; }\n";
    cl_program made = clCreateProgramWithSource(context, 1, &broken, NULL, NULL);
    cl_int status = clBuildProgram(made, 1, &device, "", NULL, NULL);
    if (stop)
        check(status, "clBuildProgram");
    cl_kernel kernel = clCreateKernel(made, "f", &status);
    cl_mem data = make_buffer(BYTES);
    size_t count = COUNT;
    clSetKernelArg(kernel, 0, sizeof data, &data);
    status = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL);
    check(status, "clEnqueueNDRangeKernel");
}

static void bad_copy(void)
{
    char room[64];
    cl_mem data = filled_buffer(32);
    clEnqueueWriteBuffer(queue, data, CL_TRUE, 0, 64, room, 0, NULL, NULL);  /* larger than the buffer */
    read_back(data, 32);
}

static void bad_argument(int again)
{
    cl_kernel kernel = make_kernel("scale");
    set_mem(kernel, 0, filled_buffer(BYTES));
    set_float(kernel, 1, 2);
    set_int(kernel, 2, 0);
    clSetKernelArg(kernel, 2, sizeof(cl_int), NULL);  /* refused; the old value stays */
    if (again)
        set_int(kernel, 2, 0);
    launch(kernel, COUNT);
}

static void probe(void)
{
    cl_int status;
    cl_image_format odd = {CL_R, 0x7777};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4};
    clCreateImage(context, CL_MEM_READ_ONLY, &odd, &desc, NULL, &status);
    clCreateBuffer(context, CL_MEM_READ_WRITE, 0, NULL, &status);
    if (!try_build("kernel void f(global no_such_type *x) {}\n"))
        clReleaseProgram(try_build("kernel void f(global int *x) { x[0] = 1; }\n"));
}

int main(int argc, char **argv)
{
    start(argc, argv);
    if (is("build") || is("checked"))
        no_program(is("checked"));
    if (is("copy"))
        bad_copy();
    if (is("argument") || is("argument again"))
        bad_argument(is("argument again"));
    if (is("copy and fail")) {
        bad_copy();
        return 1;
    }
    if (is("probe") || is("probe and fail"))
        probe();
    if (is("probe and fail"))
        return 1;
    return finish();
}
