//: class = "F2"
//: cause = ["device-code-too-new", "not-device-code", "failed-call"]
//: call = "cuModuleLoadData"
//: plain = "exit"
//: fault = "The embedded PTX says version 19.5, which no driver of today knows."
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>
#include <string>

static std::string ptx()
{
#ifdef TWIN
    std::string text = ".version 8.0\n";
#else
    std::string text = ".version 19.5\n"; // FAULT
#endif
    return text + ".target sm_80\n.address_size 64\n"
                  ".visible .entry answer(.param .u64 p) {\n"
                  "  .reg .u64 %a;\n  .reg .u32 %v;\n"
                  "  ld.param.u64 %a, [p];\n  cvta.to.global.u64 %a, %a;\n  mov.u32 %v, 42;\n"
                  "  st.global.u32 [%a], %v;\n  ret;\n}\n";
}

int main()
{
    cudaFree(nullptr);
    CUmodule module;
    CUfunction answer;
    CUdeviceptr p;
    CUresult r = cuModuleLoadData(&module, ptx().c_str());
    if (r != CUDA_SUCCESS) {
        const char *why = "?";
        cuGetErrorString(r, &why);
        fprintf(stderr, "module: %s\n", why);
        return 1;
    }
    if (cuModuleGetFunction(&answer, module, "answer") || cuMemAlloc(&p, 4)) return 1;
    void *arguments[] = {&p};
    if (cuLaunchKernel(answer, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0)) return 1;
    int value = 0;
    cuMemcpyDtoH(&value, p, sizeof value);
    printf("%d\n", value);
    return value == 42 ? 0 : 1;
}
