/* Threads make calls while the main thread forks; each child makes calls and kernels, which takes the recorder's locks. */
#include "gpu.h"

#include <pthread.h>
#include <sys/wait.h>

static volatile int stop;

static void *worker(void *unused)
{
    (void)unused;
    while (!stop) {
        cl_kernel kernel = clCreateKernel(NULL, "fake_kernel", NULL);
        gpu_calls(0, 20);
        clReleaseKernel(kernel);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    int bad = 0;
    gpu_open();
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 60; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            alarm(60);  /* a lock that nobody will open again shows as SIGALRM */
            clReleaseKernel(clCreateKernel(NULL, "fake_kernel", NULL));
            gpu_calls(1, 3);
            _exit(0);
        }
        waitpid(child, &status, 0);
        bad += status != 0;
    }
    stop = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("bad children %d\n", bad);
    return bad != 0;
}
