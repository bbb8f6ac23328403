/* Makes every query of the runtime that the simulated one has, about every kind of object, in the states that objects go through, and
 * prints what it was told: status and value. Addresses are printed by their names: they differ from run to run. */
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

void launch_store(int *x, int from, int count, hipStream_t stream);
enum { ATTRIBUTES = 130, POINTER_ATTRIBUTES = 20, ERRORS = 1100, ROOM = 4096 };

static uint64_t room[ROOM / 8];
static struct { uint64_t first, bytes; const char *text; } names[32];
static int count;

static void name(const void *first, uint64_t bytes, const char *text)
{
    names[count++] = { (uint64_t)first, bytes, text };
}

static void print_word(uint64_t word)
{
    for (int i = count - 1; i >= 0; i--)
        if (names[i].bytes && word - names[i].first < names[i].bytes) {
            printf(" <%s+%llu>", names[i].text, (unsigned long long)(word - names[i].first));
            return;
        }
    if (word >> 32 && word >> 48 == 0)
        printf(" <address>");
    else
        printf(" %llx", (unsigned long long)word);
}

/* Status, value and the last error. What nothing was written to keeps its pattern. */
static void told(const char *what, int number, hipError_t status)
{
    int last = ROOM / 8;
    while (last && room[last - 1] == 0x5a5a5a5a5a5a5a5aull)
        last--;
    printf("  %s %d: %d", what, number, status);
    for (int i = 0; i < last; i++)
        print_word(room[i]);
    printf(", peek %d", hipPeekAtLastError());
    printf(" last %d\n", hipGetLastError());
    memset(room, 0x5a, sizeof room);
}
#define ASK(number, call, ...) told(#call, number, call(__VA_ARGS__))

static void about_device(const char *when)
{
    printf("device, %s\n", when);
    ASK(0, hipDriverGetVersion, (int *)room);
    ASK(0, hipRuntimeGetVersion, (int *)room);
    ASK(0, hipGetDeviceCount, (int *)room);
    ASK(0, hipGetDevice, (int *)room);
    ASK(0, hipMemGetInfo, (size_t *)room, (size_t *)room + 1);
    for (int device = -1; device < 3; device++) {
        ASK(device, hipDeviceTotalMem, (size_t *)room, device);
        ASK(device, hipDeviceGetName, (char *)room, 64, device);
        ASK(device, hipGetDeviceProperties, (hipDeviceProp_t *)room, device);
        for (int peer = 0; peer < 3; peer++)
            ASK(peer, hipDeviceCanAccessPeer, (int *)room, device, peer);
    }
    for (int i = 0; i < ATTRIBUTES; i++)
        ASK(i, hipDeviceGetAttribute, (int *)room, (hipDeviceAttribute_t)i, 0);
}

static void about_address(const char *what, const void *address)
{
    printf("%s\n", what);
    for (int i = 0; i < POINTER_ATTRIBUTES; i++)
        ASK(i, hipPointerGetAttribute, room, (hipPointer_attribute)i, (hipDeviceptr_t)address);
    ASK(0, hipMemGetAddressRange, (hipDeviceptr_t *)room, (size_t *)room + 1, (hipDeviceptr_t)address);
    ASK(0, hipMemPtrGetInfo, (void *)address, (size_t *)room);
    ASK(0, hipHostGetDevicePointer, (void **)room, (void *)address, 0);
}

/* What lies behind the last byte belongs to somebody else, or to nobody. */
static void about_memory(const char *what, const void *memory, size_t bytes)
{
    char text[100];
    name(memory, bytes, what);
    for (size_t offset : {(size_t)0, bytes / 2, bytes - 1}) {
        snprintf(text, sizeof text, "%s, byte %zu of %zu", what, offset, bytes);
        about_address(text, (const char *)memory + offset);
    }
    names[--count].bytes = 0;
}

static void memories(hipStream_t stream)
{
    void *memory;
    size_t pitch = 0;
    for (size_t bytes : {1, 100, 4000, 1 << 20}) {
        printf("made %d\n", hipMalloc(&memory, bytes));
        about_memory("memory", memory, bytes);
        ASK(0, hipMemGetInfo, (size_t *)room, (size_t *)room + 1);
        printf("freed %d\n", hipFree(memory));
    }
    ASK(0, hipMemGetInfo, (size_t *)room, (size_t *)room + 1);
    printf("made %d\n", hipMallocPitch(&memory, &pitch, 100, 7));
    about_memory("rows", memory, pitch * 7);
    printf("pitch %zu freed %d\n", pitch, hipFree(memory));
    printf("made %d\n", hipMallocManaged(&memory, 5000, hipMemAttachGlobal));
    about_memory("managed", memory, 5000);
    printf("freed %d\n", hipFree(memory));
    printf("made %d\n", hipMallocAsync(&memory, 777, stream));
    about_memory("of a pool", memory, 777);
    printf("freed %d\n", hipFreeAsync(memory, stream));
    printf("made %d\n", hipHostMalloc(&memory, 3000, 0));
    about_memory("pinned", memory, 3000);
    printf("freed %d\n", hipHostFree(memory));
    about_address("nothing", nullptr);
    about_address("a small number", (void *)64);
    printf("no bytes %d", hipMalloc(&memory, 0));
    printf(" null %d", hipMalloc(nullptr, 8));
    printf(" never made %d last %d\n", hipFree((void *)64), hipGetLastError());
}

static void about_stream(const char *what, hipStream_t stream, hipEvent_t event)
{
    printf("stream %s\n", what);
    ASK(0, hipStreamQuery, stream);
    ASK(0, hipStreamIsCapturing, stream, (hipStreamCaptureStatus *)room);
    ASK(0, hipStreamGetPriority, stream, (int *)room);
    ASK(0, hipDeviceGetStreamPriorityRange, (int *)room, (int *)room + 1);
    ASK(0, hipEventQuery, event);
}

int main()
{
    hipStream_t stream;
    hipEvent_t event;
    hipGraph_t graph;
    int *x;
    memset(room, 0x5a, sizeof room);
    for (int error = 0; error < ERRORS; error++)
        printf("error %d: %s %s\n", error, hipGetErrorName((hipError_t)error), hipGetErrorString((hipError_t)error));
    about_device("fresh");
    printf("made %d %d\n", hipStreamCreate(&stream), hipEventCreate(&event));
    about_stream("fresh", stream, event);
    about_stream("default", nullptr, event);
    printf("made %d\n", hipMalloc((void **)&x, 4000));
    launch_store(x, 0, 1000, stream);
    printf("recorded %d waited %d\n", hipEventRecord(event, stream), hipStreamSynchronize(stream));
    about_stream("used", stream, event);
    about_memory("used", x, 4000);
    printf("begun %d\n", hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    about_stream("in a capture", stream, event);
    printf("ended %d\n", hipStreamEndCapture(stream, &graph));
    about_stream("after a capture", stream, event);
    memories(stream);
    printf("set %d\n", hipSetDevice(1));
    about_device("on the second device");
    printf("no such device %d last %d\n", hipSetDevice(9), hipGetLastError());
    printf("freed %d %d %d\n", hipFree(x), hipEventDestroy(event), hipStreamDestroy(stream));
    about_device("in the end");
    return 0;
}
