/* dlsym in a recorder that is built with AddressSanitizer, whose own start looks functions up, before any instrumented code can
 * run. Until then the C library answers; later the recorder's, which is called gdx_dlsym_inside here. Both are entered by a
 * jump (-O2), because they look at who called. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>

typedef void *look_up(void *handle, const char *name);
extern look_up gdx_dlsym_inside;
static bool ready;

__attribute__((constructor)) static void start(void)
{
    ready = true;
}

static look_up *of_libc(void)
{
    look_up *found;
    *(void **)&found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (!found)
        *(void **)&found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    return found;
}

__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name)
{
    return (ready ? gdx_dlsym_inside : of_libc())(handle, name);
}
