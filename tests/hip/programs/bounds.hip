/* The kernel was compiled for blocks of at most 256 threads, and is launched with 512. Nobody asks whether the launch was accepted. */
#include "small.h"

void launch_softplus(float *data, int count, int block, hipStream_t stream);
int main(int words, char **)
{
    const int count = 1 << 16;
    float *data;
    CHECK(hipMalloc((void **)&data, count * sizeof(float)));
    CHECK(hipMemset(data, 0, count * sizeof(float)));
    launch_softplus(data, count, words > 1 ? 256 : 512, 0);
    CHECK(hipDeviceSynchronize());
    std::vector<float> got(count);
    CHECK(hipMemcpy(got.data(), data, count * sizeof(float), hipMemcpyDeviceToHost));
    for (float value : got)
        if (value != 1)
            return fprintf(stderr, "wrong: %g\n", value), 1;
    puts("PASS");
}
