/* A kernel that crashes on a CPU device. "far": its index is beyond every buffer; "local": the index is that of an array in local memory;
 * "gone": it is small, but the memory is gone; "right": the program is correct. */
/* 50, and a buffer at a low address: 400 GB further is still an address that memory can have, whatever the layout of the process. Beyond, a scatter
 * of AVX-512 has its indexes in registers that are not kept. */
#include "common.h"
#include <sys/mman.h>

static const char text[] =
    "kernel void spread(global const int *key, global int *out, int n) {\n"
    "    int i = get_global_id(0);\n"
    "    out[(long)key[i] * n] = i;\n"
    "}\n";
static const char with_local[] =
    "kernel void spread(global const int *key, global int *out, int n) {\n"
    "    local int t[64];\n"
    "    int i = get_global_id(0);\n"
    "    t[(long)key[i] * n] = i;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    out[i] = t[i];\n"
    "}\n";

int main(int argc, char **argv)
{
    static int keys[64];
    open_device(argc, argv);
    for (int i = 0; i < 64; i++)
        keys[i] = is("right") || is("gone") ? i : 2000000000;
    void *memory = mmap((void *)0x200000000000, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    program = build(is("local") ? with_local : text);
    cl_kernel kernel = make_kernel("spread");
    cl_mem key = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof keys, keys, NULL);
    cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, BYTES, memory, NULL);
    set_mem(kernel, 0, key);
    set_mem(kernel, 1, out);
    set_int(kernel, 2, is("right") || is("gone") ? 4 : 50);
    if (is("gone"))
        munmap(memory, BYTES);
    size_t items = 64;
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clFinish(queue), "clFinish");
    return 0;
}
