/* Correct programs of ordinary life: nothing here is a fault, and each checks its own result. */
#include "planted_cuda.h"

#include <pthread.h>

enum { FRAMES = 12, SLOTS = 2, WORKERS = 3 };

/* ---- a pipeline: three streams, two slots; upload, compute and download of three frames overlap ---- */

struct slot { float *in, *back; CUdeviceptr from, to; CUevent up, computed, down; };

static void make_slot(struct slot *s)
{
    s->in = pinned(BYTES, 0), s->back = pinned(BYTES, 0);
    s->from = buffer(BYTES, 0), s->to = buffer(BYTES, 0);
    CHECK(cuEventCreate(&s->up, 2));
    CHECK(cuEventCreate(&s->computed, 2));
    CHECK(cuEventCreate(&s->down, 2));
}

static void check_frame(const struct slot *s, int frame)
{
    CHECK(cuEventSynchronize(s->down));
    for (int i = 0; i < COUNT; i++)
        if (s->back[i] != (float)frame + 1)
            printf("frame %d is wrong\n", frame), exit(1);
}

/* In the first rounds the waits are for events that nobody has recorded yet: they do nothing, and nothing is needed. */
static void do_frame(struct slot *s, int frame)
{
    CHECK(cuEventSynchronize(s->up));
    for (int i = 0; i < COUNT; i++)
        s->in[i] = (float)frame;
    CHECK(cuStreamWaitEvent(a, s->computed, 0));
    CHECK(cuMemcpyHtoDAsync_v2(s->from, s->in, BYTES, a));
    CHECK(cuEventRecord(s->up, a));
    CHECK(cuStreamWaitEvent(b, s->up, 0));
    CHECK(cuStreamWaitEvent(b, s->down, 0));
    add(b, s->from, ones, s->to);
    CHECK(cuEventRecord(s->computed, b));
    CHECK(cuStreamWaitEvent(c, s->computed, 0));
    CHECK(cuMemcpyDtoHAsync_v2(s->back, s->to, BYTES, c));
    CHECK(cuEventRecord(s->down, c));
}

static void pipeline(void)
{
    struct slot slots[SLOTS];
    for (int i = 0; i < SLOTS; i++)
        make_slot(&slots[i]);
    CHECK(cuCtxSynchronize());
    for (int frame = 0; frame < FRAMES; frame++) {
        if (frame >= SLOTS)
            check_frame(&slots[frame % SLOTS], frame - SLOTS);
        do_frame(&slots[frame % SLOTS], frame);
    }
    for (int frame = FRAMES - SLOTS; frame < FRAMES; frame++)
        check_frame(&slots[frame % SLOTS], frame);
    for (int i = 0; i < SLOTS; i++) {
        CHECK(cuMemFree_v2(slots[i].from));
        CHECK(cuMemFree_v2(slots[i].to));
        CHECK(cuMemFreeHost(slots[i].in));
        CHECK(cuMemFreeHost(slots[i].back));
    }
}

/* ---- one event, recorded again and again ---- */

static void fork_join(void)
{
    for (int i = 0; i < FRAMES; i++) {
        CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
        CHECK(cuEventRecord(done, a));
        CHECK(cuStreamWaitEvent(b, done, 0));
        CHECK(cuStreamWaitEvent(c, done, 0));
        add(b, x, ones, y);
        add(c, x, ones, z);
        order(b, a, other);
        order(c, a, other);
        add(a, y, z, w);
    }
    result = w;
}

/* ---- events made and destroyed in every round: handles come again, and a destroyed event still orders ---- */

static void short_events(void)
{
    for (int i = 0; i < FRAMES; i++) {
        CUevent event;
        CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
        CHECK(cuEventCreate(&event, 2));
        order(a, b, event);
        CHECK(cuEventDestroy_v2(event));
        add(b, x, ones, y);
        CHECK(cuEventCreate(&event, 2));
        order(b, a, event);
        CHECK(cuEventDestroy_v2(event));
    }
}

/* ---- streams and memory made anew in every round: handles and addresses come again ---- */

