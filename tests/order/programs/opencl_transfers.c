/* Transfers behind a slow kernel, whose host memory is used while they may still run: `prog MODE bug|twin`, 0 where the result is
 * right. */
#include "planted_opencl.h"

static const char slow_source[] =
    "kernel void slow(global float *x, int rounds) {\n"
    "    uint v = 5; for (int r = 0; r < rounds; r++) v = v * 69069u + 3u;\n"
    "    x[get_global_id(0)] = v == 0 ? 4.0f : 3.0f;\n"
    "}\n";

static void run_slow(void)
{
    const char *text = slow_source;
    cl_int status, rounds = 40000000;
    size_t one = 1;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(status, "program");
    CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_kernel slow = clCreateKernel(program, "slow", &status);
    check(status, "slow");
    CHECK(clSetKernelArg(slow, 0, sizeof x, &x));
    CHECK(clSetKernelArg(slow, 1, sizeof rounds, &rounds));
    CHECK(clEnqueueNDRangeKernel(a, slow, 1, NULL, &one, NULL, 0, NULL, NULL));
}

static int read_early(void)
{
    cl_event end;
    run_slow();
    CHECK(clEnqueueReadBuffer(a, x, CL_FALSE, 0, BYTES, back, 0, NULL, &end));
    if (twin)
        CHECK(clWaitForEvents(1, &end));
    int wrong = back[0] != 3;
    CHECK(clWaitForEvents(1, &end));
    CHECK(clReleaseEvent(end));
    CHECK(clFinish(a));
    return wrong;
}

static int source_reused(void)
{
    run_slow();
    CHECK(clEnqueueWriteBuffer(a, y, CL_FALSE, 0, BYTES, in, 0, NULL, NULL));
    if (twin)
        CHECK(clFinish(a));
    for (int i = 0; i < COUNT; i++)
        in[i] = 8;
    CHECK(clEnqueueReadBuffer(a, y, CL_TRUE, 0, BYTES, back, 0, NULL, NULL));
    return back[0] != 2;
}

static int mapped_early(void)
{
    cl_int status;
    run_slow();
    volatile float *mapped = clEnqueueMapBuffer(a, x, CL_FALSE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, &status);
    check(status, "map");
    if (twin)
        CHECK(clFinish(a));
    int wrong = mapped[0] != 3;
    CHECK(clFinish(a));
    return wrong;
}

/* The transfer waits for what only this thread does afterwards: a wait of anybody's in between would never end. */
static int waits_for_us(void)
{
    cl_int status;
    cl_event ready = clCreateUserEvent(context, &status);
    check(status, "user event");
    CHECK(clEnqueueWriteBuffer(a, y, CL_FALSE, 0, BYTES, in, 1, &ready, NULL));
    CHECK(clSetUserEventStatus(ready, CL_COMPLETE));
    CHECK(clEnqueueReadBuffer(a, y, CL_TRUE, 0, BYTES, back, 0, NULL, NULL));
    return back[0] != 2;
}

int main(int argc, char **argv)
{
    static const struct { const char *name; int (*run)(void); } modes[] = {
        { "read", read_early }, { "write", source_reused }, { "map", mapped_early }, { "user-event", waits_for_us },
    };
    twin = argc > 2 && !strcmp(argv[2], "twin");
    start();
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(argv[1], modes[i].name)) {
            int wrong = modes[i].run();
            puts(wrong ? "wrong" : "right");
            return wrong;
        }
    return 2;
}
