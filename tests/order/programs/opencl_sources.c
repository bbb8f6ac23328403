/* The source of a write that returns early is changed before anything waits for it, or in one of the ways that are allowed:
 * `prog MODE`. */
#include "planted_opencl.h"

static void write_from(const float *source)
{
    CHECK(clEnqueueWriteBuffer(a, y, CL_FALSE, 0, BYTES, source, 0, NULL, NULL));
}

static void refill(float *source, float value)
{
    for (int i = 0; i < COUNT; i++)
        source[i] = value;
}

static void refilled(void)
{
    write_from(in);
    refill(in, 8);
    CHECK(clFinish(a));
}

static void refilled_and_written_again(void)
{
    for (int i = 0; i < 3; i++) {
        refill(in, i);
        write_from(in);
    }
    CHECK(clFinish(a));
}

static void waited(void)
{
    cl_event end;
    for (int i = 0; i < 3; i++) {
        refill(in, i);
        CHECK(clEnqueueWriteBuffer(a, y, CL_FALSE, 0, BYTES, in, 0, NULL, &end));
        CHECK(clWaitForEvents(1, &end));
        CHECK(clReleaseEvent(end));
    }
}

/* Two sources in turn: each is filled again when its own write has ended. */
static void double_buffered(void)
{
    float *slots[2] = { in, back };
    cl_event ends[2] = { NULL, NULL };
    for (int i = 0; i < 8; i++) {
        if (ends[i % 2]) {
            CHECK(clWaitForEvents(1, &ends[i % 2]));
            CHECK(clReleaseEvent(ends[i % 2]));
        }
        refill(slots[i % 2], i);
        CHECK(clEnqueueWriteBuffer(a, y, CL_FALSE, 0, BYTES, slots[i % 2], 0, NULL, &ends[i % 2]));
    }
    CHECK(clFinish(a));
}

/* The queue itself brings new values into the memory, after the write. */
static void read_into(void)
{
    write_from(in);
    CHECK(clEnqueueReadBuffer(a, x, CL_FALSE, 0, BYTES, in, 0, NULL, NULL));
    CHECK(clFinish(a));
}

/* The write cannot begin before the program says that its source is filled. */
static void released_by_user_event(void)
{
    cl_int status;
    cl_event ready = clCreateUserEvent(context, &status);
    check(status, "user event");
    CHECK(clEnqueueWriteBuffer(a, y, CL_FALSE, 0, BYTES, in, 1, &ready, NULL));
    refill(in, 8);
    CHECK(clSetUserEventStatus(ready, CL_COMPLETE));
    CHECK(clFinish(a));
}

/* The program asks until the write has ended, and never waits. */
static void polled(void)
{
    cl_event end;
    cl_int state = CL_QUEUED;
    CHECK(clEnqueueWriteBuffer(a, y, CL_FALSE, 0, BYTES, in, 0, NULL, &end));
    CHECK(clFlush(a));
    while (state > CL_COMPLETE)
        CHECK(clGetEventInfo(end, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
    refill(in, 8);
    CHECK(clFinish(a));
}

static void blocking(void)
{
    CHECK(clEnqueueWriteBuffer(a, y, CL_TRUE, 0, BYTES, in, 0, NULL, NULL));
    refill(in, 8);
    CHECK(clFinish(a));
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } modes[] = {
        { "refilled", refilled }, { "again", refilled_and_written_again }, { "waited", waited },
        { "double", double_buffered }, { "read-into", read_into }, { "user-event", released_by_user_event },
        { "polled", polled }, { "blocking", blocking },
    };
    start();
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(argv[1], modes[i].name)) {
            modes[i].run();
            return 0;
        }
    return 2;
}
