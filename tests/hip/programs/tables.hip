/* A kernel that reaches memory through a table of pointers and a list of indices, so that no argument shows what it will miss. The first
 * argument says what is wrong: one row was freed, one index is past the end, one is far outside, all of them are what the memory
 * happened to hold, or nothing. */
#include <hip/hip_runtime.h>

#include <cstring>

void launch_gather(const int *const *rows, const int *index, int *out, int count);
enum { ROWS = 4, LENGTH = 1024, COUNT = 256 };

static void *device(size_t bytes, const void *from)
{
    void *made = nullptr;
    hipMalloc(&made, bytes);
    if (from)
        hipMemcpy(made, from, bytes, hipMemcpyHostToDevice);
    else
        hipMemset(made, 0, bytes);
    return made;
}

/* Never written since it was made, where other memory was. */
static const int *stale(size_t bytes)
{
    void *before = nullptr, *made = nullptr;
    hipMallocAsync(&before, bytes, 0);
    hipMemsetAsync(before, 0x7f, bytes, 0);
    hipFreeAsync(before, 0);
    hipMallocAsync(&made, bytes, 0);
    return (const int *)made;
}

int main(int, char **words)
{
    const char *what = words[1];
    int *rows[ROWS], index[COUNT], *out = (int *)device(COUNT * 4, nullptr);
    void *scratch = device(LENGTH * 4, nullptr);
    for (int *&row : rows)
        row = (int *)device(LENGTH * 4, nullptr);
    for (int i = 0; i < COUNT; i++)
        index[i] = i * 3 % LENGTH;
    if (!strcmp(what, "past"))
        index[77] = LENGTH + 2000;
    if (!strcmp(what, "far"))
        index[77] = 1 << 30;
    const int *const *table = (const int *const *)device(sizeof rows, rows);
    const int *list = !strcmp(what, "stale") ? stale(sizeof index) : (const int *)device(sizeof index, index);
    for (int step = 0; step < 3; step++) {
        if (step == 1)
            hipFree(!strcmp(what, "freed") ? rows[2] : scratch);
        launch_gather(table, list, out, COUNT);
        if (hipDeviceSynchronize() != hipSuccess)
            return 1;
    }
    return 0;
}
