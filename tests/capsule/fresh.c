/* Five launches of put: into fresh memory, into the same again, into other fresh memory, into filled memory, into memory with data. */
#include <CL/cl.h>

int main(void)
{
    static const char *source = "kernel void put(global int *y) { y[get_global_id(0)] = 1; }\n";
    static int data[64], one = 1;
    cl_platform_id platform;
    cl_device_id device;
    size_t size = 64;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 7;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL))
        return 6;
    cl_kernel kernel = clCreateKernel(program, "put", NULL);
    cl_mem made[4];
    for (int i = 0; i < 3; i++)
        made[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof data, NULL, NULL);
    made[3] = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof data, data, NULL);
    clEnqueueFillBuffer(queue, made[2], &one, sizeof one, 0, sizeof data, 0, NULL, NULL);
    static const int order[] = { 0, 0, 1, 2, 3 };
    for (int i = 0; i < 5; i++) {
        clSetKernelArg(kernel, 0, sizeof(cl_mem), &made[order[i]]);
        if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL))
            return 5;
    }
    return clFinish(queue);
}
