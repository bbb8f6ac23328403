/* An assertion on the device. Its text goes to stderr. */
#include "check.h"

#include <cassert>

__global__ void check(int value)
{
    assert(value < 10);
}

int main()
{
    check<<<1, 4>>>(12);
    return told("sync", cudaDeviceSynchronize());
}
