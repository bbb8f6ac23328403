/* A little HIP over OpenCL, as a library of its own name: enough to load one kernel and launch it. Device code is OpenCL C. */
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdlib.h>
#include <string.h>

static cl_context context;
static cl_command_queue queue;
static cl_device_id device;

int hipInit(unsigned flags)
{
    cl_platform_id platform;
    if (context)
        return 0;
    if (flags || clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 100;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
    return queue ? 0 : 100;
}

int hipGetDeviceCount(int *count)
{
    *count = 1;
    return hipInit(0);
}

int hipMalloc(void **result, size_t bytes)
{
    *result = hipInit(0) ? NULL : clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
    return *result ? 0 : 2;
}

int hipFree(void *address)
{
    clSVMFree(context, address);
    return 0;
}

int hipMemcpy(void *dst, const void *src, size_t bytes, int kind)
{
    (void)kind;
    return clEnqueueSVMMemcpy(queue, CL_TRUE, dst, src, bytes, 0, NULL, NULL) ? 1 : 0;
}

int hipModuleLoadData(cl_program *module, const void *image)
{
    const char *source = image;
    *module = hipInit(0) ? NULL : clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    return *module && !clBuildProgram(*module, 1, &device, "", NULL, NULL) ? 0 : 200;
}

int hipModuleGetFunction(cl_kernel *kernel, cl_program module, const char *name)
{
    *kernel = clCreateKernel(module, name, NULL);
    return *kernel ? 0 : 500;
}

int hipModuleLaunchKernel(cl_kernel kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **params, void **extra)
{
    (void)gy, (void)gz, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
    size_t items = (size_t)gx * bx, group = bx;
    clSetKernelArgSVMPointer(kernel, 0, *(void **)params[0]);
    clSetKernelArg(kernel, 1, sizeof(int), params[1]);
    return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL) ? 719 : 0;
}

int hipDeviceSynchronize(void)
{
    return clFinish(queue) ? 719 : 0;
}

int hipRuntimeGetVersion(int *version)
{
    *version = 60032830;
    return 0;
}

int hipStreamCreate(void **stream) { return *stream = NULL, 0; }
int hipLaunchKernel(const void *kernel) { return kernel ? 98 : 1; }
const char *hipGetErrorString(int error) { return error ? "an error" : "no error"; }
void **__hipRegisterFatBinary(const void *data) { return (void **)data; }
void __hipRegisterFunction(void **modules) { (void)modules; }
