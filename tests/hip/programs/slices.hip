/* Sums of slices. What the kernel needs to know is a structure that is passed by value; without a word its number of slices is rounded down.
 * With "expected" it is right, and what the sums are compared with is wrong. */
#include "small.h"
#include "slices.h"

void launch_sums(Slices slices);

int main(int words, char **word)
{
    const int width = 50, slice = 3, count = (width + slice - 1) / slice;
    const float wrong = words > 1 && *word[1] == 'e' ? 0.5f : 0.0f;
    std::vector<float> in(width), out(count);
    for (int i = 0; i < width; i++)
        in[i] = float(i + 1);
    float *device_in, *device_out;
    CHECK(hipMalloc((void **)&device_in, width * sizeof(float)));
    CHECK(hipMalloc((void **)&device_out, count * sizeof(float)));
    CHECK(hipMemcpy(device_in, in.data(), width * sizeof(float), hipMemcpyHostToDevice));
    CHECK(hipMemset(device_out, 0, count * sizeof(float)));
    for (int step = 0; step < 2; step++)
        launch_sums({ device_in, device_out, width, slice, words > 1 ? count : width / slice, 0.5f });
    CHECK(hipMemcpy(out.data(), device_out, count * sizeof(float), hipMemcpyDeviceToHost));
    for (int s = 0; s < count; s++) {
        float want = wrong;
        for (int i = s * slice; i < (s + 1) * slice && i < width; i++)
            want += in[i];
        if (out[s] != want)
            return fprintf(stderr, "FAIL: sum %d is %g, expected %g\n", s, out[s], want), 1;
    }
    puts("PASS");
}
