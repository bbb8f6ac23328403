/* Squares of numbers, of which only a quarter is copied to the device: hipMemcpy takes bytes. */
#include "small.h"

void launch_square(const float *in, float *out, int count);
enum { COUNT = 3000 };

int main(int words, char **)
{
    std::vector<float> values(COUNT);
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)(i + 1);
    float *in, *out, last;
    CHECK(hipMalloc((void **)&in, COUNT * sizeof(float)));
    CHECK(hipMalloc((void **)&out, COUNT * sizeof(float)));
    CHECK(hipMemcpy(in, values.data(), words > 1 ? COUNT * sizeof(float) : COUNT, hipMemcpyHostToDevice));
    launch_square(in, out, COUNT);
    CHECK(hipMemcpy(&last, out + COUNT - 1, sizeof last, hipMemcpyDeviceToHost));
    printf("%.1f\n", last);
    return last == (float)COUNT * COUNT ? 0 : 1;
}
