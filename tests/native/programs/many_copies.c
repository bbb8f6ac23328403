/* Copies from memory of the heap that may go on after their call, so many that looking at all of their sources would slow the program
 * down: many_copies COUNT */
#include "gpu.h"

enum { BYTES = 256, PLACES = 64 };

int main(int argc, char **argv)
{
    char *sources = calloc(PLACES, BYTES);
    gpu_open();
    for (long i = 0; i < number(argc, argv, 1, 1); i++)
        clEnqueueWriteBuffer(NULL, NULL, CL_FALSE, 0, BYTES, sources + i % PLACES * BYTES, 0, NULL, NULL);
    clFinish(NULL);
    return 0;
}
