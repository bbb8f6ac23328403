/* Memory with red zones: a few bytes written past the end by one of several launches, and the correct twin of it; and all
 * that a program can see of its memory besides using it. Prints what it sees, and ends with the status of the last wait. */
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>

void launch_store(int *x, int from, int count, hipStream_t stream);
enum { COUNT = 100, BYTES = COUNT * 4 };

/* The second of three launches writes `more` values too many, or so many before the start; `same`: the third is given the same
 * memory. */
static int store(const char *wait, int more, bool same)
{
    int *x, *y, host[COUNT];
    hipEvent_t event;
    hipMalloc((void **)&x, BYTES);
    hipMalloc((void **)&y, BYTES);
    hipEventCreate(&event);
    launch_store(y, 0, COUNT, 0);
    launch_store(x, more < 0 ? more : 0, more < 0 ? COUNT : COUNT + more, 0);
    launch_store(same ? x : y, 0, COUNT, 0);
    hipEventRecord(event, 0);
    hipError_t status = !strcmp(wait, "device") ? hipDeviceSynchronize()
                      : !strcmp(wait, "stream") ? hipStreamSynchronize(0)
                      : !strcmp(wait, "event")  ? hipEventSynchronize(event)
                      : !strcmp(wait, "copy")   ? hipMemcpy(host, y, BYTES, hipMemcpyDeviceToHost)
                                                : hipSuccess;
    printf("waited %d\n", status);
    if (!strcmp(wait, "after"))
        launch_store((hipFree(x), x), 0, COUNT, 0);
    else
        hipFree(x);
    hipFree(y);
    return status ? status : hipDeviceSynchronize();
}

static void sizes(void *memory, size_t offset)
{
    void *base = nullptr, *start = nullptr;
    size_t size = 0, info = 0, range = 0;
    char *inside = (char *)memory + offset;
    int told = hipMemGetAddressRange(&base, &size, inside);
    told += hipMemPtrGetInfo(inside, &info);
    told += hipPointerGetAttribute(&range, HIP_POINTER_ATTRIBUTE_RANGE_SIZE, inside);
    told += hipPointerGetAttribute(&start, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside);
    printf("sizes %d %zu %zu %zu %d %d\n", told, size, info, range, base == memory, start == memory);
}

static void lengths(char *memory, size_t bytes)
{
    static char host[16384];
    for (size_t more : {0, 1, 100, 4096, 4097}) {
        printf("more %zu: %d", more, hipMemcpy(host, memory, bytes + more, hipMemcpyDeviceToHost));
        printf(" %d", hipMemcpy(memory + 8, host, bytes - 8 + more, hipMemcpyHostToDevice));
        printf(" %d", hipMemcpyAsync(host, memory, bytes + more, hipMemcpyDeviceToHost, 0));
        printf(" %d", hipMemset(memory, 0, bytes + more));
        printf(" %d", hipMemsetAsync(memory, 0, bytes + more, 0));
        printf(" %d %d\n", hipPeekAtLastError(), hipGetLastError());
    }
}

static void rows()
{
    void *memory;
    size_t pitch = 0;
    for (size_t width : {1, 100, 5000}) {
        printf("rows %d", hipMallocPitch(&memory, &pitch, width, 10));
        printf(" %zu %d\n", pitch, hipMemset(memory, 0, pitch * 10));
        sizes(memory, 0);
        printf("free %d\n", hipFree(memory));
    }
}

static int around()
{
    void *memory, *other;
    printf("made %d last %d\n", hipMalloc(&memory, 1000), hipGetLastError());
    sizes(memory, 0);
    sizes(memory, 999);
    lengths((char *)memory, 1000);
    rows();
    printf("none %d", hipMalloc(&other, 0));
    printf(" %d huge %d", other == nullptr, hipMalloc(&other, ~(size_t)0 >> 1));
    printf(" null %d last %d\n", hipMalloc(nullptr, 8), hipGetLastError());
    printf("freed %d again %d never %d null %d\n", hipFree(memory), hipFree(memory), hipFree((char *)&memory), hipFree(0));
    hipExtMallocWithFlags(&memory, 100, hipDeviceMallocDefault);
    hipMallocAsync(&other, 100, 0);
    printf("freed %d %d\n", hipFreeAsync(memory, 0), hipFreeAsync(other, 0));
    hipMalloc(&memory, 100);
    printf("reset %d\n", hipDeviceReset());
    return hipDeviceSynchronize();
}

int main(int, char **words)
{
    return !strcmp(words[1], "around") ? around() : store(words[1], atoi(words[2]), words[3] != nullptr);
}
