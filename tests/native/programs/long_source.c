/* A program's source in many strings: 16 MB and a little more. */
#include "gpu.h"

enum { PIECES = 17, PIECE = 1 << 20 };

int main(void)
{
    static char piece[PIECE + 1];
    const char *strings[PIECES];
    gpu_open();
    memset(piece, ' ', PIECE);
    for (int i = 0; i < PIECES; i++)
        strings[i] = piece;
    clCreateProgramWithSource(NULL, 3, strings, NULL, NULL);
    clCreateProgramWithSource(NULL, PIECES, strings, NULL, NULL);
    return 0;
}
