/* A library that asks whether functions of GPU drivers are there, as communication libraries do at their start. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

void ask(void);
void ask(void)
{
    static const char *const names[] = { "cuInit", "cuGetProcAddress", "hipInit", "clGetPlatformIDs", "no_such_function" };
    for (int i = 0; i < 5; i++) {
        dlerror();
        void *one = dlsym(RTLD_DEFAULT, names[i]), *two = dlsym(RTLD_NEXT, names[i]);
        const char *error = dlerror();
        printf("%s %d %d %d\n", names[i], one != NULL, two != NULL, error != NULL);
    }
    printf("%d\n", dlsym(RTLD_NEXT, "malloc") != NULL);
}
