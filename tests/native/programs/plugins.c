/* Loads a library that uses the API, uses it, unloads it; again and again, also in threads that end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static const char *path;

static void *round_trip(void *unused)
{
    int (*work)(int);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    (void)unused;
    if (!lib || !(*(void **)&work = dlsym(lib, "work")))
        return (void *)1;
    work(5);
    dlclose(lib);
    return NULL;
}

int main(int argc, char **argv)
{
    int bad = 0;
    path = argc > 1 ? argv[1] : "";
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *result = NULL;
        bad += round_trip(NULL) != NULL;
        pthread_create(&thread, NULL, round_trip, NULL);
        pthread_join(thread, &result);
        bad += result != NULL;
    }
    printf("bad %d\n", bad);
    return bad != 0;
}
