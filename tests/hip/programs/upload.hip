/* Frames are uploaded in one stream and added up in another one, which does not wait for the upload. Ends with 1 if a sum is wrong. */
#include "small.h"

void launch_total(const int *frame, long *total, int count, hipStream_t stream);
enum { COUNT = 1 << 18, FRAMES = 6 };

int main(int words, char **)
{
    hipStream_t uploads, sums;
    hipEvent_t uploaded, summed;
    int *pinned, *frame;
    long *total, result = 0, wanted = 0;
    CHECK(hipStreamCreateWithFlags(&uploads, hipStreamNonBlocking));
    CHECK(hipStreamCreateWithFlags(&sums, hipStreamNonBlocking));
    CHECK(hipEventCreateWithFlags(&uploaded, hipEventDisableTiming));
    CHECK(hipEventCreateWithFlags(&summed, hipEventDisableTiming));
    CHECK(hipHostMalloc((void **)&pinned, FRAMES * COUNT * sizeof(int), 0));
    CHECK(hipMalloc((void **)&frame, COUNT * sizeof(int)));
    CHECK(hipMalloc((void **)&total, sizeof(long)));
    CHECK(hipMemset(frame, 0, COUNT * sizeof(int)));
    CHECK(hipMemset(total, 0, sizeof(long)));
    CHECK(hipDeviceSynchronize());
    for (int i = 0; i < FRAMES * COUNT; i++)
        wanted += pinned[i] = i / COUNT + 1;
    for (int i = 0; i < FRAMES; i++) {
        CHECK(hipMemcpyAsync(frame, pinned + i * COUNT, COUNT * sizeof(int), hipMemcpyHostToDevice, uploads));
        CHECK(hipEventRecord(uploaded, uploads));
        if (words > 1)
            CHECK(hipStreamWaitEvent(sums, uploaded, 0));
        launch_total(frame, total, COUNT, sums);
        CHECK(hipEventRecord(summed, sums));
        CHECK(hipStreamWaitEvent(uploads, summed, 0));
    }
    CHECK(hipStreamSynchronize(sums));
    CHECK(hipMemcpy(&result, total, sizeof result, hipMemcpyDeviceToHost));
    printf("%ld, expected %ld\n", result, wanted);
    return result != wanted;
}
