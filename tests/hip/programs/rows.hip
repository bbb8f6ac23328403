/* Multiplies each row by a factor. The structure that the kernel gets has the factors of the host instead of their copy on the device. */
#include "small.h"

#include "rows.h"

void launch_scale_rows(Rows rows, float *out);
enum { COUNT = 40, WIDTH = 300 };

static float *copy_of(const std::vector<float> &values)
{
    float *made;
    CHECK(hipMalloc((void **)&made, values.size() * sizeof(float)));
    CHECK(hipMemcpy(made, values.data(), values.size() * sizeof(float), hipMemcpyHostToDevice));
    return made;
}

int main(int words, char **)
{
    std::vector<float> values(COUNT * WIDTH, 2), scale(COUNT, 3), result(COUNT * WIDTH);
    float *device_values = copy_of(values), *device_scale = copy_of(scale), *out = copy_of(result);
    launch_scale_rows({ device_values, words > 1 ? device_scale : scale.data(), COUNT, WIDTH }, out);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(result.data(), out, result.size() * sizeof(float), hipMemcpyDeviceToHost));
    printf("%.1f\n", result[WIDTH]);
}
