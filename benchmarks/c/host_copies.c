/* A loop that does nothing but copies which return early, with a wait after every eighth: prints "BYTES NANOSECONDS" for one copy
 * of each size. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SMALLEST = 4 << 10, LARGEST = 64 << 20, IN_A_ROW = 8, WARM = 2 };

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1e9 + at.tv_nsec;
}

static void copies(cl_command_queue queue, cl_mem buffer, const char *source, size_t bytes, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < IN_A_ROW; k++)
            if (clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, bytes, source, 0, NULL, NULL) != CL_SUCCESS)
                exit(1);
        clFinish(queue);
    }
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS
        || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return 1;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, LARGEST, NULL, &status);
    char *source = malloc(LARGEST);
    if (status != CL_SUCCESS || !source)
        return 1;
    memset(source, 1, LARGEST);
    for (size_t bytes = SMALLEST; bytes <= LARGEST; bytes *= 16) {
        int rounds = bytes <= 64 << 10 ? 3000 : bytes <= 1 << 20 ? 200 : 4;
        if (bytes * 16 > LARGEST)
            bytes = LARGEST;
        copies(queue, buffer, source, bytes, WARM);
        double began = now();
        copies(queue, buffer, source, bytes, rounds);
        printf("%zu %.0f\n", bytes, (now() - began) / rounds / IN_A_ROW);
    }
    return 0;
}
