/* Contexts, devices and captures.
 *
 * Every record carries the number of the context it was made in; note_context says which context and device a number
 * is. The driver is asked once after each change of the thread's context, not at every call. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "cuda/crumbs.h"
#include "cuda/hooks.h"
#include "cuda/watch.h"
#include "driver/captures.h"

enum { CONTEXTS = GDX_CU_CRUMB_CONTEXTS - 1, DEVICES = 64, TEXT = 256 };

__thread struct gdx_cu_thread gdx_cu_thread __attribute__((tls_model("initial-exec")));
_Atomic int gdx_cu_captures GDX_HOT_DATA;
struct gdx_cu_launch gdx_cu_launch GDX_HOT_DATA;  /* here, because the table of crumbs would lie between them */
static struct gdx_captures captures = { .count = &gdx_cu_captures };

static struct { _Atomic uintptr_t context, green; _Atomic uint32_t noted; } contexts[CONTEXTS];
static _Atomic uint32_t devices_noted[DEVICES];  /* by generation: a forked child has a trace of its own */

/* ---- devices ---- */

static uint64_t attribute(CUdevice device, CUdevice_attribute what)
{
    int value = 0;
    if (!gdx_cu_next.cuDeviceGetAttribute || gdx_cu_next.cuDeviceGetAttribute(&value, what, device) != CUDA_SUCCESS)
        return 0;
    return (uint64_t)value;
}

/* CUDA C++ Programming Guide, "Kernel parameters": 4 KB; 32764 bytes from compute capability 7.0 and CUDA 12.1 on. */
static uint64_t parameter_bytes(CUdevice device, int driver)
{
    return driver >= 12010 && attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= 7 ? 32764 : 4096;
}

/* The order is that of `numbers` of note_device in schema/events.toml. */
static void note_device(CUdevice device)
{
    char name[TEXT] = "", version[TEXT] = "";
    int driver = 0;
    size_t memory = 0;
    if (gdx_cu_next.cuDeviceGetName)
        gdx_cu_next.cuDeviceGetName(name, sizeof name, device);
    if (gdx_cu_next.cuDeviceTotalMem_v2)
        gdx_cu_next.cuDeviceTotalMem_v2(&memory, device);
    if (gdx_cu_next.cuDriverGetVersion)
        gdx_cu_next.cuDriverGetVersion(&driver);
    snprintf(version, sizeof version, "CUDA driver API %d.%d", driver / 1000, driver % 1000 / 10);
#define ATTRIBUTE(what) attribute(device, CU_DEVICE_ATTRIBUTE_##what)
    const uint64_t words[] = {
        (uint64_t)device, 4 /* a GPU, in the words of OpenCL's device types */, 64, ATTRIBUTE(MAX_THREADS_PER_BLOCK),
        ATTRIBUTE(MULTIPROCESSOR_COUNT), ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK), memory, 0, 0,
    };
    const uint64_t numbers[] = {
        ATTRIBUTE(MAX_BLOCK_DIM_X), ATTRIBUTE(MAX_BLOCK_DIM_Y), ATTRIBUTE(MAX_BLOCK_DIM_Z),
        parameter_bytes(device, driver),
        ATTRIBUTE(MAX_GRID_DIM_X), ATTRIBUTE(MAX_GRID_DIM_Y), ATTRIBUTE(MAX_GRID_DIM_Z),
        ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK), ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        ATTRIBUTE(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR), ATTRIBUTE(RESERVED_SHARED_MEMORY_PER_BLOCK),
        ATTRIBUTE(MAX_REGISTERS_PER_BLOCK), ATTRIBUTE(MAX_REGISTERS_PER_MULTIPROCESSOR), ATTRIBUTE(WARP_SIZE),
        ATTRIBUTE(MAX_THREADS_PER_MULTIPROCESSOR), ATTRIBUTE(MAX_BLOCKS_PER_MULTIPROCESSOR),
        ATTRIBUTE(COMPUTE_CAPABILITY_MAJOR), ATTRIBUTE(COMPUTE_CAPABILITY_MINOR), ATTRIBUTE(COOPERATIVE_LAUNCH),
        ATTRIBUTE(CLUSTER_LAUNCH), (uint64_t)driver, ATTRIBUTE(TOTAL_CONSTANT_MEMORY), ATTRIBUTE(MANAGED_MEMORY),
        ATTRIBUTE(CONCURRENT_MANAGED_ACCESS), ATTRIBUTE(PAGEABLE_MEMORY_ACCESS), ATTRIBUTE(UNIFIED_ADDRESSING),
        ATTRIBUTE(MEMORY_POOLS_SUPPORTED), ATTRIBUTE(KERNEL_EXEC_TIMEOUT), ATTRIBUTE(ECC_ENABLED),
    };
