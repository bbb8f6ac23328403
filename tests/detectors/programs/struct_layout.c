/* A buffer of structs. "narrow": a field of the kernel's struct has another type, so its size differs; "order": two fields are swapped;
 * "value": they are swapped in a struct that is passed by value, "same value": they are not; "right": both are the same; "converted": the kernel's struct is a smaller one of the same name, and the buffer holds only those. */
#include "common.h"

struct block { float scale; int first; int last; };
struct factors { float by; int add; };
enum { ITEMS = 15 };

static const char body[] =
    "kernel void sum(global const struct block *items, global float *out) {\n"
    "    int i = get_global_id(0);\n"
    "    out[i] = items[i].scale;\n"
    "}\n"
    "kernel void scale(global float *out, struct factors f) { int i = get_global_id(0); out[i] = out[i] * f.by + f.add; }\n";

int main(int argc, char **argv)
{
    struct block items[ITEMS];
    float out[ITEMS];
    char text[768];
    open_device(argc, argv);
    for (int i = 0; i < ITEMS; i++)
        items[i] = (struct block){(float)i, i, i};
    const char *fields = is("narrow") ? "float scale; short first; short last;"
        : is("converted") ? "float scale; int first;"
        : is("order") ? "int first; float scale; int last;" : "float scale; int first; int last;";
    const char *factors = is("value") ? "int add; float by;" : "float by; int add;";
    snprintf(text, sizeof text, "struct block { %s };\nstruct factors { %s };\n%s", fields, factors, body);
    program = build(text);
    cl_kernel kernel = make_kernel("sum");
    size_t bytes = is("converted") ? 24 * ITEMS : sizeof items;  /* a whole number of both */
    cl_mem in = clCreateBuffer(context, CL_MEM_READ_ONLY, bytes, NULL, NULL);
    cl_mem made = clCreateBuffer(context, CL_MEM_WRITE_ONLY, sizeof out, NULL, NULL);
    check(clEnqueueWriteBuffer(queue, in, CL_TRUE, 0, sizeof items, items, 0, NULL, NULL), "clEnqueueWriteBuffer");
    set_mem(kernel, 0, in);
    set_mem(kernel, 1, made);
    size_t count = ITEMS;
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    if (strstr(argv[argc - 1], "value")) {
        struct factors same = { 1.0f, 0 };
        cl_kernel scale = make_kernel("scale");
        set_mem(scale, 0, made);
        check(clSetKernelArg(scale, 1, sizeof same, &same), "clSetKernelArg");
        check(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &count, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    }
    check(clEnqueueReadBuffer(queue, made, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL), "clEnqueueReadBuffer");
    for (int i = 0; i < ITEMS; i++)
        if (out[i] != (float)i && !is("converted"))
            return 1;
    return 0;
}
