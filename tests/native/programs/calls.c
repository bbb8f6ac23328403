/* Makes calls and ends with a status of its own. */
#include "gpu.h"

int main(int argc, char **argv)
{
    gpu_open();
    gpu_calls(0, number(argc, argv, 1, 10));
    puts("done");
    return 7;
}
