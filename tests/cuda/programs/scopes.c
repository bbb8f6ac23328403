/* What dlsym means to a program that has nothing to do with CUDA, and to one that looks for CUDA where it is not.
 *
 * A library to open (local.c) is given as argument 1. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int answer(void)
{
    return 1;  /* the program's own; libother.so, which is linked, has one that gives 2 */
}

/* The dlsym of programs that were linked before glibc 2.34. */
#if defined(__x86_64__)
extern void *old_dlsym(void *, const char *);
__asm__(".symver old_dlsym, dlsym@GLIBC_2.2.5");
#else
#define old_dlsym dlsym
#endif

extern int from_other(void);  /* libother.so calls dlsym(RTLD_NEXT, "puts") for itself */

static int call(void *at)
{
    return at ? ((int (*)(void))at)() : -1;
}

static void show_missing(const char *what, void *at)
{
    const char *error = dlerror();
    bool undefined = error && strstr(error, "undefined symbol");
    printf("%s: %s, %s\n", what, at ? "found" : "missing", undefined ? "undefined" : "no error");
}

int main(int argc, char **argv)
{
    (void)argc;
    printf("default %d, next %d\n", call(dlsym(RTLD_DEFAULT, "answer")), call(dlsym(RTLD_NEXT, "answer")));
    printf("old default %d, next %d\n", call(old_dlsym(RTLD_DEFAULT, "answer")), call(old_dlsym(RTLD_NEXT, "answer")));
    printf("library's next: %d\n", from_other());
    void *local = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    printf("local: %d %d\n", call(dlsym(local, "answer")), call(dlsym(local, "next_answer")));
    dlerror();
    show_missing("cuInit by default", dlsym(RTLD_DEFAULT, "cuInit"));
    show_missing("cuInit in the program", dlsym(dlopen(NULL, RTLD_NOW), "cuInit"));
    show_missing("cuInit in a library", dlsym(local, "cuInit"));
    show_missing("cuBogus", dlsym(RTLD_DEFAULT, "cuBogus"));
    show_missing("puts", dlsym(RTLD_DEFAULT, "puts"));
    printf("own cu name: %d\n", call(dlsym(local, "cuCtxSynchronize")));
    return 0;
}
