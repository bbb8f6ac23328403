/* See crumbs.h. */
#define _GNU_SOURCE
#include "cuda/crumbs.h"

#include <errno.h>

/* <cuda.h>: CUstreamWriteValue_flags, CUmemHostRegister_flags, CUdevice_attribute */
enum { NO_MEMORY_BARRIER = 1, REGISTER_DEVICEMAP = 2, CAN_USE_STREAM_MEM_OPS_V1 = 92 };

_Atomic(struct gdx_crumb_field *) gdx_cu_crumb_fields[GDX_CU_CRUMB_CONTEXTS] GDX_HOT_DATA;
static _Atomic CUdevice device_of[GDX_CU_CRUMB_CONTEXTS];
static struct gdx_crumb_field none;  /* of contexts that get none */

/* ---- what the driver does ---- */

static bool old_writes_work(void)
{
    int can = 0;
    CUdevice device = gdx_cu_current_device();
    return gdx_cu_driver.cuStreamWriteValue32 && gdx_cu_driver.cuDeviceGetAttribute && device >= 0
        && gdx_cu_driver.cuDeviceGetAttribute(&can, CAN_USE_STREAM_MEM_OPS_V1, device) == CUDA_SUCCESS && can;
}

static const char *missing(void)
{
    if (!gdx_cu_driver.cuMemHostRegister_v2 || !gdx_cu_driver.cuMemHostGetDevicePointer_v2)
        return "the driver has no cuMemHostRegister";
    if (!gdx_cu_driver.cuStreamWriteValue32_v2 && !old_writes_work())
        return "the driver or the device has no stream memory operations (cuStreamWriteValue32)";
    return NULL;
}

static const char *attach(void *memory, size_t bytes, uint64_t *device)
{
    CUdeviceptr address = 0;
    if (gdx_cu_driver.cuMemHostRegister_v2(memory, bytes, REGISTER_DEVICEMAP) != CUDA_SUCCESS)
        return "the driver did not take memory of ours (cuMemHostRegister)";
    if (gdx_cu_driver.cuMemHostGetDevicePointer_v2(&address, memory, 0) != CUDA_SUCCESS) {
        if (gdx_cu_driver.cuMemHostUnregister)
            gdx_cu_driver.cuMemHostUnregister(memory);
        return "the device cannot reach memory of the host (cuMemHostGetDevicePointer)";
    }
    *device = address;
    return NULL;
}

static bool is_over(CUresult status)
{
    return gdx_cu_of_earlier_work(status) || status == CUDA_ERROR_DEINITIALIZED
        || status == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static enum gdx_crumb_answer write_value(const struct gdx_crumb *row, uint64_t device, uint32_t value)
{
    CUstream stream = (CUstream)(uintptr_t)row->queue;
    CUresult status = gdx_cu_driver.cuStreamWriteValue32_v2
        ? gdx_cu_driver.cuStreamWriteValue32_v2(stream, device, value, 0)  /* v2 knows no flag */
        : gdx_cu_driver.cuStreamWriteValue32(stream, device, value, NO_MEMORY_BARRIER);
    return status == CUDA_SUCCESS ? GDX_CRUMB_TAKEN : is_over(status) ? GDX_CRUMB_BROKEN : GDX_CRUMB_REFUSED;
}

static const struct gdx_crumb_api api = { attach, write_value, "the driver refused cuStreamWriteValue32" };

/* ---- contexts ---- */

/* Two threads may come here at once for one context: the second's memory is not used, and goes with the context. */
GDX_COLD void gdx_cu_crumbs_open(void)
{
    if (!gdx_cu_thread.context)
        gdx_cu_learn_context();
    uint32_t context = gdx_cu_thread.context;
    if (!context || atomic_load(&gdx_cu_crumb_fields[context]) || atomic_load(&gdx_cu_captures) > 0 || !gdx_on())
        return;
    int saved = errno;
    struct gdx_crumb_field *undecided = NULL, *field = &none;
    const char *why = missing();
    if (why)
        gdx_crumbs_none(context, why);
    else
        field = gdx_crumbs_open(&api, context);
    device_of[context] = gdx_cu_current_device();
    atomic_compare_exchange_strong(&gdx_cu_crumb_fields[context], &undecided, field ? field : &none);
    errno = saved;
}

void gdx_cu_crumbs_forget(uint32_t context)
{
    atomic_store(&gdx_cu_crumb_fields[context], NULL);
}

void gdx_cu_crumbs_forget_all(void)
{
    for (uint32_t i = 1; i < GDX_CU_CRUMB_CONTEXTS; i++)
        gdx_cu_crumbs_forget(i);
}

void gdx_cu_crumbs_forget_device(CUdevice device)
{
    for (uint32_t i = 1; i < GDX_CU_CRUMB_CONTEXTS; i++)
        if (atomic_load(&gdx_cu_crumb_fields[i]) && device_of[i] == device)
            gdx_cu_crumbs_forget(i);
}

static struct gdx_crumb_field *current_field(void)
{
    struct gdx_crumb_field *field = atomic_load_explicit(&gdx_cu_crumb_fields[gdx_cu_thread.context], memory_order_acquire);
    return field == &none ? NULL : field;
}

void gdx_cu_crumbs_queue_leaves(CUstream queue)
{
    struct gdx_crumb_field *field = GDX_CU_WORD(queue) > CU_STREAM_PER_THREAD ? current_field() : NULL;
    if (field && gdx_on())
        gdx_crumbs_leave(field, GDX_CU_WORD(queue));
}

/* ---- behind a call ---- */

GDX_HOT void gdx_cu_crumbs_put(struct gdx_open *open, CUstream queue, bool own_thread)
{
    struct gdx_crumb_field *field = current_field();
    uint64_t handle = gdx_cu_queue(queue, own_thread);
    if (GDX_UNLIKELY(!field))
        return;
    if (GDX_UNLIKELY(atomic_load_explicit(&gdx_cu_captures, memory_order_relaxed) > 0)
        && (handle < CU_STREAM_PER_THREAD || gdx_cu_is_captured(queue, own_thread)))
        return;  /* work in the legacy stream depends on streams that may be captured */
    gdx_crumb(field, open, handle, handle == CU_STREAM_PER_THREAD);
}
