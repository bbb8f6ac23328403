/* Memory that a launch was not given. What is printed is the same with and without anybody watching.
 *
 *   watched ok         many families, copies by range, streams, threads: all of it correct
 *   watched past       a launch writes right behind its own memory, into other memory
 *   watched many       the same, as one of many launches before the next wait
 *   watched far        a launch writes into other memory, far from its own
 *   watched follow     correct: a launch has an address from memory
 *   watched capture    correct: work that is captured and started as a graph
 *   watched devices    correct: two devices, one of which is reset
 *   watched own        correct: the thread's own default stream
 *   watched errors     correct: what hipGetLastError tells around waits, launches, frees and streams that go */
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

void launch_poke(int *x, long at, int value, hipStream_t stream);
void launch_follow(int **table, long at, int value, hipStream_t stream);
void launch_add(const int *a, const int *b, int *sum, int count, hipStream_t stream);

enum { BYTES = 4000 };
static hipStream_t stream, second;

static void check(hipError_t status, int line)
{
    if (status != hipSuccess) {
        printf("line %d: %d\n", line, status);
        exit(1);
    }
}
#define CHECK(call) check(call, __LINE__)

static int *memory(size_t bytes)
{
    void *made;
    CHECK(hipMalloc(&made, bytes));
    CHECK(hipMemset(made, 1, bytes));
    CHECK(hipStreamSynchronize(0));  /* `second` does not wait for the default stream */
    return (int *)made;
}

static void done()
{
    CHECK(hipStreamSynchronize(stream));
}

static void print(const int *at)
{
    int value = 0;
    CHECK(hipMemcpy(&value, at, sizeof value, hipMemcpyDeviceToHost));
    printf("%d\n", value);
}

/* What looks need is made at the first one, and would lie between the two. */
static void past(int before, int after)
{
    memory(BYTES);
    done();
    int *mine = memory(BYTES), *other = memory(BYTES);
    done();
    for (int i = 0; i < before; i++)
        launch_poke(mine, i, 2, stream);
    launch_poke(mine, other - mine, 3, stream);
    for (int i = 0; i < after; i++)
        launch_poke(mine, i, 4, stream);
    done();
    print(other);
}

static void far_away()
{
    int *mine = memory(BYTES), *between = memory(100000), *other = memory(BYTES);
    done();
    for (int i = 0; i < 3; i++)
        CHECK(hipFree(nullptr));  /* nothing goes by that */
    launch_poke(mine, other - mine, 3, stream);
    done();
    print(other);
    print(between);
}

static void by_table()
{
    int *table = memory(64), *other = memory(BYTES);
    CHECK(hipMemcpy(table, &other, sizeof other, hipMemcpyHostToDevice));
    launch_follow((int **)table, 0, 3, stream);
    done();
    launch_follow((int **)table, 1, 4, stream);
    done();
    print(other);
}

static void captured()
{
    int *mine = memory(BYTES), *other = memory(BYTES);
    hipGraph_t graph;
    hipGraphExec_t exec;
    CHECK(hipDeviceSynchronize());
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
    launch_poke(mine, 0, 3, stream);
    launch_poke(other, 0, 4, second);
    CHECK(hipStreamSynchronize(second));
    CHECK(hipStreamEndCapture(stream, &graph));
    CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    CHECK(hipGraphLaunch(exec, stream));
    done();
    print(mine);
    print(other);
}

static void work(int number)
{
    hipStream_t mine = number % 2 ? stream : second;
    for (int i = 0; i < 50; i++) {
        int *one = memory(100 + 4 * (size_t)i), back = -1;
        launch_poke(one, i % 25, i, mine);
        CHECK(hipMemcpyAsync(&back, one + i % 25, sizeof back, hipMemcpyDeviceToHost, mine));
        CHECK(hipStreamSynchronize(mine));
        if (back != i)
            printf("thread %d got %d instead of %d\n", number, back, i);
        CHECK(hipFree(one));
    }
}

static void threads()
{
    std::vector<std::thread> all;
    for (int i = 0; i < 4; i++)
        all.emplace_back(work, i);
    for (std::thread &one : all)
        one.join();
}

