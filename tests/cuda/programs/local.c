/* A library that a program opens for itself, with a function that happens to be called like one of the driver's. */
#define _GNU_SOURCE
#include <dlfcn.h>

#define API __attribute__((visibility("default")))

API int answer(void)
{
    return 4;
}

API int next_answer(void)
{
    int (*next)(void);
    *(void **)&next = dlsym(RTLD_NEXT, "answer");
    return next ? next() : -1;
}

API int cuCtxSynchronize(void)
{
    return 77;
}
