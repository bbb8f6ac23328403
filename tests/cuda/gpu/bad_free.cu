/* Frees that the driver refuses, each named by the argument: inside, heap, pinned, device, twice. Without one, all fit:
 * also memory of the stream-ordered allocator freed with cudaFree, which is documented. */
#include <cstring>

#include "check.h"

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    char *device, *ordered, *pinned, *heap = (char *)std::malloc(1 << 20);
    MUST(cudaMalloc(&device, 1 << 20));
    MUST(cudaMallocAsync(&ordered, 1 << 20, 0));
    MUST(cudaMallocHost(&pinned, 1 << 20));
    if (!std::strcmp(what, "inside"))
        MUST(cudaFree(device + 256));
    if (!std::strcmp(what, "heap"))
        MUST(cudaFree(heap));
    if (!std::strcmp(what, "pinned"))
        MUST(cudaFree(pinned));
    if (!std::strcmp(what, "device"))
        MUST(cudaFreeHost(device));
    MUST(cudaDeviceSynchronize());
    MUST(cudaFree(device));
    if (!std::strcmp(what, "twice"))
        MUST(cudaFree(device));
    MUST(cudaFree(ordered));
    MUST(cudaFreeHost(pinned));
    return told("at last", cudaDeviceSynchronize());
}