#undef ATTRIBUTE
    gdx_note(GDX_CALL_note_device, words, 9, (struct gdx_text){ name, strnlen(name, sizeof name) },
             (struct gdx_text){ version, strlen(version) }, numbers, sizeof numbers / sizeof *numbers);
}

static void describe_device(CUdevice device, uint32_t generation)
{
    if (device < 0 || device >= DEVICES || atomic_exchange(&devices_noted[device], generation) == generation)
        return;
    note_device(device);
}

int gdx_cu_current_device(void)
{
    CUdevice device = -1;
    if (!gdx_cu_next.cuCtxGetDevice || gdx_cu_next.cuCtxGetDevice(&device) != CUDA_SUCCESS)
        return -1;
    return device;
}

/* ---- the thread's context ---- */

/* The number of a context, from 1; 0 when there are too many. */
static uint32_t number_of(CUcontext context)
{
    uintptr_t key = (uintptr_t)context;
    for (uint32_t i = 0; i < CONTEXTS; i++) {
        uintptr_t here = 0;
        if (atomic_compare_exchange_strong(&contexts[i].context, &here, key) || here == key)
            return i + 1;
    }
    return 0;
}

static void note_context(uint32_t number, CUcontext context, uint32_t generation)
{
    if (atomic_exchange(&contexts[number - 1].noted, generation) == generation)
        return;
    int device = gdx_cu_current_device();
    const uint64_t words[] = { number, GDX_CU_WORD(context), (uint64_t)(int64_t)device };
    gdx_note(GDX_CALL_note_context, words, 3, (struct gdx_text){ 0 }, (struct gdx_text){ 0 }, NULL, 0);
    describe_device(device, generation);
}

void gdx_cu_learn_context(void)
{
    CUcontext now = NULL;
    struct gdx_lane *lane = gdx_lane();
    if (!lane || lane->busy || !gdx_cu_next.cuCtxGetCurrent)
        return;
    if (gdx_cu_next.cuCtxGetCurrent(&now) != CUDA_SUCCESS || !now)
        return;
    uint32_t number = number_of(now);
    gdx_cu_thread.generation = lane->generation;
    gdx_cu_thread.context = number;
    if (number)
        note_context(number, now, lane->generation);
}

static void context_changed(void)
{
    gdx_cu_thread.context = 0;
}

/* A context of this address is new, whatever had the address before. */
static void context_made(CUresult status, const CUcontext *context, CUdevice device)
{
    struct gdx_lane *lane = gdx_lane();
    context_changed();
    if (status != CUDA_SUCCESS || !context || !lane)
        return;
    for (uint32_t i = 0; i < CONTEXTS; i++)
        if (atomic_load(&contexts[i].context) == (uintptr_t)*context) {
            atomic_store(&contexts[i].noted, 0);
            gdx_cu_crumbs_forget(i + 1);
        }
    describe_device(device, lane->generation);
}

void gdx_cu_after_cuInit(CUresult status, unsigned int flags)
{
    (void)status, (void)flags;
    gdx_entered(GDX_ENTRY_CUDA);
}

void gdx_cu_after_cuCtxCreate_v2(CUresult status, CUcontext *result, unsigned int flags, CUdevice device)
{
    (void)flags;
    context_made(status, result, device);
}

void gdx_cu_after_cuCtxCreate_v3(CUresult status, CUcontext *result, CUexecAffinityParam *affinity, int affinity_count,
                                 unsigned int flags, CUdevice device)
{
    (void)affinity, (void)affinity_count, (void)flags;
    context_made(status, result, device);
}

void gdx_cu_after_cuCtxCreate_v4(CUresult status, CUcontext *result, CUctxCreateParams *params, unsigned int flags,
                                 CUdevice device)
{
    (void)params, (void)flags;
    context_made(status, result, device);
}

/* Retaining makes a primary context only the first time; later it gives the same one, which needs no new note. */
void gdx_cu_after_cuDevicePrimaryCtxRetain(CUresult status, CUcontext *result, CUdevice device)
{
    struct gdx_lane *lane = gdx_lane();
    (void)result;
    if (status == CUDA_SUCCESS && lane)
        describe_device(device, lane->generation);
}

/* Only the last release ends a primary context. */
static bool is_active(CUdevice device)
{
    unsigned int flags;
    int active = 0;
    return gdx_cu_driver.cuDevicePrimaryCtxGetState
        && gdx_cu_driver.cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && active;
}

void gdx_cu_after_cuDevicePrimaryCtxRelease_v2(CUresult status, CUdevice device)
{
    context_changed();
    if (status == CUDA_SUCCESS && !is_active(device))
        gdx_cu_crumbs_forget_device(device);
    gdx_cu_watch_forget_inactive(device);
}

void gdx_cu_before_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    gdx_captures_forget(&captures, gdx_cu_thread.context);
    context_changed();
    gdx_cu_crumbs_forget_device(device);
    gdx_forget_functions(GDX_CU_FUNCTION);
    gdx_cu_watch_forget(NULL);
}

