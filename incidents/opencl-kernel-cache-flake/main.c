/* Tests of the library. Eight take their kernel from the library's cache. Buffers.LeaveNothingBehind uses no kernel: it counts. */
#include "library.h"
#include "runner.h"
#include <math.h>
#include <string.h>

enum { ROUNDS = 40 };

static float worst(const float *in, const float *out, float scale, float shift)
{
    float most = 0;
    for (int i = 0; i < COUNT; i++)
        most = fmaxf(most, fabsf(out[i] - (in[i] * scale + shift)));
    return most;
}

/* Tests differ in how long they work: some are hit in every parallel run, others now and then. The shift differs in every test and round, so results of another launch never pass. */
static void affine(struct test *test)
{
    float in[COUNT], out[COUNT];
    cl_command_queue queue = library_queue();
    cl_mem from = library_buffer(sizeof in), to = library_buffer(sizeof out);
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)i;
    for (int round = 0; round < 20 + 5 * test->number && !test->message[0]; round++) {
        float scale = (float)(test->number + 1), shift = (float)(round * 100 + test->number), off;
        cl_mem staging = library_buffer(sizeof in);
        memset(out, 0, sizeof out);
        library_write(queue, staging, in, sizeof in);
        library_copy(queue, staging, from, sizeof in);
        library_release(staging);
        library_write(queue, to, out, sizeof out);
        library_affine(queue, from, to, scale, shift);
        library_read(queue, to, out, sizeof out);
        off = worst(in, out, scale, shift);
        if (off > 1e-3f)
            fail(test, "round %d: difference = %g, tolerance = 0.001", round, off);
    }
    library_release(from);
    library_release(to);
    clReleaseCommandQueue(queue);
}

/* As many buffers live afterwards as before. */
static void leaves_nothing(struct test *test)
{
    char data[4096];
    cl_command_queue queue = library_queue();
    memset(data, 7, sizeof data);
    for (int round = 0; round < ROUNDS && !test->message[0]; round++) {
        int before = library_live_buffers();
        cl_mem from = library_buffer(sizeof data), to = library_buffer(sizeof data);
        library_write(queue, from, data, sizeof data);
        library_copy(queue, from, to, sizeof data);
        library_read(queue, to, data, sizeof data);
        library_release(from);
        library_release(to);
        if (library_live_buffers() != before)
            fail(test, "buffers left behind: Expected %d, got %d", before, library_live_buffers());
    }
    clReleaseCommandQueue(queue);
}

static void queue_opens(struct test *test)
{
    cl_command_queue queue = library_queue();
    if (!queue)
        fail(test, "no queue");
    clReleaseCommandQueue(queue);
}

int main(int count, char **words)
{
    struct test tests[] = {
        {.suite = "Affine", .name = "Bias", .body = affine},      {.suite = "Affine", .name = "Gain", .body = affine},
        {.suite = "Affine", .name = "Rows", .body = affine},      {.suite = "Affine", .name = "Columns", .body = affine},
        {.suite = "Norm", .name = "Layer", .body = affine},       {.suite = "Norm", .name = "Batch", .body = affine},
        {.suite = "Norm", .name = "Group", .body = affine},       {.suite = "Norm", .name = "Root", .body = affine},
        {.suite = "Buffers", .name = "LeaveNothingBehind", .body = leaves_nothing},
        {.suite = "Device", .name = "QueueOpens", .body = queue_opens},
    };
    int number = (int)(sizeof tests / sizeof *tests), ended;
    for (int i = 0; i < number; i++)
        tests[i].number = i;
    for (int i = 1; i < count; i++)
        if (strcmp(words[i], "--gtest_list_tests") == 0)
            return run_tests(count, words, tests, number);
    library_open();
    ended = run_tests(count, words, tests, number);
    library_close();
    return ended;
}
