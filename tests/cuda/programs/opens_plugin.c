#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    (void)argc;
    int (*start)(void);
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        puts(dlerror());
        return 1;
    }
    *(void **)&start = dlsym(plugin, "start");
    printf("start: %d\n", start());
    return 0;
}
