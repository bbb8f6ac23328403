/* A kernel of a module gets its arguments packed, without the padding before a pointer. */
#include "small.h"

struct __attribute__((packed)) Tight { float *y; float a; const float *x; int count; };
struct Padded { float *y; float a; const float *x; int count; };
enum { COUNT = 2000 };

int main(int words, char **)
{
    float *x, *y, first;
    hipModule_t module;
    hipFunction_t axpy;
    CHECK(hipMalloc((void **)&x, COUNT * sizeof(float)));
    CHECK(hipMalloc((void **)&y, COUNT * sizeof(float)));
    CHECK(hipMemset(x, 0, COUNT * sizeof(float)));
    CHECK(hipMemset(y, 0, COUNT * sizeof(float)));
    CHECK(hipModuleLoad(&module, getenv("CODE_OBJECT")));
    CHECK(hipModuleGetFunction(&axpy, module, "_Z4axpyPffPKfi"));
    Tight tight{ y, 2, x, COUNT };
    Padded padded{ y, 2, x, COUNT };
    size_t bytes = words > 1 ? sizeof padded : sizeof tight;
    void *packed = words > 1 ? (void *)&padded : (void *)&tight;
    void *extra[] = { HIP_LAUNCH_PARAM_BUFFER_POINTER, packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes, HIP_LAUNCH_PARAM_END };
    CHECK(hipModuleLaunchKernel(axpy, (COUNT + 63) / 64, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(&first, y, sizeof first, hipMemcpyDeviceToHost));
    printf("%.1f\n", first);
}
