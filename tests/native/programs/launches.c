/* Launches kernels with arguments of several sizes; with "crash" the last call never returns. */
#include "gpu.h"

static int crash;

void fake_driver(const char *call);
void fake_driver(const char *call)
{
    if (crash && !strcmp(call, "clFinish"))
        *(volatile int *)16 = 1;
}

int main(int argc, char **argv)
{
    gpu_open();
    crash = is(argc, argv, "crash");
    char wide[40];
    for (int i = 0; i < 200; i++) {
        size_t global[3] = { 64, 2, (size_t)i + 1 };
        void *buffer = (void *)(size_t)(0x7000 + i);
        memset(wide, i, sizeof wide);
        clSetKernelArg(gpu_kernel, 0, sizeof buffer, &buffer);
        clSetKernelArg(gpu_kernel, 1, sizeof wide, wide);
        clSetKernelArg(gpu_kernel, 2, 256, NULL);
        clEnqueueNDRangeKernel((cl_command_queue)(size_t)0x8000, gpu_kernel, 3, NULL, global, NULL, 0, NULL, NULL);
    }
    clFinish((cl_command_queue)(size_t)0x8000);
    return 0;
}
