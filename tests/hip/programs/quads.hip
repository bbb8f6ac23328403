/* Sums of four numbers each, read at once. The header of one number was skipped, so the last read leaves the buffer; with "both" the
 * results do not fit either. */
#include "small.h"

#include <cstring>

void launch_sum_quads(const float *in, float *out, int quads);
enum { COUNT = 16384 };

int main(int words, char **word)
{
    const bool both = words > 1 && !strcmp(word[1], "both"), good = words > 1 && !both;
    float *in, *out, first;
    CHECK(hipMalloc((void **)&in, COUNT * sizeof(float)));
    CHECK(hipMalloc((void **)&out, COUNT / (both ? 16 : 4) * sizeof(float)));
    CHECK(hipMemset(in, 0, COUNT * sizeof(float)));
    launch_sum_quads(good ? in : in + 1, out, COUNT / 4);
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(&first, out, sizeof first, hipMemcpyDeviceToHost));
    printf("%.1f\n", first);
}
