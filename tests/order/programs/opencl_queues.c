/* Two queues, or one that keeps no order, use one buffer: wait lists, barriers, markers, flushes and user events.
 *
 * A queue whose events another queue waits for is flushed first, as the specification asks; a flush orders nothing. */
#include "planted_opencl.h"

#include <time.h>
#include <unistd.h>

static void two_queues(void)
{
    cl_event written;
    CHECK(clEnqueueWriteBuffer(a, x, CL_FALSE, 0, BYTES, in, 0, NULL, &written));
    CHECK(clFlush(a));
    add(b, x, ones, y, twin, &written, NULL);
    CHECK(clReleaseEvent(written));
}

static void out_of_order(void)
{
    cl_event filled;
    fill(loose, x, 2, &filled);
    add(loose, x, ones, y, twin, &filled, NULL);
    CHECK(clReleaseEvent(filled));
}

static void wrong_event(void)
{
    cl_event filled, written;
    fill(a, z, 0, &filled);
    CHECK(clEnqueueWriteBuffer(a, x, CL_FALSE, 0, BYTES, in, 0, NULL, &written));
    CHECK(clFlush(a));
    add(b, x, ones, y, 1, twin ? &written : &filled, NULL);
    CHECK(clReleaseEvent(filled));
    CHECK(clReleaseEvent(written));
}

/* Two producers, and a list that names one of them. */
static void half_wait_list(void)
{
    cl_event filled[2];
    fill(loose, x, 2, &filled[0]);
    fill(loose, z, 3, &filled[1]);
    add(loose, x, z, y, twin ? 2 : 1, filled, NULL);
    CHECK(clReleaseEvent(filled[0]));
    CHECK(clReleaseEvent(filled[1]));
}

static void no_barrier(void)
{
    add(loose, ones, ones, x, 0, NULL, NULL);
    if (twin)
        CHECK(clEnqueueBarrierWithWaitList(loose, 0, NULL, NULL));
    add(loose, x, ones, y, 0, NULL, NULL);
}

/* A marker waits for what came before it, but what comes after it does not wait for the marker. */
static void marker_for_barrier(void)
{
    add(loose, ones, ones, x, 0, NULL, NULL);
    if (twin)
        CHECK(clEnqueueBarrierWithWaitList(loose, 0, NULL, NULL));
    else
        CHECK(clEnqueueMarkerWithWaitList(loose, 0, NULL, NULL));
    add(loose, x, ones, y, 0, NULL, NULL);
}

/* A barrier without a list speaks of its own queue only. */
static void barrier_of_other_queue(void)
{
    cl_event computed;
    add(a, ones, ones, x, 0, NULL, &computed);
    CHECK(clFlush(a));
    CHECK(clEnqueueBarrierWithWaitList(b, twin, twin ? &computed : NULL, NULL));
    add(b, x, ones, y, 0, NULL, NULL);
    CHECK(clReleaseEvent(computed));
}

static void flush_for_finish(void)
{
    add(a, ones, ones, x, 0, NULL, NULL);
    if (twin)
        CHECK(clFinish(a));
    else
        CHECK(clFlush(a));
    add(b, x, ones, y, 0, NULL, NULL);
}

static void write_after_read(void)
{
    cl_event computed;
    add(b, x, ones, y, 0, NULL, &computed);
    CHECK(clFlush(b));
    CHECK(clEnqueueWriteBuffer(a, x, CL_FALSE, 0, BYTES, in, twin, twin ? &computed : NULL, NULL));
    CHECK(clReleaseEvent(computed));
}

/* A blocking read waits for itself, not for other queues. */
static void copy_then_read(void)
{
    cl_event copied;
    CHECK(clEnqueueCopyBuffer(a, ones, y, 0, 0, BYTES, 0, NULL, &copied));
    CHECK(clFlush(a));
    CHECK(clEnqueueReadBuffer(b, y, CL_TRUE, 0, BYTES, back, twin, twin ? &copied : NULL, NULL));
    CHECK(clReleaseEvent(copied));
    host_result = back;
}

