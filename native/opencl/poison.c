/* Fresh OpenCL memory with a pattern in it (native/core/poison.h).
 *
 * The program gets its memory when the fill has ended, and not before: a fill that came later would overwrite what the program
 * wrote. Where the device has no time for it, the memory is made again without a fill. */
#define _GNU_SOURCE
#include <errno.h>

#include "core/capture.h"
#include "opencl/checks.h"
#include "opencl/own.h"

static cl_int fill_buffer(cl_command_queue queue, cl_mem mem, size_t size, cl_event *event)
{
    uint16_t pattern = gdx_poison();
    size_t even = size & ~(size_t)1;
    cl_int status = CL_SUCCESS;
    if (even != size)  /* the queue keeps the order, so that the event of the other one stands for both */
        status = gdx_cl_next.clEnqueueFillBuffer(queue, mem, &pattern, 1, even, 1, 0, NULL, even ? NULL : event);
    if (status == CL_SUCCESS && even)
        status = gdx_cl_next.clEnqueueFillBuffer(queue, mem, &pattern, sizeof pattern, 0, even, 0, NULL, event);
    return status;
}

bool gdx_cl_poison_buffer(cl_context context, cl_mem mem, size_t size, const char **why, bool *spoiled)
{
    cl_event event;
    *spoiled = false;
    *why = gdx_cl_in_callback() ? "made in a callback" : "a driver that cannot fill buffers";
    if (gdx_cl_in_callback() || !gdx_cl_next.clEnqueueFillBuffer)
        return false;
    cl_command_queue queue = gdx_cl_own_hold(context, true);
    *why = "a context without a queue of ours";
    if (!queue)
        return false;
    *why = "the device did not fill it in time";
    bool done = fill_buffer(queue, mem, size, &event) == CL_SUCCESS
        && gdx_cl_own_ended(context, queue, event, GDX_CL_PATIENCE_MS);
    *spoiled = !done;
    gdx_cl_own_drop(context);
    return done;
}

/* Memory that the host can use without mapping it is filled by the host; else the device does it. */
static const char *fill_svm(cl_context context, cl_svm_mem_flags flags, void *memory, size_t size, bool *spoiled)
{
    uint16_t pattern = gdx_poison();
    cl_event event;
    if (flags & CL_MEM_SVM_FINE_GRAIN_BUFFER) {
        gdx_poison_fill(memory, size);
        return NULL;
    }
    cl_command_queue queue = gdx_cl_in_callback() || size < sizeof pattern ? NULL : gdx_cl_own_hold(context, true);
    if (!queue)
        return "a context without a queue of ours";
    bool done = gdx_cl_next.clEnqueueSVMMemFill(queue, memory, &pattern, sizeof pattern, size & ~(size_t)1, 0, NULL, &event)
            == CL_SUCCESS
        && gdx_cl_own_ended(context, queue, event, GDX_CL_PATIENCE_MS);
    *spoiled = !done;
    gdx_cl_own_drop(context);
    return done ? NULL : "the device did not fill it in time";
}

/* Spoiled memory is left to whoever still writes it. */
void *gdx_cl_poison_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
    void *made = gdx_cl_next.clSVMAlloc(context, flags, size, alignment);
    int saved = errno;
    bool spoiled = false;
    if (gdx_checks() || gdx_capturing())
        gdx_cl_check_svm_made(made, size);
    if (GDX_LIKELY(!gdx_poisons()) || !made || !gdx_on())
        return made;
    const char *why = fill_svm(context, flags, made, size, &spoiled);
    if (spoiled)
        made = gdx_cl_next.clSVMAlloc(context, flags, size, alignment);
    if (why)
        gdx_cl_not_poisoned(made, size, why);
    else
        gdx_poison_note((uint64_t)(uintptr_t)made, size);
    errno = saved;
    return made;
}
