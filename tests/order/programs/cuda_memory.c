/* Memory that is freed, handed on or used before the work that has it is over: on the device, and pinned on the host. */
#include "planted_cuda.h"

static void free_on_other_stream(void)
{
    CUdeviceptr m;
    CHECK(cuMemAllocAsync(&m, M_BYTES, a));
    add(a, ones, ones, m);
    order(a, b, done);
    add(b, m, ones, y);
    if (twin)
        order(b, a, other);
    CHECK(cuMemFreeAsync(m, a));
}

/* The memory is there for `a` from this point on, and for others when they are ordered after it. */
static void use_before_allocation(void)
{
    CUdeviceptr m;
    CHECK(cuMemAllocAsync(&m, M_BYTES, a));
    if (twin)
        order(a, b, done);
    add(b, ones, ones, m);
    order(b, a, other);
    CHECK(cuMemFreeAsync(m, a));
}

/* cuMemFree waits for nobody where the memory came from cuMemAllocAsync. */
static void plain_free(void)
{
    CUdeviceptr m;
    CHECK(cuMemAllocAsync(&m, M_BYTES, a));
    add(a, ones, ones, m);
    if (twin)
        CHECK(cuStreamSynchronize(a));
    CHECK(cuMemFree_v2(m));
}

static void pinned_rewritten(void)
{
    CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
    if (twin)
        order(a, b, done);
    CHECK(cuMemcpyDtoHAsync_v2(in, y, BYTES, b));
    result = x;
}

static void pinned_read_early(void)
{
    CHECK(cuMemcpyDtoHAsync_v2(back, y, BYTES, a));
    if (twin)
        CHECK(cuStreamSynchronize(a));
    CHECK(cuMemcpyHtoDAsync_v2(x, back, BYTES, b));
    result = x;
}

/* Two copies into one place of the host. */
static void pinned_written_twice(void)
{
    CHECK(cuMemcpyDtoHAsync_v2(back, x, BYTES, a));
    if (twin)
        order(a, b, done);
    CHECK(cuMemcpyDtoHAsync_v2(back, y, BYTES, b));
    host_result = back;
}

static void pinned_source_freed(void)
{
    float *m = pinned(M_BYTES, 2);
    CHECK(cuMemcpyHtoDAsync_v2(x, m, BYTES, a));
    if (twin)
        CHECK(cuStreamSynchronize(a));
    CHECK(cuMemFreeHost(m));
    result = x;
}

static void pinned_target_freed(void)
{
    float *m = pinned(M_BYTES, 2);
    CHECK(cuMemcpyDtoHAsync_v2(m, y, BYTES, a));
    if (twin)
        CHECK(cuStreamSynchronize(a));
    CHECK(cuMemFreeHost(m));
}

int main(int argc, char **argv)
{
    const struct mode modes[] = {
        { "free-on-other-stream", free_on_other_stream, 3 },
        { "use-before-allocation", use_before_allocation, 7 },
        { "plain-free", plain_free, 7 },
        { "pinned-rewritten", pinned_rewritten, 2 },
        { "pinned-read-early", pinned_read_early, 7 },
        { "pinned-written-twice", pinned_written_twice, 7 },
        { "pinned-source-freed", pinned_source_freed, 2 },
        { "pinned-target-freed", pinned_target_freed, 7 },
        { NULL, NULL, 0 },
    };
    return play(modes, argc, argv);
}
