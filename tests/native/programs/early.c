/* Makes calls before any constructor of any library has run, and after all exit handlers were registered. */
#include "gpu.h"

static void at_first(void)
{
    gpu_open();
    gpu_calls(0, 2);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = at_first;

__attribute__((constructor)) static void constructed(void)
{
    gpu_calls(1, 2);
}

__attribute__((destructor)) static void destructed(void)
{
    gpu_calls(3, 2);
}

static void at_exit(void)
{
    gpu_calls(4, 2);
}

int main(void)
{
    atexit(at_exit);
    gpu_calls(2, 2);
    puts("main");
    return 0;
}
