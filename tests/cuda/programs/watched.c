/* Memory that a launch was not given. What is printed is the same with and without anybody watching.
 *
 *   watched ok         many families, copies by range, streams, threads: all of it correct
 *   watched past       a launch writes right behind its own memory, into other memory
 *   watched many       the same, as one of many launches before the next wait
 *   watched far        a launch writes into other memory, far from its own
 *   watched follow     correct: a launch has an address from memory
 *   watched capture    correct: work that is captured and started as a graph
 *   watched still      correct: a stream is given work, and not waited for
 *   watched shared     a launch writes outside of its own, into memory that other processes may write, too */
#include <pthread.h>

#include "reach.h"

enum { BYTES = 4000 };
static const char image[] = "kernel poke 8 8 4\nkernel follow 8 8 4\nkernel add 8 8 8 4\n";
static CUcontext context;
static CUfunction poke, follow, add;
static CUstream stream, second;

static void launch(CUfunction kernel, CUstream where, CUdeviceptr data, int64_t at, float value)
{
    void *params[] = { &data, &at, &value };
    CHECK(DO(cuLaunchKernel)(kernel, 1, 1, 1, 32, 1, 1, 0, where, params, NULL));
}

static CUdeviceptr memory(size_t bytes)
{
    CUdeviceptr made;
    CHECK(DO(cuMemAlloc_v2)(&made, bytes));
    CHECK(DO(cuMemsetD8_v2)(made, 1, bytes));
    CHECK(DO(cuStreamSynchronize)(NULL));  /* `second` does not wait for the default stream */
    return made;
}

static void done(void)
{
    CHECK(DO(cuStreamSynchronize)(stream));
}

static void print(CUdeviceptr at)
{
    float value = 0;
    CHECK(DO(cuMemcpyDtoH_v2)(&value, at, sizeof value));
    printf("%g\n", value);
}

static void past(int before, int after)
{
    CUdeviceptr mine = memory(BYTES), other = memory(BYTES);
    int64_t end = (int64_t)(other - mine) / 4;
    done();
    for (int i = 0; i < before; i++)
        launch(poke, stream, mine, i, 2);
    launch(poke, stream, mine, end, 3);
    for (int i = 0; i < after; i++)
        launch(poke, stream, mine, i, 4);
    done();
    print(other);
}

static void far(int shared)
{
    CUdeviceptr mine = memory(BYTES), between = memory(100000), other = memory(BYTES);
    CUipcMemHandle handle;
    if (shared)
        CHECK(DO(cuIpcGetMemHandle)(&handle, other));
    done();
    launch(poke, stream, mine, (int64_t)(other - mine) / 4, 3);
    done();
    print(other);
    print(between);
}

static void by_table(void)
{
    CUdeviceptr table = memory(64), other = memory(BYTES);
    CHECK(DO(cuMemcpyHtoD_v2)(table, &other, sizeof other));
    launch(follow, stream, table, 0, 3);
    done();
    launch(follow, stream, table, 1, 3);
    done();
    print(other);
}

static void captured(void)
{
    CUdeviceptr mine = memory(BYTES), other = memory(BYTES);
    CUgraph graph;
    CUgraphExec exec;
    CHECK(DO(cuCtxSynchronize)());
    CHECK(DO(cuStreamBeginCapture_v2)(stream, 2));
    launch(poke, stream, mine, 0, 3);
    launch(poke, second, other, 0, 4);
    CHECK(DO(cuStreamSynchronize)(second));
    CHECK(DO(cuStreamEndCapture)(stream, &graph));
    CHECK(DO(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    CHECK(DO(cuGraphLaunch)(exec, stream));
    done();
    print(mine);
    print(other);
}

static void still(void)
{
    CUdeviceptr mine = memory(BYTES), other = memory(BYTES);
    launch(poke, second, mine, 0, 3);
    launch(poke, stream, other, 0, 4);
    done();
    CHECK(DO(cuMemFree_v2)(memory(BYTES)));
    print(other);
}

static void *work(void *number)
{
    CHECK(DO(cuCtxSetCurrent)(context));
    for (int i = 0; i < 50; i++) {
        CUdeviceptr one = memory(100 + 4 * (size_t)i);
        launch(poke, *(int *)number % 2 ? stream : second, one, i % 25, (float)i);
        CHECK(DO(cuStreamSynchronize)(*(int *)number % 2 ? stream : second));
        CHECK(DO(cuMemFree_v2)(one));
    }
    return NULL;
}

static void threads(void)
{
    pthread_t made[4];
    int numbers[4] = { 0, 1, 2, 3 };
    for (int i = 0; i < 4; i++)
        pthread_create(&made[i], NULL, work, &numbers[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(made[i], NULL);
}

static void ok(void)
{
    CUdeviceptr a = memory(BYTES), b = memory(BYTES), managed, ordered, rows;
    size_t pitch;
    float values[10] = { 1, 2, 3 };
    CHECK(DO(cuMemAllocManaged)(&managed, BYTES, 1));
    CHECK(DO(cuMemAllocAsync)(&ordered, BYTES, stream));
    CHECK(DO(cuMemAllocPitch_v2)(&rows, &pitch, 100, 7, 4));
    for (int i = 0; i < 10; i++) {
        int n = 100;
        void *params[] = { &a, &b, &ordered, &n };
        values[0] = (float)i;
        CHECK(DO(cuMemcpyHtoD_v2)(a + 40 * (size_t)i, values, sizeof values));
        CHECK(DO(cuMemcpyDtoD_v2)(b + 400, a, 40));
        CHECK(DO(cuMemsetD8_v2)(rows + 3, (unsigned char)i, 5));
        CHECK(DO(cuLaunchKernel)(add, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
        CHECK(DO(cuCtxSynchronize)());
        launch(poke, second, b + 4 * (size_t)i, 0, (float)i);
        *(float *)managed = (float)i;
        done();
        CHECK(DO(cuCtxSynchronize)());
    }
    print(ordered);
    CHECK(DO(cuMemFreeAsync)(ordered, stream));
    CHECK(DO(cuMemFree_v2)(a));
    CHECK(DO(cuMemFree_v2)(rows));
    CHECK(DO(cuStreamDestroy_v2)(second));
    CHECK(DO(cuStreamCreate)(&second, 1));
    threads();
    print(b);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "ok";
    CUmodule module;
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    CHECK(DO(cuModuleLoadData)(&module, image));
    CHECK(DO(cuModuleGetFunction)(&poke, module, "poke"));
    CHECK(DO(cuModuleGetFunction)(&follow, module, "follow"));
    CHECK(DO(cuModuleGetFunction)(&add, module, "add"));
    CHECK(DO(cuStreamCreate)(&stream, 0));
    CHECK(DO(cuStreamCreate)(&second, 1));
    if (!strcmp(what, "ok"))
        ok();
    else if (!strcmp(what, "past"))
        past(0, 0);
    else if (!strcmp(what, "many"))
        past(20, 20);
    else if (!strcmp(what, "far") || !strcmp(what, "shared"))
        far(!strcmp(what, "shared"));
    else if (!strcmp(what, "follow"))
        by_table();
    else if (!strcmp(what, "capture"))
        captured();
    else if (!strcmp(what, "still"))
        still();
    CHECK(DO(cuCtxDestroy_v2)(context));
    puts("done");
    return 0;
}
