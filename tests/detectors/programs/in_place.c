/* Four launches of `copy`, of which "once" one and "twice" two work in place; the program ends with 1. "passed": as once, with 0. */
#include "common.h"

int main(int argc, char **argv)
{
    start(argc, argv);
    cl_mem a = filled_buffer(BYTES), b = filled_buffer(BYTES);
    cl_kernel copy = make_kernel("copy");
    set_int(copy, 2, COUNT);
    int same = is("twice") ? 2 : !is("never");
    for (int i = 0; i < 4; i++) {
        set_mem(copy, 0, a);
        set_mem(copy, 1, i < same ? a : b);
        launch(copy, COUNT);
    }
    finish();
    return !is("passed");
}
