/* The thread's current device, what devices are, and captures. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "driver/captures.h"
#include "hip/hooks.h"

enum { DEVICES = 64, TEXT = 256, PROPERTIES = 4096 };

__thread struct gdx_hip_thread gdx_hip_thread __attribute__((tls_model("initial-exec"))) = { 1, 0 };
_Atomic int gdx_hip_captures GDX_HOT_DATA;
static struct gdx_captures captures = { .count = &gdx_hip_captures };
static _Atomic uint32_t devices_noted[DEVICES];  /* by generation: a forked child has a trace of its own */

/* ---- devices ---- */

static uint64_t attribute(int device, hipDeviceAttribute_t what)
{
    int value = 0;
    hipError_t status =
        gdx_hip_next.hipDeviceGetAttribute ? gdx_hip_next.hipDeviceGetAttribute(&value, what, device) : hipErrorUnknown;
    return status == hipSuccess && value > 0 ? (uint64_t)value : 0;
}

/* "gfx90a:sramecc+:xnack-" stands in the properties, whose layout differs between versions: it is looked for, behind the name. */
static const char *architecture(char *properties, size_t bytes, int device)
{
    memset(properties, 0, bytes);
    if (!gdx_hip_next.hipGetDeviceProperties
        || gdx_hip_next.hipGetDeviceProperties((hipDeviceProp_t *)properties, device) != hipSuccess)
        return "";
    properties[bytes - 1] = 0;
    const char *found = memmem(properties + TEXT, bytes - TEXT, "gfx", 3);
    return found ? found : "";
}

