/* A library for launches from awkward places of a Python program; loaded with ctypes, it knows nothing of extensions. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "cu.h"

#define API __attribute__((visibility("default")))
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int held, wanted;
static CUfunction handled;
API int inside;  /* a launch */

API int launch(CUfunction kernel)
{
    int first = 1, second = 2;
    void *params[] = { &first, &second };
    static __typeof__(&cuLaunchKernel) call;
    if (!call)
        *(void **)&call = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchKernel");
    errno = 77;
    inside = 1;
    int status = (int)call(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    inside = 0;
    return errno == 77 ? status : -1;
}

/* Without the interpreter's lock: launches with a lock that the holder of the interpreter's waits for. */
API int launch_with_lock(CUfunction kernel)
{
    pthread_mutex_lock(&mutex);
    held = 1;
    while (!wanted)
        usleep(1000);
    usleep(50000);
    int status = launch(kernel);
    pthread_mutex_unlock(&mutex);
    return status;
}

/* With the interpreter's lock. */
API int wait_for_lock(void)
{
    while (!held)
        usleep(1000);
    wanted = 1;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return 0;
}

/* With the interpreter's lock and an exception set, which ctypes raises when this returns. */
API int launch_with_exception(CUfunction kernel)
{
    void (*set)(void *, const char *);
    void **kind = dlsym(RTLD_DEFAULT, "PyExc_KeyError");
    *(void **)&set = dlsym(RTLD_DEFAULT, "PyErr_SetString");
    set(*kind, "kept");
    return launch(kernel);
}

static void handler(int number)
{
    (void)number;
    launch(handled);
}

/* In a signal handler that has a stack of its own. */
API int launch_in_handler(CUfunction kernel)
{
    static char stack[1 << 16];
    const stack_t own = { .ss_sp = stack, .ss_size = sizeof stack };
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
    handled = kernel;
    sigaltstack(&own, NULL);
    sigaction(SIGUSR1, &action, NULL);
    return raise(SIGUSR1);
}

static void *alone(void *kernel)
{
    return (void *)(intptr_t)launch(kernel);
}

/* In a thread that Python does not know. */
API int launch_in_thread(CUfunction kernel)
{
    pthread_t thread;
    void *status = NULL;
    pthread_create(&thread, NULL, alone, kernel);
    pthread_join(thread, &status);
    return (int)(intptr_t)status;
}