void gdx_cu_before_cuCtxDestroy_v2(CUcontext context)
{
    for (uint32_t i = 0; i < CONTEXTS; i++)
        if (atomic_load(&contexts[i].context) == (uintptr_t)context)
            gdx_cu_crumbs_forget(i + 1);
    gdx_forget_functions(GDX_CU_FUNCTION);
    gdx_cu_watch_forget(context);
}

void gdx_cu_after_cuCtxDestroy_v2(CUresult status, CUcontext context)
{
    if (status == CUDA_SUCCESS && context)
        gdx_captures_forget(&captures, number_of(context));
    context_changed();
}

/* The context that a green context is used as goes with it, and the next one may have the same address. */
void gdx_cu_after_cuCtxFromGreenCtx(CUresult status, CUcontext *result, CUgreenCtx green)
{
    uint32_t number = status == CUDA_SUCCESS && result ? number_of(*result) : 0;
    if (number)
        atomic_store(&contexts[number - 1].green, GDX_CU_WORD(green));
}

void gdx_cu_before_cuGreenCtxDestroy(CUgreenCtx green)
{
    for (uint32_t i = 0; green && i < CONTEXTS; i++)
        if (atomic_load(&contexts[i].green) == GDX_CU_WORD(green)) {
            atomic_store(&contexts[i].green, 0);
            atomic_store(&contexts[i].noted, 0);
            gdx_cu_crumbs_forget(i + 1);
        }
    context_changed();
}

void gdx_cu_after_cuCtxDetach(CUresult status, CUcontext context)
{
    (void)status, (void)context;
    context_changed();
}

void gdx_cu_after_cuCtxPushCurrent_v2(CUresult status, CUcontext context)
{
    (void)status, (void)context;
    context_changed();
}

void gdx_cu_after_cuCtxPopCurrent_v2(CUresult status, CUcontext *context)
{
    (void)status, (void)context;
    context_changed();
}

void gdx_cu_after_cuCtxSetCurrent(CUresult status, CUcontext context)
{
    (void)status, (void)context;
    context_changed();
}

/* ---- captures ---- */

/* Asked only while some stream of the process is being captured, and only about streams that the driver accepted. The
 * legacy default stream cannot be captured; asking about it is an error of its own. */
bool gdx_cu_is_captured(CUstream queue, bool own_thread)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    uint64_t handle = gdx_cu_queue(queue, own_thread);
    if (handle < CU_STREAM_PER_THREAD || !gdx_cu_next.cuStreamIsCapturing)
        return false;
    if (gdx_cu_next.cuStreamIsCapturing((CUstream)(uintptr_t)handle, &status) != CUDA_SUCCESS)
        return false;
    return status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/* The legacy default stream cannot be captured, so a null handle is a thread's own. */
static uint64_t captured_stream(CUstream queue)
{
    return GDX_CU_WORD(queue) == CU_STREAM_PER_THREAD ? 0 : GDX_CU_WORD(queue);
}

static void capture_begun(CUresult status, CUstream queue)
{
    if (status == CUDA_SUCCESS)
        gdx_capture_begun(&captures, captured_stream(queue), gdx_cu_thread.context);
}

void gdx_cu_after_cuStreamBeginCapture(CUresult status, CUstream queue)
{
    capture_begun(status, queue);
}

void gdx_cu_after_cuStreamBeginCapture_v2(CUresult status, CUstream queue, CUstreamCaptureMode mode)
{
    (void)mode;
    capture_begun(status, queue);
}

void gdx_cu_after_cuStreamBeginCaptureToGraph(CUresult status, CUstream queue, CUgraph graph, const CUgraphNode *after,
                                              const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode)
{
    (void)graph, (void)after, (void)edges, (void)count, (void)mode;
    capture_begun(status, queue);
}

/* These answers may leave a capture running; all others end it. */
static bool may_go_on(CUresult status)
{
    return status == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED || status == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
        || status == CUDA_ERROR_INVALID_VALUE || status == CUDA_ERROR_INVALID_HANDLE;
}

void gdx_cu_after_cuStreamEndCapture(CUresult status, CUstream queue, CUgraph *result)
{
    (void)result;
    if (!may_go_on(status))
        gdx_capture_over(&captures, captured_stream(queue), true);
    else if (status == CUDA_ERROR_INVALID_VALUE && GDX_CU_WORD(queue) > CU_STREAM_PER_THREAD && !gdx_cu_is_captured(queue, false))
        gdx_capture_over(&captures, captured_stream(queue), false);
}

/* A capture that is given up together with its stream. */
void gdx_cu_after_cuStreamDestroy_v2(CUresult status, CUstream queue)
{
    if (status == CUDA_SUCCESS && GDX_CU_WORD(queue) > CU_STREAM_PER_THREAD)
        gdx_capture_over(&captures, captured_stream(queue), false);
}
