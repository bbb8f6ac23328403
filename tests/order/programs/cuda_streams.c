/* Two streams use one buffer: events that are missing, too early, stale or of something else, and the default streams. */
#include "planted_cuda.h"

enum { HALF = BYTES / 2 };

static void no_event(void)
{
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
    if (twin)
        order(a, b, done);
    add(b, x, ones, y);
}

/* An event stands for what was in its stream when it was recorded. */
static void event_too_early(void)
{
    if (!twin)
        CHECK(cuEventRecord(done, a));
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
    if (twin)
        CHECK(cuEventRecord(done, a));
    CHECK(cuStreamWaitEvent(b, done, 0));
    add(b, x, ones, y);
}

static void wait_on_wrong_stream(void)
{
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
    CHECK(cuEventRecord(done, a));
    CHECK(cuStreamWaitEvent(twin ? b : c, done, 0));
    CHECK(cuMemsetD8Async(z, 0, BYTES, c));
    add(b, x, ones, y);
}

static void other_event(void)
{
    CHECK(cuMemsetD8Async(z, 0, BYTES, c));
    CHECK(cuEventRecord(other, c));
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
    CHECK(cuEventRecord(done, a));
    CHECK(cuStreamWaitEvent(b, twin ? done : other, 0));
    add(b, x, ones, y);
}

/* A wait for an event that was never recorded is no wait. */
static void recorded_after_wait(void)
{
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
    if (twin)
        CHECK(cuEventRecord(done, a));
    CHECK(cuStreamWaitEvent(b, done, 0));
    if (!twin)
        CHECK(cuEventRecord(done, a));
    add(b, x, ones, y);
}

/* The second wait is for the first record. */
static void stale_event(void)
{
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
    order(a, b, done);
    add(b, x, ones, y);
    order(b, a, other);
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
    if (twin)
        CHECK(cuEventRecord(done, a));
    CHECK(cuStreamWaitEvent(b, done, 0));
    add(b, x, ones, y);
}

static void default_stream(void)
{
    CUstream queue;
    CHECK(cuStreamCreate(&queue, twin ? 0 : CU_STREAM_NON_BLOCKING));
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, LEGACY));
    add(queue, x, ones, y);
    CHECK(cuStreamSynchronize(queue));
    CHECK(cuStreamDestroy_v2(queue));
}

/* The other way round: the default stream does not wait for a non-blocking one. */
static void default_stream_reads(void)
{
    CUstream queue;
    CHECK(cuStreamCreate(&queue, twin ? 0 : CU_STREAM_NON_BLOCKING));
    add(queue, ones, ones, y);
    CHECK(cuMemcpyDtoHAsync_v2(back, y, BYTES, LEGACY));
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamDestroy_v2(queue));
    host_result = back;
}

/* A thread's default stream is ordered with the legacy default stream, and with no other. */
static void per_thread_stream(void)
{
    CUstream blocking;
    CHECK(cuStreamCreate(&blocking, 0));
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, PER_THREAD));
    add(twin ? LEGACY : blocking, x, ones, y);
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamDestroy_v2(blocking));
}

static void memset_async(void)
{
    CHECK(cuMemsetD8Async(x, 0, BYTES, a));
    if (twin)
        order(a, b, done);
    add(b, x, ones, y);
}

/* Its name has no Async, yet the host does not wait for it, and a non-blocking stream does not either. */
static void memset_sync(void)
{
    CHECK(cuMemsetD8_v2(x, 0, BYTES));
    if (twin)
        CHECK(cuStreamSynchronize(LEGACY));
    add(b, x, ones, y);
}

/* The same with a copy from device to device. */
static void copy_sync(void)
{
    CHECK(cuMemcpyDtoD_v2(x, ones, BYTES));
    if (twin)
        CHECK(cuCtxSynchronize());
    add(b, x, ones, y);
}

static void write_after_read(void)
{
    add(b, x, ones, y);
    if (twin)
        order(b, a, done);
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
}

static void write_write(void)
{
    add(a, ones, ones, x);
    if (twin)
        order(a, b, done);
    add(b, ones, y, x);
    result = x;
}

