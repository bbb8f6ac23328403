/* A small numeric library on OpenCL: buffers, and kernels that it keeps by name. */
#ifndef LIBRARY_H
#define LIBRARY_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stddef.h>

enum { COUNT = 1024 };

void library_open(void);
void library_close(void);

cl_command_queue library_queue(void);
cl_mem library_buffer(size_t bytes);
void library_release(cl_mem buffer);
int library_live_buffers(void);

void library_write(cl_command_queue queue, cl_mem buffer, const void *from, size_t bytes);
void library_copy(cl_command_queue queue, cl_mem from, cl_mem to, size_t bytes);
void library_read(cl_command_queue queue, cl_mem buffer, void *to, size_t bytes);

/* out[i] = in[i] * scale + shift */
void library_affine(cl_command_queue queue, cl_mem in, cl_mem out, cl_float scale, cl_float shift);

#endif
