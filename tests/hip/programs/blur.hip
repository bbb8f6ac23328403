/* Blurs an image. The kernel reads the row below each pixel, and below the last row there is none. */
#include "small.h"

void launch_blur(const float *in, float *out, int width, int height, bool guarded);
enum { WIDTH = 320, HEIGHT = 240 };

int main(int count, char **)
{
    std::vector<float> image(WIDTH * HEIGHT, 1.0f);
    const size_t bytes = image.size() * sizeof(float);
    float *in, *out;
    CHECK(hipMalloc((void **)&in, bytes));
    CHECK(hipMalloc((void **)&out, bytes));
    CHECK(hipMemcpy(in, image.data(), bytes, hipMemcpyHostToDevice));
    CHECK(hipMemset(out, 0, bytes));
    for (int pass = 0; pass < 3; pass++)
        launch_blur(in, out, WIDTH, HEIGHT, count > 1);
    CHECK(hipMemcpy(image.data(), out, bytes, hipMemcpyDeviceToHost));
    CHECK(hipFree(in));
    CHECK(hipFree(out));
    printf("first %.2f\n", image[0]);
}
