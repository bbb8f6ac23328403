/* A library that uses the API, loaded and unloaded by plugins.c. */
#include "gpu.h"

int work(int count);
int work(int count)
{
    gpu_open();
    gpu_calls(0, count);
    return count;
}
