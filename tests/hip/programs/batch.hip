/* Products of several matrices at once. The result is allocated for as many columns as the first factor has. */
#include "small.h"

void launch_multiply_batch(const float *a, const float *b, float *c, int count, int rows, int columns, int inner);
enum { COUNT = 4, ROWS = 32, COLUMNS = 640, INNER = 96 };

static float *zeros(size_t count)
{
    float *made;
    CHECK(hipMalloc((void **)&made, count * sizeof *made));
    CHECK(hipMemset(made, 0, count * sizeof *made));
    return made;
}

int main(int words, char **)
{
    float *a = zeros(COUNT * ROWS * INNER), *b = zeros(INNER * COLUMNS), first;
    float *c = zeros(COUNT * ROWS * (words > 1 ? COLUMNS : INNER));
    launch_multiply_batch(a, b, c, COUNT, ROWS, COLUMNS, INNER);
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(&first, c, sizeof first, hipMemcpyDeviceToHost));
    printf("%.1f\n", first);
}
