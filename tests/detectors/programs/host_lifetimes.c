/* Memory of the host that buffers, copies and kernels use: gone, too small, changed too early; and private arrays of kernels. */
#define _GNU_SOURCE
#include "common.h"

#include <signal.h>
#include <sys/mman.h>

enum { PAGE = 4096 };
static const char with_arrays[] =
    "kernel void large(global int *out, int n) {\n"
    "    int table[12582912];\n"
    "    for (int i = 0; i < n; i++) table[i * 4097 % 12582912] = i;\n"
    "    out[0] = table[n - 1];\n"
    "}\n"
    "kernel void small(global int *out, int n) {\n"
    "    int table[256];\n"
    "    for (int i = 0; i < 256; i++) table[i] = i + n;\n"
    "    out[0] = table[n & 255];\n"
    "}\n";

static float *pages(size_t bytes)
{
    float *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        exit(1);
    memset(made, 0, bytes);
    return made;
}

/* As if it were unmapped, but nothing else can be mapped in its place. */
static void take_away(void *first, size_t bytes)
{
    if (mprotect(first, bytes, PROT_NONE))
        exit(1);
}

static cl_mem buffer_on(float *host)
{
    cl_int status;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, BYTES, host, &status);
    check(status, "clCreateBuffer");
    return made;
}

static void copy_launched(cl_mem in, cl_mem out)
{
    cl_kernel copy = make_kernel("copy");
    set_mem(copy, 0, in);
    set_mem(copy, 1, out);
    set_int(copy, 2, COUNT);
    launch(copy, COUNT);
}

/* A buffer on memory that is unmapped before a launch uses it; or the crash has nothing to do with it. */
static int gone(void)
{
    float *host = pages(BYTES), *other = pages(BYTES);
    cl_mem in = buffer_on(host), out = filled_buffer(BYTES);
    check(clFinish(queue), "clFinish");
    if (is("unmapped"))
        take_away(host, BYTES);
    copy_launched(in, out);
    check(clFinish(queue), "clFinish");
    take_away(other, BYTES);
    if (is("another unmapped"))
        other[1] = 1;
    return finish();
}

/* Reads into memory that is one page short; or all of it is there, and a crash follows. */
static int too_small(void)
{
    char *host = (char *)pages(3 * PAGE);
    cl_mem from = filled_buffer(2 * PAGE);
    take_away(host + (is("short") ? PAGE : 2 * PAGE), PAGE);
    check(clEnqueueReadBuffer(queue, from, CL_TRUE, 0, 2 * PAGE, host, 0, NULL, NULL), "clEnqueueReadBuffer");
    host[2 * PAGE] = 1; /* past what was read */
    return finish();
}

/* The host writes to what a kernel reads: before the kernel is known to be complete, after, or in a map that began before the launch. */
static int changed(void)
{
    float *host = pages(BYTES), *result = pages(BYTES);
    cl_mem in = buffer_on(host), out = buffer_on(result);
    void *mapped = NULL;
    cl_int status = CL_SUCCESS;
    if (is("changed while mapped"))
        mapped = clEnqueueMapBuffer(queue, in, CL_TRUE, CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL, &status);
    check(status, "clEnqueueMapBuffer");
    copy_launched(in, out);
    if (is("changed late"))
        check(clFinish(queue), "clFinish");
    if (is("changed while mapped"))
        check(clEnqueueUnmapMemObject(queue, in, (host[0] = 99, mapped), 0, NULL, NULL), "clEnqueueUnmapMemObject");
    else if (!is("only the kernel writes"))
        host[0] = 99;
    check(clFinish(queue), "clFinish");
    host[1] = 98;
    return finish();
}

static void own_handler(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

/* The process dies without a word of the recorder: in a kernel that has no room for its array, or elsewhere. */
static int arrays(void)
{
    program = build(with_arrays);
    cl_kernel large = make_kernel("large"), small = make_kernel("small");
    cl_mem out = filled_buffer(BYTES);
    cl_kernel used = is("large array") ? large : small;
    signal(SIGSEGV, own_handler);
    set_mem(used, 0, out);
    set_int(used, 1, 1000);
    launch(used, 1);
    if (is("large array"))
        check(clFinish(queue), "clFinish");
    *(volatile int *)16 = 1;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strstr(argv[1], "array")) {
        open_device(argc, argv);
        return arrays();
    }
    start(argc, argv);
    if (strstr(mode, "unmapped"))
        return gone();
    return is("short") || is("long enough") ? too_small() : changed();
}
