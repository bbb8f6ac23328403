/* Launches with numbers that can be stated beforehand. "right" gives scale no more values than its buffer has; otherwise the
 * second of three launches has one value too many by its number, though no work-item goes that far. */
#include "common.h"

int main(int argc, char **argv)
{
    start(argc, argv);
    cl_kernel scale = make_kernel("scale"), sum = make_kernel("shared_sum");
    cl_mem data = filled_buffer(BYTES);
    size_t global = 64, local = 16;
    set_mem(scale, 0, data);
    set_float(scale, 1, 0.5f);
    for (int turn = 0; turn < 3; turn++) {
        set_int(scale, 2, turn == 1 && !is("right") ? COUNT + 1 : COUNT);
        launch(scale, 64);
    }
    set_mem(sum, 0, data);
    set(sum, 1, local * 4, NULL);
    check(clEnqueueNDRangeKernel(queue, sum, 1, NULL, &global, &local, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    clFinish(queue);
    clReleaseMemObject(data);
    clReleaseKernel(scale);
    clReleaseKernel(sum);
    return finish();
}
