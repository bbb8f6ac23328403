/* A batch is computed in one stream, and its memory is given back in another one, which does not wait for the first. */
#include "small.h"

void launch_accumulate(const float *batch, float *sum, int count, hipStream_t stream);
enum { COUNT = 1 << 19 };

int main(int words, char **)
{
    hipStream_t compute, cleanup;
    hipEvent_t computed;
    float *sum, *batch;
    CHECK(hipStreamCreateWithFlags(&compute, hipStreamNonBlocking));
    CHECK(hipStreamCreateWithFlags(&cleanup, hipStreamNonBlocking));
    CHECK(hipEventCreateWithFlags(&computed, hipEventDisableTiming));
    CHECK(hipMalloc((void **)&sum, COUNT * sizeof(float)));
    CHECK(hipMemset(sum, 0, COUNT * sizeof(float)));
    CHECK(hipDeviceSynchronize());
    for (int step = 0; step < 4; step++) {
        CHECK(hipMallocAsync((void **)&batch, COUNT * sizeof(float), compute));
        CHECK(hipMemsetAsync(batch, 0, COUNT * sizeof(float), compute));
        launch_accumulate(batch, sum, COUNT, compute);
        CHECK(hipEventRecord(computed, compute));
        if (words > 1)
            CHECK(hipStreamWaitEvent(cleanup, computed, 0));
        CHECK(hipFreeAsync(batch, cleanup));
    }
    CHECK(hipStreamSynchronize(compute));
    CHECK(hipStreamSynchronize(cleanup));
    CHECK(hipFree(sum));
    printf("done\n");
}
