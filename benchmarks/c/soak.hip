/* A small HIP program that does what its argument says, letter by letter: benchmarks/soak.py makes them up. It runs on the simulated
 * runtime of tests/hip/sim. */
#include <hip/hip_runtime.h>

#include <cstring>
#include <thread>

#include "soak.h"

void launch_fill(int *out, int by, hipStream_t stream);
void launch_add(int *out, const int *in, int n, hipStream_t stream);
const void *address_of_add();

enum { COUNT = 256, BYTES = COUNT * 4, BUFFERS = 4 };
static hipStream_t streams[2];
static int *buffers[BUFFERS], host[COUNT];

static void open_all()
{
    for (auto &stream : streams)
        say(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    for (auto &buffer : buffers) {
        say(hipMalloc((void **)&buffer, BYTES));
        say(hipMemcpy(buffer, host, BYTES, hipMemcpyHostToDevice));
    }
}

static void launched()
{
    say(hipGetLastError());
}

static void add_two(int i)
{
    launch_add(buffers[i], buffers[(i + 1) % BUFFERS], COUNT, streams[0]);
    launched();
}

static void by_address(int i)
{
    auto *n = new int(COUNT);  // values on the heap are read in another way than those on the stack
    int *in = buffers[(i + 1) % BUFFERS];
    void *params[] = {&buffers[i], &in, n};
    say(hipLaunchKernel(address_of_add(), dim3(4), dim3(64), params, 0, streams[0]));
    delete n;
}

static void short_lived()
{
    int *memory;
    hipError_t status = hipMallocAsync((void **)&memory, BYTES, streams[0]);
    say(status);
    if (status)
        return;
    launch_fill(memory, 3, streams[0]);
    launched();
    say(hipFreeAsync(memory, streams[0]));
}

static void refused()
{
    void *memory;
    int local = 0;
    say(hipMalloc(nullptr, 8));
    say(hipMemcpy(nullptr, nullptr, 16, hipMemcpyDeviceToHost));
    say(hipFree(&local));
    say(hipMalloc(&memory, ~(size_t)0 >> 1));
    say(hipGetLastError());
}

static void graphs()
{
    hipGraph_t graph;
    hipGraphExec_t exec;
    say(hipStreamBeginCapture(streams[0], hipStreamCaptureModeGlobal));
    add_two(1);
    hipError_t status = hipStreamEndCapture(streams[0], &graph);
    say(status);
    if (status)
        return;
    say(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    say(hipGraphLaunch(exec, streams[0]));
    say(hipStreamSynchronize(streams[0]));
    say(hipGraphExecDestroy(exec));
    say(hipGraphDestroy(graph));
}

// The second stream reads what the first one wrote, ordered by an event.
static void by_events()
{
    hipEvent_t event;
    if (hipEventCreate(&event))
        return;
    launch_fill(buffers[0], 5, streams[0]);
    launched();
    say(hipEventRecord(event, streams[0]));
    say(hipStreamWaitEvent(streams[1], event, 0));
    launch_add(buffers[3], buffers[0], COUNT, streams[1]);
    launched();
    say(hipStreamSynchronize(streams[1]));
    say(hipEventDestroy(event));
}

static void threads()
{
    std::thread all[3];
    for (auto &one : all)
        one = std::thread([] {
            int *memory;
            if (hipMalloc((void **)&memory, BYTES))
                return;
            launch_fill(memory, 1, streams[0]);
            hipStreamSynchronize(streams[0]);
            hipFree(memory);
        });
    for (auto &one : all)
        one.join();
}

static void pinned()
{
    int *memory;
    hipError_t status = hipHostMalloc((void **)&memory, BYTES, 0);
    say(status);
    if (status)
        return;
    say(hipMemcpyAsync(memory, buffers[1], BYTES, hipMemcpyDeviceToHost, streams[0]));
    say(hipStreamSynchronize(streams[0]));
    printf("%d\n", memory[7]);
    say(hipHostFree(memory));
}

static void queries()
{
    hipDeviceptr_t base = nullptr;
    size_t bytes = 0;
    say(hipMemGetAddressRange(&base, &bytes, (hipDeviceptr_t)(buffers[2] + 2)));
    printf("%zu %d\n", bytes, base == buffers[2]);
}

static void show(int i)
{
    long sum = 0;
    say(hipStreamSynchronize(streams[0]));
    say(hipMemcpy(host, buffers[i], BYTES, hipMemcpyDeviceToHost));
    for (int value : host)
        sum += value;
    printf("%ld\n", sum);
}

// A kernel that writes to address 0: an error of all later calls, or the runtime's last words.
static void device_fault()
{
    fflush(stdout);
    say(hipDeviceSynchronize());
    launch_fill(nullptr, 1, streams[0]);
    say(hipDeviceSynchronize());
    add_two(0);
    say(hipMemcpy(host, buffers[0], BYTES, hipMemcpyDeviceToHost));
}

static void step(char what)
{
    switch (what) {
    case 'f': case 'g': case 'h': launch_fill(buffers[what - 'f'], what, streams[0]); launched(); break;
    case 'a': case 'b': add_two(what - 'a'); break;
    case 'c': by_address(2); break;
    case 's': short_lived(); break;
    case 'r': refused(); break;
    case 'y': graphs(); break;
    case 'e': by_events(); break;
    case 't': threads(); break;
    case 'm': pinned(); break;
    case 'i': queries(); break;
    case 'w': say(hipDeviceSynchronize()); break;
    case 'p': show(0); break;
    case 'q': show(1); break;
    case 'o': fork_one(); break;
    case 'x': start_one(); break;
    case 'E': case 'A': device_fault(); break;
    case 'N': say(hipLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, streams[0])); break;
    default: hipDeviceSynchronize(); end(what);
    }
}

int main(int argc, char **argv)
{
    const char *todo = argc > 1 ? argv[1] : "";
    if (strchr(todo, 'A'))
        setenv("GPUDX_HIP_SIM_FAULT", "abort", 1);
    open_all();
    for (; *todo; todo++)
        step(*todo);
    say(hipDeviceSynchronize());
    tell();
    return 0;
}
