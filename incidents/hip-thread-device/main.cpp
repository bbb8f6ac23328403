/* A small test runner: tests share one backend, which chose the second device when it was made. The first test runs in the
 * main thread, the others in threads of their own, as test runners do. */
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <thread>
#include <vector>

#include "kernels.h"

enum { COUNT = 4096, DEVICE = 1, TESTS = 3 };

/* Everything that the tests share: made once, by the thread that comes first. */
struct Backend {
    float *data[TESTS];
};

static bool good(hipError_t error, const char *what)
{
    if (error != hipSuccess)
        fprintf(stderr, "%s failed: %s\n", what, hipGetErrorString(error));
    return error == hipSuccess;
}

static bool make_backend(Backend &backend)
{
    if (!good(hipSetDevice(DEVICE), "hipSetDevice"))
        return false;
    const std::vector<float> ones(COUNT, 1.0f);
    for (float *&data : backend.data) {
        void *memory = nullptr;
        if (!good(hipMalloc(&memory, COUNT * sizeof(float)), "hipMalloc"))
            return false;
        data = (float *)memory;
        if (!good(hipMemcpy(data, ones.data(), COUNT * sizeof(float), hipMemcpyHostToDevice), "upload"))
            return false;
    }
    return true;
}

static void test_scale(const Backend &backend, int number, bool *passed)
{
#ifdef TWIN
    if (!good(hipSetDevice(DEVICE), "hipSetDevice"))
        return;
#endif
    std::vector<float> result(COUNT);
    const float factor = (float)(number + 2);
    scale(backend.data[number], COUNT, factor);
    if (!good(hipMemcpy(result.data(), backend.data[number], COUNT * sizeof(float), hipMemcpyDeviceToHost), "download"))
        return;
    int wrong = 0;
    for (float value : result)
        wrong += value != factor;
    *passed = !wrong;
}

int main()
{
    Backend backend;
    bool passed[TESTS] = {};
    if (!make_backend(backend))
        return 2;
    test_scale(backend, 0, &passed[0]);
    for (int i = 1; i < TESTS; i++)
        std::thread(test_scale, std::cref(backend), i, &passed[i]).join();
    int count = 0;
    for (bool one : passed)
        count += one;
    printf("%d of %d tests passed\n", count, TESTS);
    return count == TESTS ? 0 : 1;
}
