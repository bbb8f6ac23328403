/* A kernel whose radius an option of the build sets: the first argument of the program. "both": two programs, of which each has the other's
 * macro among its options as well. */
#include "common.h"

static const char *const sources[] = {
    "#ifndef RADIUS\n#define RADIUS 3\n#endif\nkernel void rows(global float *p) { p[get_global_id(0)] = RADIUS; }\n",
    "#ifndef RADUIS\n#define RADUIS 4\n#endif\nkernel void rows(global float *p) { p[get_global_id(0)] = RADUIS; }\n",
};

int main(int argc, char **argv)
{
    open_device(argc, argv);
    for (int i = 0; i <= is("both"); i++) {
        cl_int status;
        program = clCreateProgramWithSource(context, 1, (const char **)&sources[i], NULL, &status);
        check(status, "clCreateProgramWithSource");
        check(clBuildProgram(program, 1, &device, is("both") ? "-DRADIUS=5 -DRADUIS=5" : mode, NULL, NULL), "clBuildProgram");
        cl_kernel kernel = make_kernel("rows");
        set_mem(kernel, 0, filled_buffer(BYTES));
        launch(kernel, COUNT);
    }
    return finish();
}
