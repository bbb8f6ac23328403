/* Lives within limits: limits MODE BYTES; makes calls that fill several chunks, then says whether memory and files still
 * work as the limit says. */
#include "gpu.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

int main(int argc, char **argv)
{
    long bytes = number(argc, argv, 2, 0);
    struct rlimit limit = { (rlim_t)bytes, (rlim_t)bytes };
    if (is(argc, argv, "before_fsize"))
        setrlimit(RLIMIT_FSIZE, &limit);
    gpu_open();
    gpu_calls(0, 10);
    if (is(argc, argv, "fsize"))
        setrlimit(RLIMIT_FSIZE, &limit);
    if (is(argc, argv, "as"))
        setrlimit(RLIMIT_AS, &limit);
    if (is(argc, argv, "files"))
        setrlimit(RLIMIT_NOFILE, &limit);
    gpu_calls(0, 20000);
    for (int i = 0; i < 5000; i++)
        clReleaseKernel(clCreateKernel(NULL, "fake_kernel", NULL));
    printf("done\n");
    return 0;
}
