/* Virtual memory management: reserved addresses, physical memory, a mapping, and its end. The driver's functions are
 * asked from the runtime library, as frameworks do. */
#include "check.h"

#include <cuda.h>

static void *entry(const char *name)
{
    void *at = nullptr;
    cudaDriverEntryPointQueryResult found;
    MUST(cudaGetDriverEntryPointByVersion(name, &at, 12000, cudaEnableDefault, &found));
    if (!at) {
        std::printf("%s is missing\n", name);
        std::exit(1);
    }
    return at;
}

#define ENTRY(name) auto p_##name = (decltype(&name))entry(#name)

#define CHECK(call)                                                \
    do {                                                           \
        CUresult status_ = (call);                                 \
        if (status_ != CUDA_SUCCESS) {                             \
            std::printf("%s: %d\n", #call, (int)status_);          \
            std::exit(1);                                          \
        }                                                          \
    } while (0)

__global__ void fill(int *out)
{
    out[threadIdx.x] = (int)threadIdx.x;
}

int main()
{
    MUST(cudaFree(nullptr));
    ENTRY(cuMemGetAllocationGranularity);
    ENTRY(cuMemAddressReserve);
    ENTRY(cuMemCreate);
    ENTRY(cuMemMap);
    ENTRY(cuMemSetAccess);
    ENTRY(cuMemUnmap);
    ENTRY(cuMemRelease);
    ENTRY(cuMemAddressFree);
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAccessDesc access = { properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemGenericAllocationHandle physical;
    CUdeviceptr address;
    size_t granule = 0;
    int back = 0;
    CHECK(p_cuMemGetAllocationGranularity(&granule, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(p_cuMemAddressReserve(&address, 2 * granule, 0, 0, 0));
    CHECK(p_cuMemCreate(&physical, granule, &properties, 0));
    CHECK(p_cuMemMap(address, granule, 0, physical, 0));
    CHECK(p_cuMemSetAccess(address, granule, &access, 1));
    fill<<<1, 32>>>((int *)address);
    MUST(cudaMemcpy(&back, (int *)address + 31, sizeof back, cudaMemcpyDeviceToHost));
    CHECK(p_cuMemUnmap(address, granule));
    CHECK(p_cuMemRelease(physical));
    CHECK(p_cuMemAddressFree(address, 2 * granule));
    std::printf("last = %d\n", back);
    return back == 31 ? 0 : 1;
}
