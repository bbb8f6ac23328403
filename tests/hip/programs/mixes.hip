/* Mixes two arrays by way of one function, three times a step. Without a word the second of its callers passes the two factors in the wrong
 * order; with "expected" all are right, and what they are compared with is wrong. */
#include "small.h"

void launch_mix(float *out, const float *in, float keep, float add, int count);

int main(int words, char **)
{
    const int count = 32;
    const bool expected = words > 1;
    std::vector<float> in(count), out(count), want(count);
    for (int i = 0; i < count; i++)
        in[i] = float(i + 1), out[i] = want[i] = float(2 * i + 3);
    float *from, *to;
    CHECK(hipMalloc((void **)&from, count * sizeof(float)));
    CHECK(hipMalloc((void **)&to, count * sizeof(float)));
    CHECK(hipMemcpy(from, in.data(), count * sizeof(float), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(to, out.data(), count * sizeof(float), hipMemcpyHostToDevice));
    for (int step = 0; step < 4; step++) {
        launch_mix(to, from, 0.5f, 1.5f, count);
        launch_mix(to, from, expected ? 0.25f : 0.75f, expected ? 0.75f : 0.25f, count);  // the order
        launch_mix(to, from, 0.8f, 0.35f, count);
        for (int i = 0; i < count; i++)
            want[i] = 0.8f * (0.25f * (0.5f * want[i] + 1.5f * in[i]) + 0.75f * in[i]) + 0.35f * in[i] + (expected ? 0.5f : 0.0f);
    }
    CHECK(hipMemcpy(out.data(), to, count * sizeof(float), hipMemcpyDeviceToHost));
    for (int i = 0; i < count; i++)
        if (!(out[i] - want[i] < 1e-3f && want[i] - out[i] < 1e-3f)) {
            fprintf(stderr, "wrong: out[%d] = %g\n", i, out[i]);
            return 1;
        }
    puts("PASS");
}
