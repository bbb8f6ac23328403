/* Launches whose second parameter has the number of a texture object: sample(out, texture), _Z6sampledPfy, and _Z5sizedPfm,
 * whose symbol shows that it is a size. `destroyed`: the texture is gone before the launch. */
#include "reach.h"

static const char image[] = "kernel sample 8 8\nkernel _Z7sampledPfy 8 8\nkernel _Z5sizedPfm 8 8\n";

int main(int argc, char **argv)
{
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr out;
    CUdevice device;
    CUtexObject texture;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC description;
    const unsigned normalized = 2;
    const char *const names[] = { "sample", "_Z7sampledPfy", "_Z5sizedPfm" };
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuDeviceGet)(&device, 0));
    CHECK(DO(cuDevicePrimaryCtxRetain)(&context, device));
    CHECK(DO(cuCtxSetCurrent)(context));
    CHECK(DO(cuModuleLoadData)(&module, image));
    CHECK(DO(cuMemAlloc_v2)(&out, 64));
    memset(&resource, 0, sizeof resource);
    memset(&description, 0, sizeof description);
    memcpy((char *)&description + 16, &normalized, sizeof normalized);  /* its flags */
    CHECK(DO(cuTexObjectCreate)(&texture, &resource, NULL, NULL));
    CHECK(DO(cuTexObjectCreate)(&texture, &resource, &description, NULL));
    if (argc > 1 && !strcmp(argv[1], "destroyed"))
        CHECK(DO(cuTexObjectDestroy)(texture));
    for (int i = 0; i < 3; i++) {
        void *params[] = { &out, &texture };
        CHECK(DO(cuModuleGetFunction)(&kernel, module, names[i]));
        CHECK(DO(cuLaunchKernel)(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    }
    CHECK(DO(cuCtxSynchronize)());
    return 0;
}
