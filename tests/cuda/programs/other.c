/* A library that stands between the program and libc. */
#define _GNU_SOURCE
#include <dlfcn.h>

#define API __attribute__((visibility("default")))

API int answer(void)
{
    return 2;
}

API int from_other(void)
{
    int (*next)(void);
    *(void **)&next = dlsym(RTLD_NEXT, "answer");  /* libthird.so, which comes after this one */
    return next ? next() : -1;
}
