/* Transposes a picture that is not square. Without a word its two extents are passed in the wrong order to the function that launches; with
 * "expected" they are right, and what the result is compared with is wrong. */
#include "small.h"

void launch_transpose(float *out, const float *in, int width, int height);
void launch_brighten(float *data, int count, float by);

int main(int words, char **word)
{
    const int width = 320, height = 96;
    float *in, *out;
    CHECK(hipMalloc((void **)&in, width * height * sizeof(float)));
    CHECK(hipMalloc((void **)&out, width * height * sizeof(float)));
    std::vector<float> host(width * height), got(width * height);
    for (int i = 0; i < width * height; i++)
        host[i] = float(i);
    CHECK(hipMemcpy(in, host.data(), host.size() * sizeof(float), hipMemcpyHostToDevice));
    launch_brighten(in, width * height, 1.0f);
    if (words > 1)
        launch_transpose(out, in, width, height);
    else
        launch_transpose(out, in, height, width);
    launch_brighten(out, width * height, -1.0f);
    CHECK(hipMemcpy(got.data(), out, got.size() * sizeof(float), hipMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            if (got[x * height + y] != host[y * width + x] + (words > 1 && *word[1] == 'e')) {
                fprintf(stderr, "wrong at %d, %d\n", x, y);
                return 1;
            }
    puts("PASS");
}
