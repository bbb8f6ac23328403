/* Uses what HIP 7 has and 5.2 has not, without a header: `seven LIBRARY WAY CODE_OBJECT`, where WAY says how functions are found:
 * dlsym, proc (hipGetProcAddress) or entry (hipGetDriverEntryPoint). */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int call();
static void *library;
static call *proc, *entry;

static call *find(const char *name)
{
    void *at = NULL;
    int found = 9;
    if (proc && (proc(name, &at, 701, (uint64_t)0, &found) || found))
        return NULL;
    if (entry && (entry(name, &at, 0ull, &found) || found))
        return NULL;
    return proc || entry ? (call *)at : (call *)dlsym(library, name);
}

static int failed;
#define CALL(name, ...) (find(#name) ? find(#name)(__VA_ARGS__) : (printf("no " #name "\n"), failed++, -1))
#define MUST(name, ...) do { int status = CALL(name, __VA_ARGS__); if (status) { printf(#name " %d\n", status); failed++; } } while (0)

struct side { uint64_t x, y, z, level; uint32_t type; void *host, *device, *array; uint64_t pitch, height; };
struct copy { struct side src, dst; uint64_t width, height, depth; };
struct allocation { char properties[88]; void *access; size_t count, bytes; void *address; };
enum { HOST = 1, DEVICE = 2 };

int main(int count, char **words)
{
    static char properties[1472], box[4 * 8 * 16], code[1 << 16];
    void *memory = NULL, *module = NULL, *kernel = NULL, *stream = NULL, *graph = NULL, *node = NULL, *exec = NULL, *pool[2];
    uint32_t mask[] = { 0xff, 0 }, got[2] = { 0, 0 };
    int number = 7, priority = 0;
    FILE *file = count == 4 ? fopen(words[3], "rb") : NULL;
    if (!file || !(library = dlopen(words[1], RTLD_NOW)) || !fread(code, 1, sizeof code, file))
        return 2;
    if (!strcmp(words[2], "proc"))
        proc = (call *)dlsym(library, "hipGetProcAddress");
    if (!strcmp(words[2], "entry"))
        entry = (call *)dlsym(library, "hipGetDriverEntryPoint");
    MUST(hipGetDevicePropertiesR0600, properties, 0);
    printf("%s\n", properties + 1160);
    MUST(hipMalloc, &memory, (size_t)4096);
    /* a box of 4 x 3 x 2 bytes out of the host's 16 x 8 rows, to byte 5 of the memory's rows of 64 */
    struct copy copy = { { 1, 2, 0, 0, HOST, box, NULL, NULL, 16, 8 }, { 5, 0, 0, 0, DEVICE, NULL, memory, NULL, 64, 4 }, 4, 3, 2 };
    MUST(hipDrvMemcpy3D, &copy);
    MUST(hipLibraryLoadData, &module, code, NULL, NULL, 0, NULL, NULL, 0);
    MUST(hipLibraryGetKernel, &kernel, module, "_Z5twicePfi");
    void *params[] = { &memory, &number };
    MUST(hipModuleLaunchCooperativeKernel, kernel, 2, 1, 1, 64, 1, 1, 0, NULL, params);
    MUST(hipExtStreamCreateWithCUMask, &stream, 2, mask);
    MUST(hipExtStreamGetCUMask, stream, 2, got);
    MUST(hipStreamGetPriority, stream, &priority);
    printf("mask %x priority %d\n", got[0], priority);
    MUST(hipMallocAsync, &pool[0], (size_t)8192, stream);
    MUST(hipFreeAsync, pool[0], stream);
    MUST(hipMallocAsync, &pool[1], (size_t)8192, stream);
    printf("the pool %s\n", pool[0] == pool[1] ? "gave the same again" : "gave others");
    struct allocation wanted = { .bytes = 4096 };
    MUST(hipGraphCreate, &graph, 0);
    MUST(hipGraphAddMemAllocNode, &node, graph, NULL, (size_t)0, &wanted);
    MUST(hipGraphAddMemFreeNode, &node, graph, &node, (size_t)1, wanted.address);
    MUST(hipGraphInstantiateWithFlags, &exec, graph, 0ull);
    MUST(hipGraphLaunch, exec, stream);
    MUST(hipGraphLaunch, exec, stream);
    MUST(hipDeviceSynchronize);
    MUST(hipLibraryUnload, module);
    MUST(hipFree, memory);
    printf("%d failed\n", failed);
    return failed != 0;
}
