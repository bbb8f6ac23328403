//: class = "A3"
//: cause = ["index-overflow"]
//: kernel = "write_frame"
//: launch = 2
//: argument = [0, 1]
//: plain = "signal"
//: fault = "frame * height * width is computed in int: frame 1100 of 1920 x 1080 passes 2^31."
#include "start.h"

static const char *source =
    "__kernel void write_frame(__global uchar *video, int frame, int width, int height)\n"
    "{\n"
#ifdef TWIN
    "    long at = (long)frame * height * width + get_global_id(0);\n"
#else
    "    int at = frame * height * width + get_global_id(0);\n" // FAULT
#endif
    "    video[at] = 255;\n"
    "}\n";

int main(void)
{
    Gpu gpu = start(0);
    int width = 1920, height = 1080, frames[] = {3, 1100};
    size_t bytes = (size_t)1101 * width * height, pixels = 4096;
    cl_int status;
    cl_mem video = clCreateBuffer(gpu.context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    if (status != CL_SUCCESS) return 77;
    cl_kernel kernel = clCreateKernel(build(gpu, source), "write_frame", NULL);
    must(clSetKernelArg(kernel, 0, sizeof video, &video), "video");
    must(clSetKernelArg(kernel, 2, sizeof width, &width), "width");
    must(clSetKernelArg(kernel, 3, sizeof height, &height), "height");
    for (int i = 0; i < 2; ++i) {
        must(clSetKernelArg(kernel, 1, sizeof(int), &frames[i]), "frame");
        must(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &pixels, NULL, 0, NULL, NULL), "launch");
    }
    must(clFinish(gpu.queue), "finish");
    puts("frames written");
    return 0;
}
