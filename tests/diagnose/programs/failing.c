/* Fails in ways that only repeated runs tell apart. The first argument says how:
 *   random       with status 1 in half of the runs, without a pattern that anybody could see, whatever anybody changes
 *   unordered    one queue writes, another reads, and nothing makes the second wait: wrong results, unless somebody waits
 *   outside      a kernel reads past the end of its memory, and the program ends with 1
 *   fresh        computes with memory that nothing wrote, and ends with 1; what comes back holds no pattern
 *   narrow N     an index that is kept in 8 bits: wrong results with more than 256 elements. N is also taken from the environment */
#include "../../detectors/programs/common.h"

static const char slow[] =
    "kernel void slow(global volatile int *out, int rounds) {\n"
    "    int x = 0;\n"
    "    for (int i = 0; i < rounds; i++) x += out[1] + i;\n"
    "    out[0] = 7 + 0 * x;\n"
    "}\n"
    "kernel void narrow(global int *out) { out[(uchar)get_global_id(0)] = (int)get_global_id(0); }\n"
    "kernel void third(global int *in, global int *out) { out[0] = in[0] / 3 + 1; }\n"
    "kernel void pick(global const int *in, global int *out, int at) { out[0] = in[at]; }\n";

static int first_of(cl_mem buffer, cl_command_queue from)
{
    int value = -1;
    check(clEnqueueReadBuffer(from, buffer, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL), "clEnqueueReadBuffer");
    return value;
}

static int slowly(int rounds, int from_other)
{
    cl_int status;
    cl_mem buffer = filled_buffer(BYTES);
    cl_kernel kernel = make_kernel("slow");
    cl_command_queue other = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    check(clFinish(queue), "clFinish");
    set_mem(kernel, 0, buffer);
    set_int(kernel, 1, rounds);
    launch(kernel, 1);
    check(clFlush(queue), "clFlush");
    int got = first_of(buffer, from_other ? other : queue);
    check(clFinish(queue), "clFinish");
    return got != 7;
}

static int outside(void)
{
    cl_mem in = filled_buffer(BYTES), out = filled_buffer(BYTES);
    cl_kernel kernel = make_kernel("pick");
    set_mem(kernel, 0, in);
    set_mem(kernel, 1, out);
    set_int(kernel, 2, COUNT + 128);
    launch(kernel, 1);
    first_of(out, queue);
    return 1;
}

static int fresh(void)
{
    cl_mem in = make_buffer(BYTES), out = filled_buffer(BYTES);
    cl_kernel kernel = make_kernel("third");
    set_mem(kernel, 0, in);
    set_mem(kernel, 1, out);
    launch(kernel, 1);
    first_of(out, queue);
    return 1;
}

static int narrow(int count)
{
    int got[COUNT];
    cl_mem out = filled_buffer(BYTES);
    cl_kernel kernel = make_kernel("narrow");
    set_mem(kernel, 0, out);
    launch(kernel, (size_t)count);
    check(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL), "clEnqueueReadBuffer");
    for (int at = 0; at < count; at++)
        if (got[at] != at)
            return 1;
    return 0;
}

/* In the order of runs, counted in a file, so that a test does not depend on luck: 0110100110010110... (Thue and Morse). */
static int coin(void)
{
    unsigned count = 0;
    const char *path = getenv("FAILING_COUNT");
    FILE *file = path ? fopen(path, "r+") : NULL;
    if (!file)
        exit(3);
    if (fscanf(file, "%u", &count) != 1)
        count = 0;
    rewind(file);
    fprintf(file, "%u\n", count + 1);
    fclose(file);
    return __builtin_parity(count);
}

int main(int argc, char **argv)
{
    open_device(argc, argv);
    program = build(slow);
    if (is("unordered"))
        return slowly(30 * 1000 * 1000, 1);
    if (is("narrow"))
        return narrow(atoi(argc > 2 ? argv[2] : getenv("N")));
    if (is("fresh"))
        return fresh();
    if (is("outside"))
        return outside();
    return slowly(10, 0) || coin();
}
