//: class = "D1"
//: cause = ["argument-size", "failed-call", "argument-type"]
//: kernel = "project"
//: call = "clSetKernelArg"
//: argument = 1
//: plain = "exit"
//: fault = "The host packs the camera to 20 bytes, on the device it has 24."
#include "start.h"

#ifndef TWIN
#pragma pack(push, 4) // FAULT
#endif
typedef struct {
    cl_int id;
    cl_double focus;
    cl_double centre;
} Camera;
#ifndef TWIN
#pragma pack(pop)
#endif

static const char *source = "typedef struct { int id; double focus, centre; } Camera;\n"
                            "__kernel void project(__global double *x, Camera camera)\n"
                            "{ int i = get_global_id(0); x[i] = i * camera.focus + camera.centre; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel project = clCreateKernel(build(gpu, source), "project", NULL);
    Camera camera = {1, 2.0, 0.5};
    double host[32];
    size_t n = 32;
    cl_mem x = buffer(gpu, sizeof host);
    must(clSetKernelArg(project, 0, sizeof x, &x), "points");
    must(clSetKernelArg(project, 1, sizeof camera, &camera), "camera");
    must(clEnqueueNDRangeKernel(gpu.queue, project, 1, NULL, &n, NULL, 0, NULL, NULL), "project");
    must(clEnqueueReadBuffer(gpu.queue, x, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
    printf("%g\n", host[31]);
    return host[31] == 62.5 ? 0 : 1;
}
