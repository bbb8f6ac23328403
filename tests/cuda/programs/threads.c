/* Two threads launch the same function for the first time at once, each on a context of its own, then fork. */
#include "reach.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LAUNCHES = 5000 };
static CUfunction function;
static pthread_barrier_t together;

static void *work(void *number)
{
    CUcontext context;
    int who = (int)(intptr_t)number;
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    pthread_barrier_wait(&together);
    for (int i = 0; i < LAUNCHES; i++) {
        void *params[] = { &who, &i };
        CHECK(DO(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    CUmodule module;
    CUcontext context;
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    CHECK(DO(cuModuleLoadData)(&module, "kernel pair 4 4\n"));
    CHECK(DO(cuModuleGetFunction)(&function, module, "pair"));
    pthread_barrier_init(&together, NULL, 2);
    for (intptr_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    fflush(stdout);
    if (fork() == 0) {
        int who = 3, i = 0;
        void *params[] = { &who, &i };
        printf("child: %d\n", DO(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    printf("done\n");
    return 0;
}
