/* Two threads use one kernel object. With GPUDX_TURNS=1 the second waits for the first, which with "slow" does not come to its
 * launch for longer than anybody waits. */
#include "gpu.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static int slow;

static void *second(void *unused)
{
    int value = 2;
    if (slow)
        usleep(100000);
    clSetKernelArg(gpu_kernel, 0, sizeof value, &value);
    clEnqueueNDRangeKernel(NULL, gpu_kernel, 1, NULL, (size_t[]){ 1 }, NULL, 0, NULL, NULL);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int value = 1;
    slow = argc > 1 && !strcmp(argv[1], "slow");
    gpu_open();
    clSetKernelArg(gpu_kernel, 0, sizeof value, &value);
    if (slow) {
        pthread_create(&thread, NULL, second, NULL);
        pthread_join(thread, NULL);
    }
    clEnqueueNDRangeKernel(NULL, gpu_kernel, 1, NULL, (size_t[]){ 1 }, NULL, 0, NULL, NULL);
    if (!slow) {
        pthread_create(&thread, NULL, second, NULL);
        pthread_join(thread, NULL);
    }
    return 0;
}
