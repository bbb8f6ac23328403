/* Sizes that are not the declared ones, for kernel values. */
#include "common.h"

struct four { float a, b, c, d; };
struct range { cl_long first; cl_int count; };

int main(int argc, char **argv)
{
    start(argc, argv);
    cl_kernel kernel = make_kernel("values");
    cl_mem out = filled_buffer(BYTES);
    struct four four = {1, 2, 3, 4};
    struct range range = {5, 6};
    float xyz[4] = {7, 8, 9};
    cl_long big = 10;
    cl_float x = 11;
    cl_double y = 12;
    cl_int small = 13;
    clSetKernelArg(kernel, 0, is("memory") ? (size_t)BYTES : sizeof out, is("memory") ? calloc(1, BYTES) : (void *)&out);
    clSetKernelArg(kernel, 1, is("struct") ? 8 : sizeof four, &four);
    clSetKernelArg(kernel, 2, is("padding") ? 12 : sizeof range, &range);
    clSetKernelArg(kernel, 3, is("vector") ? 12 : sizeof xyz, &xyz);
    clSetKernelArg(kernel, 4, is("int") ? sizeof small : sizeof big, is("int") ? (void *)&small : &big);
    clSetKernelArg(kernel, 5, is("double") ? sizeof y : sizeof x, is("double") ? (void *)&y : &x);
    clSetKernelArg(kernel, 6, sizeof y, &y);
    if (is("right"))
        launch(kernel, COUNT);
    return finish();
}
