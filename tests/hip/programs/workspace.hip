/* Nobody looks at what hipMalloc returned for a workspace that does not fit on the device. */
#include "small.h"

void launch_partial(const float *in, float *workspace, int count);
enum { COUNT = 50000 };

int main(int words, char **)
{
    float *in, *workspace = nullptr, first = 0;
    CHECK(hipMalloc((void **)&in, COUNT * sizeof(float)));
    CHECK(hipMemset(in, 0, COUNT * sizeof(float)));
    const size_t copies = words > 1 ? 1 : (size_t)1 << 30;
    hipMalloc((void **)&workspace, copies * COUNT * sizeof(float));
    hipGetLastError();
    launch_partial(in, workspace, COUNT);
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(&first, workspace, sizeof first, hipMemcpyDeviceToHost));
    printf("%.1f\n", first);
}
