//: class = "A3"
//: cause = ["index-overflow", "negative-stride"]
//: kernel = "store_plane"
//: launch = 1
//: argument = [0, 1]
//: plain = "signal"
//: fault = "The host computes the plane's offset in int and passes a negative number."
#include "start.h"

static const char *source = "__kernel void store_plane(__global uchar *volume, long offset, uchar value)\n"
                            "{ volume[offset + get_global_id(0)] = value; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel kernel = clCreateKernel(build(gpu, source), "store_plane", NULL);
    int nx = 2048, ny = 2048, nz = 560;
    cl_int status;
    cl_mem volume = clCreateBuffer(gpu.context, CL_MEM_READ_WRITE, (size_t)nx * ny * nz, NULL, &status);
    if (status != CL_SUCCESS) return 77;
    int z = nz - 1;
#ifdef TWIN
    cl_long offset = (cl_long)z * nx * ny;
#else
    cl_long offset = z * nx * ny; // FAULT
#endif
    cl_uchar value = 9;
    size_t row = nx;
    must(clSetKernelArg(kernel, 0, sizeof volume, &volume), "volume");
    must(clSetKernelArg(kernel, 1, sizeof offset, &offset), "offset");
    must(clSetKernelArg(kernel, 2, sizeof value, &value), "value");
    must(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &row, NULL, 0, NULL, NULL), "store");
    must(clFinish(gpu.queue), "finish");
    puts("stored");
    return 0;
}
