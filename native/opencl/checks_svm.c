/* Shared virtual memory that kernels are given by its address: how large it is (checks.h).
 *
 * Only the address that clSVMAlloc gave says where memory begins. A pointer into the middle may be used with negative
 * indexes, so its bounds are not checked. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>

#include "core/capture.h"
#include "opencl/checks.h"

enum { BLOCKS = 1 << 10 };
struct block { const void *start; size_t bytes; };
static struct block blocks[BLOCKS];  /* with the lock held; a start of NULL: free */

void gdx_cl_check_svm_made(const void *memory, size_t bytes)
{
    struct gdx_calm calm;
    if (!memory || !gdx_on())
        return;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    for (int i = 0; i < BLOCKS; i++)
        if (!blocks[i].start || blocks[i].start == memory) {
            blocks[i] = (struct block){ memory, bytes };
            break;
        }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
}

static void forget(const void *memory)
{
    struct gdx_calm calm;
    if (!memory || !gdx_on())
        return;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].start == memory)
            blocks[i] = (struct block){ 0 };
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
}

uint64_t gdx_cl_check_svm_size(const void *memory)
{
    struct gdx_calm calm;
    uint64_t bytes = UINT64_MAX;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    for (int i = 0; memory && i < BLOCKS; i++)
        if (blocks[i].start == memory)
            bytes = blocks[i].bytes;
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    return bytes;
}

uint64_t gdx_cl_svm_block(const void *pointer, const void **start)
{
    struct gdx_calm calm;
    uint64_t bytes = 0;
    const char *at = pointer;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    for (int i = 0; i < BLOCKS && !bytes; i++)
        if (blocks[i].start && at >= (const char *)blocks[i].start && at < (const char *)blocks[i].start + blocks[i].bytes) {
            *start = blocks[i].start;
            bytes = blocks[i].bytes;
        }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    return bytes;
}

bool gdx_cl_svm_extent(uint64_t *low, uint64_t *top)
{
    struct gdx_calm calm;
    *low = UINT64_MAX;
    *top = 0;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    for (int i = 0; i < BLOCKS; i++) {
        uint64_t start = (uint64_t)(uintptr_t)blocks[i].start, end = start + blocks[i].bytes;
        if (!start)
            continue;
        *low = start < *low ? start : *low;
        *top = end > *top ? end : *top;
    }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    return *low < *top;
}

void gdx_cl_check_clSVMFree(cl_context context, void *svm)
{
    if (gdx_checks() || gdx_capturing())
        forget(svm);
    gdx_cl_next.clSVMFree(context, svm);
}

cl_int gdx_cl_check_clEnqueueSVMFree(cl_command_queue queue, cl_uint count, void **list, cl_svm_free_callback notify, void *data,
                                     cl_uint num_waits, const cl_event *waits, cl_event *event)
{
    for (cl_uint i = 0; (gdx_checks() || gdx_capturing()) && list && i < count; i++)
        forget(list[i]);  /* from now on its size is not known: it may be gone at any time */
    return gdx_cl_next.clEnqueueSVMFree(queue, count, list, notify, data, num_waits, waits, event);
}

/* Memory that a kernel reaches through pointers in memory is made known to ours, too. */
cl_int gdx_cl_check_clSetKernelExecInfo(cl_kernel kernel, cl_kernel_exec_info name, size_t size, const void *value)
{
    struct gdx_cl_checked plan;
    cl_int result = gdx_cl_next.clSetKernelExecInfo(kernel, name, size, value);
    int saved = errno;
    if (gdx_checks() && result == CL_SUCCESS && gdx_cl_checked_kernel(kernel, &plan)
        && gdx_cl_next.clSetKernelExecInfo(plan.kernel, name, size, value) != CL_SUCCESS)
        gdx_cl_check_gives_up(kernel, "the driver took execution information for the program's kernel but not for the checked one");
    errno = saved;
    return result;
}
