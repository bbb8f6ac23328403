/* A library of small functions around the API, as C++ bindings are: no line of it is the program's. */
static __attribute__((noinline)) cl_mem bound_buffer(cl_context context, size_t bytes)
{
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL);
    __asm__ volatile("" ::: "memory"); /* no tail call */
    return made;
}

static inline __attribute__((always_inline)) cl_mem bound_inlined(cl_context context, size_t bytes)
{
    return bound_buffer(context, bytes);
}
