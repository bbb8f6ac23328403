/* A library that keeps pointers to the driver's functions in variables of the same names, as some do. */
#define _GNU_SOURCE
#include <dlfcn.h>

#define API __attribute__((visibility("default")))

API int (*cuInit)(unsigned);
API int (*cuDriverGetVersion)(int *);

API int start_with_pointers(void)
{
    int version = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&cuInit = driver ? dlsym(driver, "cuInit") : 0;
    *(void **)&cuDriverGetVersion = driver ? dlsym(driver, "cuDriverGetVersion") : 0;
    return cuInit && cuInit(0) == 0 && cuDriverGetVersion(&version) == 0 ? version : -1;
}
