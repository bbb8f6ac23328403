/* Makes calls before the C library itself has been set up: not even the environment can be read then. */
#include "gpu.h"

static void at_first(void)
{
    gpu_open();
    gpu_calls(0, 2);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = at_first;

int main(void)
{
    gpu_calls(1, 2);
    puts("main");
    return 0;
}
