/* The device, its queue and the kernels of this program, with every error code checked. */
#ifndef GPU_H
#define GPU_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stddef.h>

enum kernel_id { SET_ROWS_F32, SET_ROWS_F16, SET_ROWS_Q4_0, SPLIT_Q4_0, RESTORE_Q4_0, COPY_BYTES, KERNELS };

struct gpu {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernels[KERNELS];
};

void check(cl_int status, const char *what);
void gpu_open(struct gpu *gpu);
void gpu_close(struct gpu *gpu);
cl_mem gpu_buffer(struct gpu *gpu, size_t bytes, const void *contents);
void gpu_set(cl_kernel kernel, cl_uint index, size_t size, const void *value);
void gpu_launch(struct gpu *gpu, cl_kernel kernel, cl_uint dimensions, const size_t *global, const size_t *local);
void gpu_read(struct gpu *gpu, cl_mem buffer, void *to, size_t bytes);

#endif
