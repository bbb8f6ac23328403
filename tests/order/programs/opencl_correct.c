/* Correct programs of ordinary life: nothing here is a fault, and each checks its own result. */
#include "planted_opencl.h"

#include <semaphore.h>
#include <unistd.h>

enum { FRAMES = 12, SLOTS = 2 };

static void release(cl_event *event)
{
    if (*event)
        CHECK(clReleaseEvent(*event));
    *event = NULL;
}

/* ---- a pipeline: three queues, two slots; upload, compute and download of three frames overlap ---- */

struct slot { float in[COUNT], back[COUNT]; cl_mem from, to; cl_event up, computed, down; };
static struct slot slots[SLOTS];

static void upload(struct slot *s, int frame)
{
    cl_event last = s->computed;
    for (int i = 0; i < COUNT; i++)
        s->in[i] = (float)frame;
    release(&s->up);
    CHECK(clEnqueueWriteBuffer(a, s->from, CL_FALSE, 0, BYTES, s->in, last != NULL, last ? &last : NULL, &s->up));
    CHECK(clFlush(a));
}

static void compute(struct slot *s)
{
    cl_event before[] = { s->up, s->down };
    release(&s->computed);
    add(b, s->from, ones, s->to, s->down ? 2 : 1, before, &s->computed);
    CHECK(clFlush(b));
}

static void download(struct slot *s)
{
    release(&s->down);
    CHECK(clEnqueueReadBuffer(c, s->to, CL_FALSE, 0, BYTES, s->back, 1, &s->computed, &s->down));
    CHECK(clFlush(c));
}

static void check_frame(struct slot *s, int frame)
{
    CHECK(clWaitForEvents(1, &s->down));
    for (int i = 0; i < COUNT; i++)
        if (s->back[i] != (float)frame + 1)
            printf("frame %d is wrong\n", frame), exit(1);
}

static void pipeline(void)
{
    for (int i = 0; i < SLOTS; i++)
        slots[i].from = buffer(BYTES, 0), slots[i].to = buffer(BYTES, 0);
    for (int frame = 0; frame < FRAMES; frame++) {
        struct slot *s = &slots[frame % SLOTS];
        if (frame >= SLOTS)
            check_frame(s, frame - SLOTS);
        upload(s, frame);
        compute(s);
        download(s);
    }
    for (int i = 0; i < SLOTS; i++) {
        check_frame(&slots[i], FRAMES - SLOTS + i);
        release(&slots[i].up), release(&slots[i].computed), release(&slots[i].down);
        CHECK(clReleaseMemObject(slots[i].from));
        CHECK(clReleaseMemObject(slots[i].to));
    }
}

/* ---- a queue without order: lists, barriers, and a marker that the host waits for ---- */

static void graph(void)
{
    for (int i = 0; i < FRAMES; i++) {
        cl_event filled[2], all;
        fill(loose, x, 2, &filled[0]);
        fill(loose, z, 3, &filled[1]);
        add(loose, x, z, y, 2, filled, NULL);
        CHECK(clEnqueueBarrierWithWaitList(loose, 0, NULL, NULL));
        add(loose, y, ones, w, 0, NULL, NULL);
        CHECK(clEnqueueMarkerWithWaitList(loose, 0, NULL, &all));
        CHECK(clWaitForEvents(1, &all));
        CHECK(clEnqueueReadBuffer(a, w, CL_TRUE, 0, BYTES, back, 0, NULL, NULL));
        release(&filled[0]), release(&filled[1]), release(&all);
    }
    host_result = back;
}

/* ---- a fork to two queues and a join, by events ---- */

static void fork_join(void)
{
    cl_event joined = NULL;
    for (int i = 0; i < FRAMES; i++) {
        cl_event written, branches[2];
        CHECK(clEnqueueWriteBuffer(a, x, CL_FALSE, 0, BYTES, in, 0, NULL, &written));
        CHECK(clFlush(a));
        add(b, x, ones, y, 1, &written, &branches[0]);
        add(c, x, ones, z, 1, &written, &branches[1]);
        CHECK(clFlush(b));
        CHECK(clFlush(c));
        release(&joined);
        add(a, y, z, w, 2, branches, &joined);
        release(&written), release(&branches[0]), release(&branches[1]);
    }
    release(&joined);
    result = w;
}

