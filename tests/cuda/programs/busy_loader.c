/* One thread opens and closes a module that is linked with the driver, another one asks dlsym all the time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static _Atomic int stop;

static void *ask(void *nothing)
{
    long found = 0;
    while (!stop)
        found += dlsym(RTLD_DEFAULT, "puts") != NULL;
    return found ? nothing : NULL;
}

int main(int argc, char **argv)
{
    (void)argc;
    pthread_t threads[2];
    int failed = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, ask, NULL);
    for (int i = 0; i < 300; i++) {
        int (*start)(void);
        void *plugin = dlopen(argv[1], i % 2 ? RTLD_NOW : RTLD_LAZY);
        *(void **)&start = plugin ? dlsym(plugin, "start") : NULL;
        failed += !start || start() != 0;
        if (plugin)
            dlclose(plugin);
    }
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("failed: %d\n", failed);
    return 0;
}
