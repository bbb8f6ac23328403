/* A kernel that writes outside its buffer because not all work-items reach a barrier ("barrier"), or because of its size ("size");
 * "right": all is well. PoCL lets the first work-item of a group decide for all: here it skips the branch. */
#include "../../detectors/programs/common.h"

enum { ITEMS = 64 };
static const char text[] =
    "kernel void turn(global float *data, local int *place, int first) {\n"
    "    int i = get_local_id(0), last = get_local_size(0) - 1;\n"
    "    place[i] = 65 + 8 * i;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (i >= first) {\n"
    "        place[last - i] = last - i;\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    data[place[i]] = i;\n"
    "}\n"
    "kernel void fill(global float *data, local int *place, int more) {\n"
    "    place[get_local_id(0)] = get_local_id(0) + more;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    data[place[get_local_id(0)]] = 1;\n"
    "}\n";

int main(int argc, char **argv)
{
    size_t count = ITEMS;
    open_device(argc, argv);
    program = build(text);
    cl_kernel kernel = make_kernel(is("size") ? "fill" : "turn");
    cl_mem data = filled_buffer(ITEMS * 4);
    set_mem(kernel, 0, data);
    set(kernel, 1, ITEMS * 4, NULL);
    set_int(kernel, 2, is("barrier") ? 24 : is("size") ? 2 : 0);
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, &count, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    read_back(data, ITEMS * 4);
    return finish();
}