static void short_streams(void)
{
    for (int i = 0; i < FRAMES; i++) {
        CUstream queue;
        CHECK(cuStreamCreate(&queue, CU_STREAM_NON_BLOCKING));
        order(b, queue, other);
        CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, queue));
        order(queue, b, done);
        CHECK(cuStreamDestroy_v2(queue));
        add(b, x, ones, y);
    }
}

static void short_memory(void)
{
    for (int i = 0; i < FRAMES; i++) {
        CUdeviceptr m;
        CUstream queue = i % 2 ? a : b;
        CHECK(cuMemAlloc_v2(&m, M_BYTES));
        add(queue, ones, ones, m);
        add(queue, m, ones, i % 2 ? y : z);
        CHECK(cuStreamSynchronize(queue));
        CHECK(cuMemFree_v2(m));
    }
}

/* ---- one event for many readers in turn; the writer waits for each of them ---- */

static void readers(void)
{
    CUstream all[] = { a, b, c };
    CUdeviceptr outs[] = { y, z, w };
    for (int i = 0; i < FRAMES; i++) {
        CUstream writer = all[i % 3];
        CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, writer));
        CHECK(cuEventRecord(done, writer));
        for (int k = 0; k < 3; k++) {
            CHECK(cuStreamWaitEvent(all[k], done, 0));
            add(all[k], x, ones, outs[k]);
            order(all[k], all[(i + 1) % 3], other);
        }
    }
}

/* ---- the allocator of streams: freed where it was made, where it was used last, and addresses that come again ---- */

static void allocator(void)
{
    for (int i = 0; i < FRAMES; i++) {
        CUdeviceptr m;
        CHECK(cuMemAllocAsync(&m, M_BYTES, a));
        add(a, ones, ones, m);
        order(a, b, done);
        add(b, m, ones, y);
        if (i % 2) {
            order(b, a, other);
            CHECK(cuMemFreeAsync(m, a));
        } else {
            CHECK(cuMemFreeAsync(m, b));
        }
    }
}

/* ---- a captured graph, launched often, its output changed between launches ---- */

static void point_at(CUgraphExec exec, CUgraphNode node, CUdeviceptr *out)
{
    CUDA_KERNEL_NODE_PARAMS params;
    CHECK(cuGraphKernelNodeGetParams_v2(node, &params));
    void *values[] = { params.params[0], params.params[1], out, params.params[3] };
    params.params = values;
    CHECK(cuGraphExecKernelNodeSetParams_v2(exec, node, &params));
}

static void graph(void)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    size_t count = 1;
    CHECK(cuStreamBeginCapture_v2(a, 0));
    add(a, x, ones, y);
    CHECK(cuStreamEndCapture(a, &graph));
    CHECK(cuGraphGetNodes(graph, &node, &count));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < FRAMES; i++) {
        point_at(exec, node, i % 2 ? &z : &y);
        CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
        CHECK(cuGraphLaunch(exec, a));
        order(a, b, done);
        CHECK(cuMemcpyDtoHAsync_v2(back, i % 2 ? z : y, BYTES, b));
        order(b, a, other);
    }
    host_result = back;
    CHECK(cuCtxSynchronize());
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

/* ---- a capture that forks into another stream and joins again; that stream is then used beside the graph ---- */

static CUgraph forked(void)
{
    CUgraph graph;
    CHECK(cuStreamBeginCapture_v2(a, 0));
    add(a, ones, ones, x);
    order(a, b, done);
    add(b, x, ones, y);
    add(a, x, ones, z);
    order(b, a, other);
    add(a, y, z, w);
    CHECK(cuStreamEndCapture(a, &graph));
    return graph;
}

static void captured_fork(void)
{
    CUgraph graph = forked();
    CUgraphExec exec;
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < FRAMES; i++) {
        CHECK(cuGraphLaunch(exec, a));
        order(a, b, done);
        add(b, w, ones, y);
        order(b, a, other);
    }
    CHECK(cuCtxSynchronize());
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

/* ---- the legacy default stream stands between all blocking streams ---- */