/* ---- in a queue with order, the event of the last command stands for all before it ---- */

static void later_event(void)
{
    for (int i = 0; i < FRAMES; i++) {
        cl_event last, computed;
        CHECK(clEnqueueWriteBuffer(a, x, CL_FALSE, 0, BYTES, in, 0, NULL, NULL));
        fill(a, z, 3, &last);
        CHECK(clFlush(a));
        add(b, x, ones, y, 1, &last, &computed);
        CHECK(clFlush(b));
        CHECK(clEnqueueBarrierWithWaitList(a, 1, &computed, NULL));
        release(&last), release(&computed);
    }
}

/* ---- buffers released while commands still have them: they live until these are done ---- */

static void released_early(void)
{
    for (int i = 0; i < FRAMES; i++) {
        cl_mem m = buffer(W_BYTES, 0);
        cl_event computed;
        add(a, ones, ones, m, 0, NULL, &computed);
        CHECK(clFlush(a));
        add(b, m, ones, y, 1, &computed, NULL);
        CHECK(clFlush(b));
        CHECK(clReleaseMemObject(m));
        release(&computed);
    }
}

/* ---- mappings: written by the host, read by a kernel in another queue, its result mapped ---- */

static void maps(void)
{
    for (int i = 0; i < FRAMES; i++) {
        cl_int status;
        cl_event unmapped, computed;
        float *room = clEnqueueMapBuffer(a, x, CL_TRUE, CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL, &status);
        check(status, "clEnqueueMapBuffer");
        memcpy(room, in, BYTES);
        CHECK(clEnqueueUnmapMemObject(a, x, room, 0, NULL, &unmapped));
        CHECK(clFlush(a));
        add(b, x, ones, y, 1, &unmapped, &computed);
        CHECK(clFlush(b));
        float *seen = clEnqueueMapBuffer(a, y, CL_TRUE, CL_MAP_READ, 0, BYTES, 1, &computed, NULL, &status);
        check(status, "clEnqueueMapBuffer");
        memcpy(back, seen, BYTES);
        CHECK(clEnqueueUnmapMemObject(a, y, seen, 0, NULL, NULL));
        CHECK(clFinish(a));
        release(&unmapped), release(&computed);
    }
    host_result = back;
}

/* ---- halves of one buffer in two queues, then the whole ---- */

static void halves(void)
{
    cl_mem low = part(x, 0), high = part(x, HALF);
    for (int i = 0; i < FRAMES; i++) {
        cl_event written[2];
        CHECK(clEnqueueWriteBuffer(a, low, CL_FALSE, 0, HALF, in, 0, NULL, &written[0]));
        CHECK(clEnqueueWriteBuffer(b, high, CL_FALSE, 0, HALF, in, 0, NULL, &written[1]));
        CHECK(clFlush(a));
        CHECK(clFlush(b));
        add(c, x, ones, y, 2, written, NULL);
        CHECK(clFinish(c));
        release(&written[0]), release(&written[1]);
    }
    CHECK(clReleaseMemObject(low));
    CHECK(clReleaseMemObject(high));
}

/* ---- one place of the host, used again and again: in order of one queue, or after the host has waited ---- */

static void one_place(void)
{
    for (int i = 0; i < FRAMES; i++) {
        CHECK(clEnqueueReadBuffer(a, ones, CL_FALSE, 0, BYTES, back, 0, NULL, NULL));
        CHECK(clEnqueueWriteBuffer(a, x, CL_FALSE, 0, BYTES, back, 0, NULL, NULL));
        CHECK(clFinish(a));
        for (int k = 0; k < COUNT; k++)
            back[k] += 1;
        CHECK(clEnqueueWriteBuffer(b, z, CL_TRUE, 0, BYTES, back, 0, NULL, NULL));
        add(c, x, z, y, 0, NULL, NULL);
        CHECK(clFinish(c));
    }
}