static void result_copy(void)
{
    add(a, ones, ones, y);
    if (twin)
        order(a, b, done);
    CHECK(cuMemcpyDtoHAsync_v2(back, y, BYTES, b));
    host_result = back;
}

/* The host waits for its copy, and for no stream but the default one. */
static void download_sync(void)
{
    add(a, ones, ones, y);
    if (twin)
        CHECK(cuStreamSynchronize(a));
    CHECK(cuMemcpyDtoH_v2(back, y, BYTES));
    host_result = back;
}

/* a before b, b before c; the first of the two is missing. */
static void broken_chain(void)
{
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
    if (twin)
        order(a, b, done);
    CHECK(cuMemsetD8Async(z, 0, BYTES, b));
    order(b, c, other);
    add(c, x, ones, y);
}

/* Blocking streams are not ordered with each other; what the default stream is given in between orders them. */
static void through_default_stream(void)
{
    CUstream first, second;
    CHECK(cuStreamCreate(&first, 0));
    CHECK(cuStreamCreate(&second, 0));
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, first));
    CHECK(cuMemsetD8Async(z, 0, BYTES, twin ? LEGACY : c));
    add(second, x, ones, y);
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamDestroy_v2(first));
    CHECK(cuStreamDestroy_v2(second));
}

/* To destroy a stream is not to wait for it; the next one may have its handle, and is another stream. */
static void recycled_stream(void)
{
    CUstream queue;
    CHECK(cuStreamCreate(&queue, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, queue));
    if (twin)
        CHECK(cuStreamSynchronize(queue));
    CHECK(cuStreamDestroy_v2(queue));
    CHECK(cuStreamCreate(&queue, CU_STREAM_NON_BLOCKING));
    add(queue, x, ones, y);
    CHECK(cuStreamSynchronize(queue));
    CHECK(cuStreamDestroy_v2(queue));
}

/* Two branches, and only one of them is waited for. */
static void half_join(void)
{
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
    order(a, b, done);
    order(a, c, done);
    add(b, x, ones, y);
    add(c, x, ones, z);
    order(b, a, other);
    if (twin)
        order(c, a, other);
    add(a, y, z, w);
    result = w;
}

static void sync_of_wrong_stream(void)
{
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
    CHECK(cuStreamSynchronize(twin ? a : c));
    add(b, x, ones, y);
}

/* "Not ready" is an answer too. */
static void query_ignored(void)
{
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
    CHECK(cuEventRecord(done, a));
    while (cuEventQuery(done) == CUDA_ERROR_NOT_READY && twin)
        ;
    add(b, x, ones, y);
}

/* Halves of one buffer may be filled at once, if they are halves. */
static void halves(void)
{
    CHECK(cuMemcpyHtoDAsync_v2(x, in, HALF + (twin ? 0 : 4), a));
    CHECK(cuMemcpyHtoDAsync_v2(x + HALF, in, HALF, b));
    result = x;
}

int main(int argc, char **argv)
{
    const struct mode modes[] = {
        { "no-event", no_event, 3 },
        { "event-too-early", event_too_early, 3 },
        { "wait-on-wrong-stream", wait_on_wrong_stream, 3 },
        { "other-event", other_event, 3 },
        { "recorded-after-wait", recorded_after_wait, 3 },
        { "stale-event", stale_event, 3 },
        { "default-stream", default_stream, 3 },
        { "default-stream-reads", default_stream_reads, 2 },
        { "per-thread-stream", per_thread_stream, 3 },
        { "memset-async", memset_async, 1 },
        { "memset-sync", memset_sync, 1 },
        { "copy-sync", copy_sync, 2 },
        { "write-after-read", write_after_read, 6 },
        { "write-write", write_write, 8 },
        { "result-copy", result_copy, 2 },
        { "download-sync", download_sync, 2 },
        { "broken-chain", broken_chain, 3 },
        { "through-default-stream", through_default_stream, 3 },
        { "recycled-stream", recycled_stream, 3 },
        { "half-join", half_join, 6 },
        { "sync-of-wrong-stream", sync_of_wrong_stream, 3 },
        { "query-ignored", query_ignored, 3 },
        { "halves", halves, 2 },
        { NULL, NULL, 0 },
    };
    return play(modes, argc, argv);
}