static void default_streams(void)
{
    CUstream first, second;
    CHECK(cuStreamCreate(&first, 0));
    CHECK(cuStreamCreate(&second, 0));
    for (int i = 0; i < FRAMES; i++) {
        CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, LEGACY));
        add(first, x, ones, y);
        add(second, x, ones, z);
        add(LEGACY, y, z, w);
        CHECK(cuMemcpyDtoHAsync_v2(back, w, BYTES, PER_THREAD));
        CHECK(cuMemsetD8_v2(w, 0, BYTES));
    }
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamDestroy_v2(first));
    CHECK(cuStreamDestroy_v2(second));
    host_result = back;
}

/* ---- threads with a stream each and parts of one allocation, as from a pool ---- */

struct worker { pthread_t thread; CUdeviceptr part; float *room; };

static void *work(void *given)
{
    struct worker *me = given;
    CUstream queue;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&queue, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < FRAMES; i++) {
        CHECK(cuMemcpyHtoDAsync_v2(me->part, in, BYTES, queue));
        add(queue, me->part, ones, me->part + BYTES);
        CHECK(cuMemcpyDtoHAsync_v2(me->room, me->part + BYTES, BYTES, queue));
        CHECK(cuStreamSynchronize(queue));
    }
    CHECK(cuStreamDestroy_v2(queue));
    return NULL;
}

static void pool(void)
{
    struct worker workers[WORKERS];
    CUdeviceptr all;
    CHECK(cuMemAlloc_v2(&all, 2 * BYTES * WORKERS));
    for (int i = 0; i < WORKERS; i++) {
        workers[i].part = all + (CUdeviceptr)(2 * BYTES * i);
        workers[i].room = pinned(BYTES, 0);
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].room[COUNT - 1] != 3)
            printf("worker %d is wrong\n", i), exit(1);
        CHECK(cuMemFreeHost(workers[i].room));
    }
    CHECK(cuMemFree_v2(all));
}

/* ---- each thread in its own default stream; the legacy default stream waits for all of them ---- */

static void *work_by_default(void *given)
{
    struct worker *me = given;
    CHECK(cuCtxSetCurrent(context));
    for (int i = 0; i < FRAMES; i++) {
        CHECK(cuMemcpyHtoDAsync_v2(me->part, in, BYTES, PER_THREAD));
        add(PER_THREAD, me->part, ones, me->part);
    }
    return NULL;
}

static void thread_defaults(void)
{
    struct worker workers[] = { { .part = x }, { .part = z }, { .part = w } };
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i].thread, NULL, work_by_default, &workers[i]);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    add(LEGACY, x, z, y);
    add(LEGACY, y, w, y);
}

/* ---- the host waits, in every way it can, and then gives work to another stream ---- */

static void host_waits(void)
{
    for (int i = 0; i < FRAMES; i++) {
        CHECK(cuMemcpyHtoDAsync_v2(x, in, BYTES, a));
        CHECK(cuEventRecord(done, a));
        if (i % 4 == 0)
            CHECK(cuStreamSynchronize(a));
        if (i % 4 == 1)
            CHECK(cuEventSynchronize(done));
        while (i % 4 == 2 && cuStreamQuery(a) == CUDA_ERROR_NOT_READY)
            ;
        while (i % 4 == 3 && cuEventQuery(done) == CUDA_ERROR_NOT_READY)
            ;
        add(b, x, ones, y);
        CHECK(cuMemcpyDtoHAsync_v2(back, y, BYTES, b));
        CHECK(cuStreamSynchronize(b));
    }
    host_result = back;
}

int main(int argc, char **argv)
{
    const struct mode modes[] = {
        { "pipeline", pipeline, 7 },
        { "fork-join", fork_join, 6 },
        { "short-events", short_events, 3 },
        { "short-streams", short_streams, 3 },
        { "short-memory", short_memory, 3 },
        { "readers", readers, 3 },
        { "allocator", allocator, 3 },
        { "graph", graph, 3 },
        { "captured-fork", captured_fork, 7 },
        { "default-streams", default_streams, 6 },
        { "pool", pool, 7 },
        { "thread-defaults", thread_defaults, 9 },
        { "host-waits", host_waits, 3 },
        { NULL, NULL, 0 },
    };
    return play(modes, argc, argv);
}
