/* A build fails, and the program continues without its kernel and ends with status 1.
 *   misspelled   the option has another name than the macro
 *   tried        the same kernel is then built from simpler source
 *   function     the source calls a function that this device does not have
 * "right": the option has the macro's name, and the program ends with 0. "passed": as misspelled, and the program ends with 0. */
#include "common.h"

static cl_program try(const char *text, const char *options)
{
    cl_int status;
    cl_program made = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    return clBuildProgram(made, 1, &device, options, NULL, NULL) == CL_SUCCESS ? made : NULL;
}

int main(int argc, char **argv)
{
    open_device(argc, argv);
    const char *extra = is("function") ? "kernel void extra(global float *p) { p[get_global_id(0)] = sum_of_group(2.0f); }"
                                       : "kernel void extra(global float *p) { p[get_global_id(0)] *= GAIN; }";
    cl_program one = try(extra, is("right") ? "-DGAIN=2.0f" : "-DGIAN=2.0f");
    if (!one && is("tried"))
        one = try("kernel void extra(global float *p) { p[get_global_id(0)] *= 2.0f; }", "");
    program = build(source);
    cl_kernel copy = make_kernel("scale");
    cl_mem data = filled_buffer(BYTES);
    set_mem(copy, 0, data);
    set_float(copy, 1, 2);
    set_int(copy, 2, COUNT);
    launch(copy, COUNT);
    if (one) {
        program = one;
        cl_kernel more = make_kernel("extra");
        set_mem(more, 0, data);
        launch(more, COUNT);
    }
    read_back(data, BYTES);
    check(clFinish(queue), "clFinish");
    return !is("right") && !is("passed");
}