static void ok()
{
    int *a = memory(BYTES), *b = memory(BYTES), *managed, *ordered, *rows, values[10] = {1, 2, 3};
    void *flagged, *pinned;
    size_t pitch;
    hipPitchedPtr box;
    CHECK(hipMallocManaged((void **)&managed, BYTES, hipMemAttachGlobal));
    CHECK(hipExtMallocWithFlags(&flagged, BYTES, hipDeviceMallocFinegrained));
    CHECK(hipHostMalloc(&pinned, BYTES, 0));
    CHECK(hipMallocAsync((void **)&ordered, BYTES, stream));
    CHECK(hipMallocPitch((void **)&rows, &pitch, 100, 7));
    CHECK(hipMalloc3D(&box, make_hipExtent(100, 4, 3)));
    for (int i = 0; i < 10; i++) {
        values[0] = i;
        CHECK(hipMemcpy(a + 10 * i, values, sizeof values, hipMemcpyHostToDevice));
        CHECK(hipMemcpyDtoD(b + 100, a, 40));
        CHECK(hipMemset((char *)rows + 3, i, 5));
        CHECK(hipMemset3D(box, i, make_hipExtent(100, 4, 3)));
        launch_add(a, b, ordered, 100, stream);
        CHECK(hipDeviceSynchronize());
        launch_poke(b + i, 0, i, second);
        *managed = *(int *)pinned = *(int *)flagged = i;
        done();
        CHECK(hipDeviceSynchronize());
    }
    print(ordered);
    CHECK(hipFreeAsync(ordered, stream));
    CHECK(hipFree(a));
    CHECK(hipFree(rows));
    launch_poke(b, 0, 7, second);
    CHECK(hipStreamDestroy(second));
    CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
    threads();
    print(b);
}

static void devices()
{
    int *first = memory(BYTES), *other;
    CHECK(hipSetDevice(1));
    other = memory(BYTES);
    for (int i = 0; i < 5; i++) {
        launch_poke(other, i, i, 0);
        CHECK(hipSetDevice(0));
        launch_poke(first, i, i, stream);
        done();
        CHECK(hipSetDevice(1));
        CHECK(hipDeviceSynchronize());
        CHECK(hipStreamSynchronize(stream));
    }
    print(other);
    CHECK(hipDeviceReset());
    CHECK(hipSetDevice(0));
    launch_poke(first, 0, 9, stream);
    done();
    print(first);
}

static void own()
{
    int *mine = memory(BYTES), *other = memory(BYTES);
    for (int i = 0; i < 5; i++) {
        launch_poke(mine, i, i, hipStreamPerThread);
        CHECK(hipMemcpyAsync(other + i, mine + i, 4, hipMemcpyDeviceToDevice, hipStreamPerThread));
        CHECK(hipStreamSynchronize(hipStreamPerThread));
    }
    print(other + 4);
}

static void last(const char *what)
{
    printf("%s: peek %d", what, hipPeekAtLastError());
    printf(", last %d\n", hipGetLastError());
}

static void errors()
{
    int *one = memory(BYTES), host;
    hipStream_t busy;
    CHECK(hipStreamCreateWithFlags(&busy, hipStreamNonBlocking));
    launch_poke(one, 0, 1, busy);
    done();
    last("another stream may be at work");
    launch_poke(one, 0, 1, busy);
    last("launched");
    CHECK(hipStreamDestroy(busy));
    last("a stream went");
    printf("refused %d\n", hipMemcpy(nullptr, &host, 4, hipMemcpyHostToDevice));
    last("refused");
    printf("again %d\n", hipFree(one + 1));
    last("not its start");
    CHECK(hipDeviceSynchronize());
    last("waited");
    CHECK(hipFree(one));
}

int main(int, char **words)
{
    const char *what = words[1] ? words[1] : "ok";
    CHECK(hipStreamCreate(&stream));
    CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
    if (!strcmp(what, "ok"))
        ok();
    else if (!strcmp(what, "past"))
        past(0, 0);
    else if (!strcmp(what, "many"))
        past(20, 20);
    else if (!strcmp(what, "far"))
        far_away();
    else if (!strcmp(what, "follow"))
        by_table();
    else if (!strcmp(what, "capture"))
        captured();
    else if (!strcmp(what, "devices"))
        devices();
    else if (!strcmp(what, "own"))
        own();
    else if (!strcmp(what, "errors"))
        errors();
    puts("done");
    return 0;
}
