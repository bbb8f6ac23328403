/* Buffers and launches that small functions of the program make for their callers. Buffers of "decides" come from a function that two
 * lines call, but that decides the size itself; those of "direct" from no function. */
#include "common.h"

static __attribute__((noinline)) cl_mem outlined(size_t bytes)
{
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL); /* outlined: wrapper */
    return bytes ? made : NULL;
}

static __attribute__((noinline)) cl_mem around(size_t count)
{
    cl_mem made = outlined(count * 4);
    return count ? made : NULL;
}

static inline __attribute__((always_inline)) cl_mem inlined(size_t bytes)
{
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL); /* inlined: wrapper */
    return bytes ? made : NULL;
}

static __attribute__((noinline)) cl_mem decides(void)
{
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, NULL); /* decides: line */
    return made == (cl_mem)context ? NULL : made;
}

static __attribute__((noinline)) cl_int go(cl_kernel kernel, size_t items)
{
    cl_int status = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL); /* launches: wrapper */
    return status ? status : clFinish(queue);
}

int main(int argc, char **argv)
{
    start(argc, argv);
    cl_mem first = NULL, second = NULL;
    if (is("outlined")) {
        first = outlined(1000); second = outlined(2000); /* outlined: line */
    } else if (is("around")) {
        first = around(1000);
        second = around(2000); /* around: line */
    } else if (is("inlined")) {
        first = inlined(1000);
        second = inlined(2000); /* inlined: line */
    } else if (is("decides")) {
        first = decides();
        second = decides();
    } else if (is("direct")) {
        first = clCreateBuffer(context, CL_MEM_READ_WRITE, 1000, NULL, NULL);
        second = clCreateBuffer(context, CL_MEM_READ_WRITE, 2000, NULL, NULL); /* direct: line */
    } else {
        cl_kernel one = make_kernel("far_away"), scale = make_kernel("scale");
        first = second = filled_buffer(BYTES);
        set_mem(one, 0, first);
        set(one, 1, 8, &(cl_ulong){ 0 });
        set_mem(scale, 0, first);
        set(scale, 1, 4, &(float){ 2 });
        set_int(scale, 2, COUNT);
        check(go(one, 1), "far_away");
        check(go(scale, 64), "scale"); /* launches: line */
    }
    return !first || !second;
}
