/* Memory is registered twice. The error of that, which nobody looks at, is found behind a launch that was fine. With "cleared" it is cleared where
 * it is made. */
#include "small.h"

void launch_shift(float *data, int count, float by);

int main(int words, char **word)
{
    const int count = 1 << 14;
    static float host[1 << 14] __attribute__((aligned(4096)));
    float *data;
    CHECK(hipHostRegister(host, sizeof host, hipHostRegisterDefault));
    CHECK(hipMalloc((void **)&data, count * sizeof(float)));
    CHECK(hipMemcpy(data, host, sizeof host, hipMemcpyHostToDevice));
    if (words == 1 || *word[1] == 'c')
        (void)hipHostRegister(host, sizeof host, hipHostRegisterDefault);
    if (words > 1)
        (void)hipGetLastError();
    launch_shift(data, count, 1);
    hipError_t status = hipGetLastError();
    if (status != hipSuccess) {
        fprintf(stderr, "launch of shift failed: %s\n", hipGetErrorString(status));
        return 1;
    }
    CHECK(hipDeviceSynchronize());
    puts("PASS");
}
