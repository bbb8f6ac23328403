/* Memory of each family that nobody wrote, read back; with "written" all of it is written first. Prints the first and the last
 * byte of each. */
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>

enum { BYTES = 1001 };
static bool written;

static void show(const char *name, void *memory, size_t bytes)
{
    static unsigned char host[8192];
    if (written)
        hipMemset(memory, 1, bytes);
    hipMemcpy(host, memory, bytes, hipMemcpyDeviceToHost);
    printf("%s %02x %02x\n", name, host[0], host[bytes - 1]);
}

int main(int count, char **)
{
    void *plain, *rows, *ordered, *managed, *host, *none;
    size_t pitch;
    written = count > 1;
    hipMalloc(&plain, BYTES);
    hipMallocPitch(&rows, &pitch, 100, 10);
    hipMallocAsync(&ordered, BYTES, 0);
    hipMallocManaged(&managed, BYTES, hipMemAttachGlobal);
    hipHostMalloc(&host, BYTES, 0);
    show("plain", plain, BYTES);
    show("rows", rows, pitch * 10);
    show("ordered", ordered, BYTES);
    show("managed", managed, BYTES);
    show("host", host, BYTES);
    printf("none %d last %d\n", hipMalloc(&none, 0), hipGetLastError());
    hipFree(plain), hipFree(rows), hipFreeAsync(ordered, 0), hipFree(managed), hipHostFree(host);
    return hipDeviceSynchronize();
}
