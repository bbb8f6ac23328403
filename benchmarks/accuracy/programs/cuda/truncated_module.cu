//: class = "F2"
//: cause = ["not-device-code", "failed-call", "ignored-error"]
//: call = "cuModuleLoadDataEx"
//: plain = "exit"
//: fault = "The cached kernel image was cut off when it was written; the loader's error is only seen when the function is missing."
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>

static const char source[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                             ".visible .entry nothing() {\n  ret;\n}\n";

int main()
{
    char image[sizeof source + 1] = {};
#ifdef TWIN
    memcpy(image, source, sizeof source);
#else
    memcpy(image, source, sizeof source - 12); // FAULT
#endif
    cudaFree(0);
    CUmodule module = nullptr;
    CUfunction f = nullptr;
    cuModuleLoadDataEx(&module, image, 0, nullptr, nullptr);
    CUresult r = cuModuleGetFunction(&f, module, "nothing");
    if (r != CUDA_SUCCESS) {
        printf("no kernel (%d)\n", r);
        return 1;
    }
    r = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, nullptr, nullptr);
    printf("launched (%d)\n", r);
    return r;
}
