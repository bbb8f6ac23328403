/* Buffers up to the largest that the driver gives, and beyond. */
#include "gpu.h"

int main(void)
{
    static const size_t sizes[] = { 1, 4096, (1 << 20) - 4096, (1 << 20) - 4095, 1 << 20, (1 << 20) + 1, (size_t)-1 };
    gpu_open();
    cl_context context = clCreateContext(NULL, 0, NULL, NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cl_int status = 1;
        cl_mem made = clCreateBuffer(context, 0, sizes[i], NULL, &status);
        printf("%zu: %d, %s\n", sizes[i], (int)status, made ? "made" : "not made");
        if (made)
            clReleaseMemObject(made);
    }
    return 0;
}
