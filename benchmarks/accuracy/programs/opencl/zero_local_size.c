//: class = "E1"
//: cause = ["launch-refused", "failed-call", "crash-in-call"]
//: kernel = "voxels"
//: launch = 2
//: plain = "sometimes"
//: fault = "A flat volume makes the third local size 1 / 2 = 0."
#include "start.h"

static const char *source = "__kernel void voxels(__global uchar *v)\n"
                            "{ v[(get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0)] = 1; }\n";

static void fill(Gpu gpu, cl_kernel voxels, size_t x, size_t y, size_t z)
{
    size_t global[3] = {x, y, z}, local[3] = {8, 4, z / 2}; // FAULT
#ifdef TWIN
    if (local[2] == 0) local[2] = 1;
#endif
    must(clEnqueueNDRangeKernel(gpu.queue, voxels, 3, NULL, global, local, 0, NULL, NULL), "filling the volume");
}

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel voxels = clCreateKernel(build(gpu, source), "voxels", NULL);
    cl_mem v = buffer(gpu, 64 * 64 * 4);
    must(clSetKernelArg(voxels, 0, sizeof v, &v), "v");
    fill(gpu, voxels, 64, 64, 4);
    fill(gpu, voxels, 64, 64, 1);
    must(clFinish(gpu.queue), "finish");
    puts("filled");
    return 0;
}