/* A blocking read is over when its own command is; earlier ones are too if the queue keeps its order. */
static void blocking_read(void)
{
    cl_command_queue queue = twin ? a : loose;
    CHECK(clEnqueueWriteBuffer(queue, x, CL_FALSE, 0, BYTES, in, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(queue, z, CL_TRUE, 0, BYTES, back, 0, NULL, NULL));
    add(b, x, ones, y, 0, NULL, NULL);
}

static void fill_against_kernel(void)
{
    cl_event filled;
    fill(a, x, 2, &filled);
    CHECK(clFlush(a));
    add(b, x, ones, y, twin, &filled, NULL);
    CHECK(clReleaseEvent(filled));
}

/* The reader waits for a user event; the host completes it when the writer is done, or something else. */
static void user_event(void)
{
    cl_int status;
    cl_event go = clCreateUserEvent(context, &status), filled, computed;
    check(status, "clCreateUserEvent");
    add(b, x, ones, y, 1, &go, NULL);
    fill(a, z, 0, &filled);
    add(a, ones, ones, x, 0, NULL, &computed);
    CHECK(clWaitForEvents(1, twin ? &computed : &filled));
    CHECK(clSetUserEventStatus(go, CL_COMPLETE));
    CHECK(clReleaseEvent(go));
    CHECK(clReleaseEvent(filled));
    CHECK(clReleaseEvent(computed));
}

/* To ask for the status of an event is not to wait for it. Here the answer is sure to be "not complete". */
static void status_not_checked(void)
{
    cl_int status;
    cl_event go = clCreateUserEvent(context, &status), computed;
    check(status, "clCreateUserEvent");
    add(a, ones, ones, x, 1, &go, &computed);
    CHECK(clFlush(a));
    if (twin) {
        CHECK(clSetUserEventStatus(go, CL_COMPLETE));
        CHECK(clWaitForEvents(1, &computed));
    } else {
        CHECK(clGetEventInfo(computed, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    }
    add(b, x, ones, y, 0, NULL, NULL);
    if (!twin)
        CHECK(clSetUserEventStatus(go, CL_COMPLETE));
    CHECK(clReleaseEvent(go));
    CHECK(clReleaseEvent(computed));
}

/* A race that shows once in 300 runs: the copy has 150 ms before its reader comes, and the queue has other work in front of
 * the copy only if the lot falls on 0. $LOT takes the lot's place. */
static void rare(void)
{
    const char *given = getenv("LOT");
    cl_int status;
    cl_event busy = clCreateUserEvent(context, &status), copied;
    check(status, "clCreateUserEvent");
    bool late = (given ? atoi(given) : (int)(time(NULL) % 300)) == 0;
    CHECK(clEnqueueCopyBuffer(a, ones, x, 0, 0, BYTES, late, late ? &busy : NULL, &copied));
    CHECK(clFlush(a));
    usleep(150 * 1000);
    add(b, x, ones, y, twin, &copied, NULL);
    CHECK(clFlush(b));
    usleep(50 * 1000);
    CHECK(clSetUserEventStatus(busy, CL_COMPLETE));
    CHECK(clReleaseEvent(busy));
    CHECK(clReleaseEvent(copied));
}

int main(int argc, char **argv)
{
    const struct mode modes[] = {
        { "two-queues", two_queues, 3 },
        { "out-of-order", out_of_order, 3 },
        { "wrong-event", wrong_event, 3 },
        { "half-wait-list", half_wait_list, 5 },
        { "no-barrier", no_barrier, 3 },
        { "marker-for-barrier", marker_for_barrier, 3 },
        { "barrier-of-other-queue", barrier_of_other_queue, 3 },
        { "flush-for-finish", flush_for_finish, 3 },
        { "write-after-read", write_after_read, 6 },
        { "copy-then-read", copy_then_read, 1 },
        { "blocking-read", blocking_read, 3 },
        { "fill-against-kernel", fill_against_kernel, 3 },
        { "user-event", user_event, 3 },
        { "status-not-checked", status_not_checked, 3 },
        { "rare", rare, 2 },
        { NULL, NULL, 0 },
    };
    return play(modes, argc, argv);
}
