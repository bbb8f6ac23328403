/* A program of the driver API, linked with -lcuda, with its kernel as PTX. Launches in both forms: an array of
 * pointers, and one packed buffer. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                            \
    do {                                                       \
        CUresult status_ = (call);                             \
        if (status_ != CUDA_SUCCESS) {                         \
            printf("%s: %d\n", #call, (int)status_);           \
            exit(1);                                           \
        }                                                      \
    } while (0)

/* out[i] = i * factor */
static const char ptx[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry scale(.param .u64 out, .param .u32 factor)\n"
    "{\n"
    "    .reg .u32 %r<3>;\n"
    "    .reg .u64 %rd<3>;\n"
    "    ld.param.u64 %rd0, [out];\n"
    "    ld.param.u32 %r0, [factor];\n"
    "    cvta.to.global.u64 %rd0, %rd0;\n"
    "    mov.u32 %r1, %tid.x;\n"
    "    mul.wide.u32 %rd1, %r1, 4;\n"
    "    add.u64 %rd0, %rd0, %rd1;\n"
    "    mul.lo.u32 %r2, %r1, %r0;\n"
    "    st.global.u32 [%rd0], %r2;\n"
    "    ret;\n"
    "}\n";

int main(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction scale, missing;
    CUdeviceptr out;
    unsigned factor = 3, back = 0;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&scale, module, "scale"));
    printf("missing: %d\n", (int)cuModuleGetFunction(&missing, module, "missing"));
    CHECK(cuMemAlloc(&out, 32 * sizeof(unsigned)));
    void *params[] = { &out, &factor };
    CHECK(cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    struct { CUdeviceptr out; unsigned factor; } packed = { out, 5 };
    size_t bytes = 12;  /* not sizeof: the padding at the end is no part of the parameters */
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                      CU_LAUNCH_PARAM_END };
    CHECK(cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    CHECK(cuMemcpyDtoH(&back, out + 31 * sizeof back, sizeof back));
    printf("last = %u\n", back);
    CHECK(cuMemFree(out));
    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease(device));
    return back == 155 ? 0 : 1;
}
