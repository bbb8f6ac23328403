/* Changes its place in the file system while it is recorded: moves MODE FOLDER. */
#include "gpu.h"

#include <sys/stat.h>

int main(int argc, char **argv)
{
    char other[4096];
    if (argc != 3)
        return 2;
    gpu_open();
    gpu_calls(0, 10);
    snprintf(other, sizeof other, "%s-elsewhere", argv[2]);
    int failed = 0;
    if (!strcmp(argv[1], "chdir"))
        failed = chdir("/");
    if (!strcmp(argv[1], "chroot"))
        failed = chroot("/var/empty") && chroot("/tmp");
    if (!strcmp(argv[1], "rename"))
        failed = access(argv[2], F_OK) == 0 && rename(argv[2], other);
    if (!strcmp(argv[1], "umask"))
        umask(0777);
    if (failed) {
        perror(argv[1]);
        return 77;
    }
    gpu_calls(0, 20000);
    for (int i = 0; i < 3000; i++)
        clReleaseKernel(clCreateKernel(NULL, "fake_kernel", NULL));
    puts("done");
    return 0;
}