/* ---- everything is queued first, and let go by one user event ---- */

static void start_signal(void)
{
    cl_int status;
    cl_event go = clCreateUserEvent(context, &status), written, computed;
    check(status, "clCreateUserEvent");
    CHECK(clEnqueueWriteBuffer(a, x, CL_FALSE, 0, BYTES, in, 1, &go, &written));
    CHECK(clFlush(a));
    add(b, x, ones, y, 1, &written, &computed);
    CHECK(clFlush(b));
    add(c, y, x, w, 1, &computed, NULL);
    CHECK(clFlush(c));
    CHECK(clSetUserEventStatus(go, CL_COMPLETE));
    release(&go), release(&written), release(&computed);
    result = w;
}

/* ---- a marker that waits for two queues stands for both ---- */

static void marker_joins(void)
{
    for (int i = 0; i < FRAMES; i++) {
        cl_event filled[2], both, computed;
        fill(a, x, 2, &filled[0]);
        fill(b, z, 3, &filled[1]);
        CHECK(clFlush(a));
        CHECK(clFlush(b));
        CHECK(clEnqueueMarkerWithWaitList(loose, 2, filled, &both));
        CHECK(clFlush(loose));
        add(c, x, z, y, 1, &both, &computed);
        CHECK(clFlush(c));
        CHECK(clEnqueueBarrierWithWaitList(a, 1, &computed, NULL));
        CHECK(clEnqueueBarrierWithWaitList(b, 1, &computed, NULL));
        release(&filled[0]), release(&filled[1]), release(&both), release(&computed);
    }
}

/* ---- a callback of the writer's event lets the reader go: the host orders them, without a wait ---- */

static void let_go(cl_event event, cl_int status, void *given)
{
    (void)event;
    check(status, "the writer");
    CHECK(clSetUserEventStatus(given, CL_COMPLETE));
}

/* Every other time the writer is done before the callback is registered, which then runs at once, in this thread. */
static void callback(void)
{
    for (int i = 0; i < 4; i++) {
        cl_int status;
        cl_event go = clCreateUserEvent(context, &status), computed;
        check(status, "clCreateUserEvent");
        add(b, x, ones, y, 1, &go, NULL);
        add(a, ones, ones, x, 0, NULL, &computed);
        CHECK(clFlush(a));
        usleep(i % 2 ? 20000 : 0);
        CHECK(clSetEventCallback(computed, CL_COMPLETE, let_go, go));
        CHECK(clFinish(b));
        release(&go), release(&computed);
    }
}

static void wake(cl_event event, cl_int status, void *given)
{
    (void)event;
    check(status, "the writer");
    sem_post(given);
}

/* The same, but the callback wakes the host, which gives the reader to its queue. */
static void callback_wakes_host(void)
{
    cl_event computed;
    sem_t reached;
    sem_init(&reached, 0, 0);
    add(a, ones, ones, x, 0, NULL, &computed);
    CHECK(clSetEventCallback(computed, CL_COMPLETE, wake, &reached));
    CHECK(clFlush(a));
    sem_wait(&reached);
    add(b, x, ones, y, 0, NULL, NULL);
    release(&computed);
}

int main(int argc, char **argv)
{
    const struct mode modes[] = {
        { "pipeline", pipeline, 7 },
        { "graph", graph, 6 },
        { "fork-join", fork_join, 6 },
        { "later-event", later_event, 3 },
        { "released-early", released_early, 3 },
        { "maps", maps, 3 },
        { "halves", halves, 3 },
        { "one-place", one_place, 3 },
        { "start-signal", start_signal, 5 },
        { "marker-joins", marker_joins, 5 },
        { "callback", callback, 3 },
        { "callback-wakes-host", callback_wakes_host, 3 },
        { NULL, NULL, 0 },
    };
    return play(modes, argc, argv);
}
