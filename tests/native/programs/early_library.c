/* A library whose constructor uses the API. The loader runs the constructors of needed libraries before those of
 * preloaded ones. */
#include "gpu.h"

__attribute__((constructor)) static void constructed(void)
{
    gpu_open();
    gpu_calls(0, 2);
}
