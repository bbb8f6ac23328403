/* Loads an image of device code from a file, in the way that the first argument names, and asks for a kernel. "edge" puts
 * it right before a page that cannot be read; "nowhere" hands over a wrapper that points there. */
#include <sys/mman.h>

#include "reach.h"

struct wrapper { int magic, version; const void *data; void *more; };

static void *with_edge(const void *data, size_t bytes, void **behind)
{
    size_t page = 4096, room = (bytes + page - 1) / page * page;
    char *at = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(at + room, page, PROT_NONE);
    memcpy(at + room - bytes, data, bytes);
    *behind = at + room;
    return at + room - bytes;
}

static void load_library(const void *data)
{
    struct wrapper wrapper = { 0x466243b1, 1, data, NULL };
    CUlibrary library;
    CUkernel kernel;
    CHECK(DO(cuLibraryLoadData)(&library, &wrapper, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(DO(cuLibraryGetKernel)(&kernel, library, "scale"));
}

int main(int argc, char **argv)
{
    static char data[1 << 20];
    const char *how = argc > 2 ? argv[1] : "";
    FILE *file = fopen(argc > 2 ? argv[2] : "", "rb");
    size_t bytes = file ? fread(data, 1, sizeof data, file) : 0;
    void *behind, *edge = with_edge(data, bytes, &behind);
    CUcontext context;
    CUmodule module;
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    if (!strcmp(how, "data"))
        CHECK(DO(cuModuleLoadData)(&module, data));
    if (!strcmp(how, "edge"))
        CHECK(DO(cuModuleLoadData)(&module, edge));
    if (!strcmp(how, "file"))
        CHECK(DO(cuModuleLoad)(&module, argv[2]));
    if (!strcmp(how, "library"))
        load_library(data);
    if (!strcmp(how, "nowhere"))
        load_library(behind);
    return 0;
}