static uint64_t digits(const char *target)
{
    uint64_t number = 0;
    for (const char *at = *target ? target + 3 : target; *at && *at != ':'; at++)
        number = number << 4 | (uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
    return number;
}

static uint64_t features(const char *target)
{
    static const char *const words[] = { ":sramecc-", ":sramecc+", ":xnack-", ":xnack+" };
    uint64_t found = 0;
    for (int i = 0; i < 4; i++)
        found |= (uint64_t)(strstr(target, words[i]) != NULL) << i;
    return found;
}

/* hip_version.h: HIP_VERSION = major * 10000000 + minor * 100000 + patch */
static int version_of(char *text, size_t room)
{
    int runtime = 0;
    if (gdx_hip_next.hipRuntimeGetVersion)
        gdx_hip_next.hipRuntimeGetVersion(&runtime);
    snprintf(text, room, "HIP %d.%d", runtime / 10000000, runtime / 100000 % 100);
    return runtime;
}

void gdx_hip_describe(int device, char *text, size_t room)
{
    char name[TEXT] = "", version[TEXT], properties[PROPERTIES];
    if (gdx_hip_next.hipDeviceGetName)
        gdx_hip_next.hipDeviceGetName(name, sizeof name, device);
    version_of(version, sizeof version);
    snprintf(text, room, "%s\n%.*s\n%s", name, TEXT, architecture(properties, sizeof properties, device), version);
}

/* The order is that of `numbers` of note_device in schema/events.toml. Only what every version answers is asked: a
 * question that fails would be the error that the program is told. */
static void note_device(int device)
{
    char name[TEXT] = "", version[TEXT] = "", properties[PROPERTIES];
    size_t memory = 0;
    if (gdx_hip_next.hipDeviceGetName)
        gdx_hip_next.hipDeviceGetName(name, sizeof name, device);
    if (gdx_hip_next.hipDeviceTotalMem)
        gdx_hip_next.hipDeviceTotalMem(&memory, device);
    int runtime = version_of(version, sizeof version);
    strcat(version, gdx_is_over(&gdx_hip_api, "libOpenCL") ? " over OpenCL" : gdx_is_over(&gdx_hip_api, "libze_loader") ? " over Level Zero" : "");
    const char *target = architecture(properties, sizeof properties, device);
#define ATTRIBUTE(what) attribute(device, hipDeviceAttribute##what)
    const uint64_t words[] = {
        (uint64_t)device, 4 /* a GPU, in the words of OpenCL's device types */, 64, ATTRIBUTE(MaxThreadsPerBlock),
        ATTRIBUTE(MultiprocessorCount), ATTRIBUTE(MaxSharedMemoryPerBlock), memory, 0, 0,
    };
    const uint64_t numbers[] = {
        ATTRIBUTE(MaxBlockDimX), ATTRIBUTE(MaxBlockDimY), ATTRIBUTE(MaxBlockDimZ), 0, ATTRIBUTE(MaxGridDimX),
        ATTRIBUTE(MaxGridDimY), ATTRIBUTE(MaxGridDimZ), ATTRIBUTE(MaxSharedMemoryPerBlock), 0, 0, 0,
        ATTRIBUTE(MaxRegistersPerBlock), 0, ATTRIBUTE(WarpSize), ATTRIBUTE(MaxThreadsPerMultiProcessor), 0,
        ATTRIBUTE(ComputeCapabilityMajor), ATTRIBUTE(ComputeCapabilityMinor), ATTRIBUTE(CooperativeLaunch), 0,
        (uint64_t)runtime, 0, ATTRIBUTE(ManagedMemory), ATTRIBUTE(ConcurrentManagedAccess),
        ATTRIBUTE(PageableMemoryAccess), 1, 0, 0, 0, digits(target), features(target),
    };
#undef ATTRIBUTE
    gdx_note(GDX_CALL_note_device, words, 9, (struct gdx_text){ name, strnlen(name, sizeof name) },
             (struct gdx_text){ version, strlen(version) }, numbers, sizeof numbers / sizeof *numbers);
}

static void note_context(uint64_t device)
{
    const uint64_t words[] = { device + 1, device + 1, device };
    gdx_note(GDX_CALL_note_context, words, 3, (struct gdx_text){ 0 }, (struct gdx_text){ 0 }, NULL, 0);
}

void gdx_hip_learn_device(void)
{
    struct gdx_lane *lane = gdx_lane();
    if (!lane || lane->busy)
        return;
    gdx_entered(GDX_ENTRY_HIP);
    gdx_hip_thread.noted = lane->generation;
    uint32_t device = gdx_hip_thread.context - 1;
    if (!gdx_hip_thread.context || device >= DEVICES
        || atomic_exchange(&devices_noted[device], lane->generation) == lane->generation)
        return;
    note_context(device);
    note_device((int)device);
}

static void now_on(hipError_t status, int device)
{
    if (status == hipSuccess)
        gdx_hip_thread = (struct gdx_hip_thread){ (uint32_t)device + 1, 0 };
}

void gdx_hip_after_hipSetDevice(hipError_t status, int device)
{
    now_on(status, device);
}

void gdx_hip_after_hipGetDevice(hipError_t status, int *device)
{
    if (status == hipSuccess && device && (uint32_t)*device + 1 != gdx_hip_thread.context)
        now_on(status, *device);
}

/* ---- contexts: which device they are of is not followed ---- */

static void context_changed(hipError_t status)
{
    if (status == hipSuccess)
        gdx_hip_thread = (struct gdx_hip_thread){ 0, 0 };
}

void gdx_hip_after_hipCtxCreate(hipError_t status, hipCtx_t *result, unsigned int flags, hipDevice_t device)
{
    (void)result, (void)flags;
    now_on(status, device);
}

void gdx_hip_after_hipCtxDestroy(hipError_t status, hipCtx_t context)
{
    (void)context;
    context_changed(status);
}

void gdx_hip_after_hipCtxPushCurrent(hipError_t status, hipCtx_t context)
{
    (void)context;
    context_changed(status);
}

void gdx_hip_after_hipCtxPopCurrent(hipError_t status, hipCtx_t *context)
{
    (void)context;
    context_changed(status);
}

void gdx_hip_after_hipCtxSetCurrent(hipError_t status, hipCtx_t context)
{
    (void)context;
    context_changed(status);
}

/* ---- captures ---- */

/* Asked only while some stream of the process is being captured, after a call that succeeded. */
bool gdx_hip_is_captured(hipStream_t queue, bool own_thread)
{
    hipStreamCaptureStatus status = 0;
    uint64_t handle = gdx_hip_queue(queue, own_thread);
    if (handle < hipStreamPerThread || !gdx_hip_next.hipStreamIsCapturing)
        return false;
    if (gdx_hip_next.hipStreamIsCapturing((hipStream_t)(uintptr_t)handle, &status) != hipSuccess)
        return false;
    return status == hipStreamCaptureStatusActive;
}

/* The legacy default stream cannot be captured, so a null handle is a thread's own. */
static uint64_t captured_stream(hipStream_t queue)
{
    return GDX_HIP_WORD(queue) == hipStreamPerThread ? 0 : GDX_HIP_WORD(queue);
}

void gdx_hip_after_hipStreamBeginCapture(hipError_t status, hipStream_t queue, hipStreamCaptureMode mode)
{
    (void)mode;
    if (status == hipSuccess)
        gdx_capture_begun(&captures, captured_stream(queue), gdx_hip_thread.context);
}

/* These answers may leave a capture running; all others end it. The runtime is not asked: a question would take the place of the
 * error that the program may ask for. */
static bool may_go_on(hipError_t status)
{
    enum { INVALID_VALUE = 1, INVALID_HANDLE = 400, UNMATCHED = 903, WRONG_THREAD = 908 };  /* hip_runtime_api.h, hipError_t */
    return (int)status == INVALID_VALUE || (int)status == INVALID_HANDLE || (int)status == UNMATCHED
        || (int)status == WRONG_THREAD;
}

void gdx_hip_after_hipStreamBeginCaptureToGraph(hipError_t status, hipStream_t queue, hipGraph_t graph,
                                                const hipGraphNode_t *after, const hipGraphEdgeData *edges, size_t count,
                                                hipStreamCaptureMode mode)
{
    (void)graph, (void)after, (void)edges, (void)count;
    gdx_hip_after_hipStreamBeginCapture(status, queue, mode);
}

void gdx_hip_after_hipStreamEndCapture(hipError_t status, hipStream_t queue, hipGraph_t *result)
{
    (void)result;
    if (!may_go_on(status))
        gdx_capture_over(&captures, captured_stream(queue), true);
}

/* A capture that is given up together with its stream. */
void gdx_hip_after_hipStreamDestroy(hipError_t status, hipStream_t queue)
{
    if (status == hipSuccess && GDX_HIP_WORD(queue) > hipStreamPerThread)
        gdx_capture_over(&captures, captured_stream(queue), false);
}
