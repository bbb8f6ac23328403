/* Values of the right size and the wrong type for kernel scale(data, float factor, int n). */
#include "common.h"

int main(int argc, char **argv)
{
    start(argc, argv);
    cl_kernel kernel = make_kernel("scale");
    cl_mem data = filled_buffer(BYTES);
    cl_float one = 1.5f;
    set_mem(kernel, 0, data);
    for (int round = 1; round < 3; round++) {
        if (is("int for float"))
            set_int(kernel, 1, 1024 * round);
        else
            set_float(kernel, 1, round == 1 ? 0 : 1e-3f);
        if (is("float for int"))
            set(kernel, 2, sizeof one, &one);
        else if (is("mixed"))
            set_int(kernel, 2, round == 1 ? 0x3fc00000 : COUNT);
        else if (is("gigabyte"))
            set_int(kernel, 2, 0x40000000);
        else
            set_int(kernel, 2, COUNT);
        if (is("right"))
            launch(kernel, COUNT);
    }
    return finish();
}
