/* Makes calls from constructors, destructors and exit handlers. early_library.c calls still earlier. */
#include "gpu.h"

__attribute__((constructor)) static void constructed(void)
{
    gpu_open();
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
