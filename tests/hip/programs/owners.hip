/* Two owners free the same scratch memory in stream order, where the status of the second call is not looked at. */
#include "small.h"

void launch_axpy(float *y, const float *x, float a, int count);

int main(int words, char **)
{
    const int count = 1 << 16;
    float *scratch, *x, *y, *state;
    CHECK(hipMalloc((void **)&x, count * sizeof(float)));
    CHECK(hipMalloc((void **)&y, count * sizeof(float)));
    CHECK(hipMemset(x, 0, count * sizeof(float)));
    CHECK(hipMemset(y, 0, count * sizeof(float)));
    CHECK(hipMallocAsync((void **)&scratch, count * sizeof(float), 0));
    launch_axpy(scratch, x, 1, count);
    CHECK(hipFreeAsync(scratch, 0));
    CHECK(hipMallocAsync((void **)&state, count * sizeof(float), 0));
    CHECK(hipMemsetAsync(state, 0, count * sizeof(float), 0));
    if (words == 1)
        (void)hipFreeAsync(scratch, 0);
    launch_axpy(y, state, 2, count);
    CHECK(hipDeviceSynchronize());
    CHECK(hipFree(x));
    CHECK(hipFree(y));
    puts("PASS");
}
