/* See crumbs.h. */
#define _GNU_SOURCE
#include "hip/crumbs.h"

#include <errno.h>

/* hip_runtime_api.h: hipDeviceAttribute_t, hipHostRegister flags */
enum { CAN_USE_STREAM_WAIT_VALUE = 10013, HOST_REGISTER_MAPPED = 2 };

_Atomic(struct gdx_crumb_field *) gdx_hip_crumb_fields[GDX_HIP_CRUMB_DEVICES] GDX_HOT_DATA;
static struct gdx_crumb_field none;  /* of devices that get none */

static hipError_t quiet(hipError_t status)
{
    if (status != hipSuccess && gdx_hip_driver.hipGetLastError)
        gdx_hip_driver.hipGetLastError();
    return status;
}

static const char *missing(int device)
{
    int can = 0;
    if (!gdx_hip_driver.hipStreamWriteValue32 || !gdx_hip_driver.hipHostRegister || !gdx_hip_driver.hipHostGetDevicePointer)
        return "the runtime has no hipStreamWriteValue32";
    if (!gdx_hip_driver.hipDeviceGetAttribute
        || quiet(gdx_hip_driver.hipDeviceGetAttribute(&can, CAN_USE_STREAM_WAIT_VALUE, device)) != hipSuccess || !can)
        return "the device has no stream memory operations (hipDeviceAttributeCanUseStreamWaitValue)";
    return NULL;
}

static const char *attach(void *memory, size_t bytes, uint64_t *device)
{
    void *address = NULL;
    if (quiet(gdx_hip_driver.hipHostRegister(memory, bytes, HOST_REGISTER_MAPPED)) != hipSuccess)
        return "the runtime did not take memory of ours (hipHostRegister)";
    if (quiet(gdx_hip_driver.hipHostGetDevicePointer(&address, memory, 0)) != hipSuccess) {
        if (gdx_hip_driver.hipHostUnregister)
            quiet(gdx_hip_driver.hipHostUnregister(memory));
        return "the device cannot reach memory of the host (hipHostGetDevicePointer)";
    }
    *device = GDX_HIP_WORD(address);
    return NULL;
}

static enum gdx_crumb_answer write_value(const struct gdx_crumb *row, uint64_t device, uint32_t value)
{
    hipError_t status = quiet(
        gdx_hip_driver.hipStreamWriteValue32((hipStream_t)(uintptr_t)row->queue, (void *)(uintptr_t)device, value, 0));
    bool over = status == hipErrorIllegalAddress || status == hipErrorLaunchFailure || status == hipErrorUnknown;
    return status == hipSuccess ? GDX_CRUMB_TAKEN : over ? GDX_CRUMB_BROKEN : GDX_CRUMB_REFUSED;
}

static const struct gdx_crumb_api api = { attach, write_value, "the runtime refused hipStreamWriteValue32" };

GDX_COLD void gdx_hip_crumbs_open(void)
{
    if (!gdx_hip_thread.noted)
        gdx_hip_learn_device();
    uint32_t context = gdx_hip_thread.context;
    if (!context || atomic_load(&gdx_hip_captures) > 0 || !gdx_on())
        return;
    int saved = errno;
    struct gdx_crumb_field *undecided = NULL, *field = &none;
    const char *why = missing((int)context - 1);
    if (why)
        gdx_crumbs_none(context, why);
    else
        field = gdx_crumbs_open(&api, context);
    atomic_compare_exchange_strong(&gdx_hip_crumb_fields[context], &undecided, field ? field : &none);
    errno = saved;
}

void gdx_hip_crumbs_forget(void)
{
    for (int i = 0; i < GDX_HIP_CRUMB_DEVICES; i++)
        atomic_store(&gdx_hip_crumb_fields[i], NULL);
}

static struct gdx_crumb_field *current_field(void)
{
    uint32_t context = gdx_hip_thread.context;
    struct gdx_crumb_field *field = context < GDX_HIP_CRUMB_DEVICES
        ? atomic_load_explicit(&gdx_hip_crumb_fields[context], memory_order_acquire) : NULL;
    return field == &none ? NULL : field;
}

void gdx_hip_crumbs_queue_leaves(hipStream_t queue)
{
    struct gdx_crumb_field *field = GDX_HIP_WORD(queue) > hipStreamPerThread ? current_field() : NULL;
    if (field && gdx_on())
        gdx_crumbs_leave(field, GDX_HIP_WORD(queue));
}

GDX_HOT void gdx_hip_crumbs_put(struct gdx_open *open, hipStream_t queue, bool own_thread)
{
    struct gdx_crumb_field *field = current_field();
    uint64_t handle = gdx_hip_queue(queue, own_thread);
    if (GDX_UNLIKELY(!field))
        return;
    if (GDX_UNLIKELY(atomic_load_explicit(&gdx_hip_captures, memory_order_relaxed) > 0)
        && (handle < hipStreamPerThread || gdx_hip_is_captured(queue, own_thread)))
        return;  /* work in the default stream depends on streams that may be captured */
    gdx_crumb(field, open, handle, handle == hipStreamPerThread);
}
