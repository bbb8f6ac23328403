/* Launches in contexts and streams of every kind; the last one faults, hangs, or is as correct as the others.
 *
 *     crumbs_ways legacy|per-thread|priority|green|green-current|remade|captured|forked fault|hang|none
 *
 * green: a stream of a green context, while the primary one is current; green-current: the green context itself is current, after
 * another one was destroyed; remade: the device was reset; captured: while another stream is being captured; forked: in a child. Prints
 * "done" where nothing failed, "not supported" where the device or driver has no green contexts. */
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <cuda.h>

#include "check.h"

enum { LAUNCHES = 12, NOT_SUPPORTED = 77 };

__global__ void add_one(int *data)
{
    atomicAdd(data, 1);
}

__global__ void faulty(int *data, long long far)
{
    ((volatile int *)data)[far] = 1;
}

__global__ void endless(volatile int *flag)
{
    while (!*flag)
        ;
}

static int *data;
static const char *what;

static void launches(std::vector<cudaStream_t> streams)
{
    for (int i = 0; i < LAUNCHES; i++)
        add_one<<<1, 1, 0, streams[i % streams.size()]>>>(data);
}

static void last(cudaStream_t stream)
{
    if (!strcmp(what, "fault"))
        faulty<<<1, 1, 0, stream>>>(data, 1ll << 38);
    else if (!strcmp(what, "hang"))
        endless<<<1, 1, 0, stream>>>(data + 1);
    else
        add_one<<<1, 1, 0, stream>>>(data);
}

template <typename F> static F driver(const char *name)
{
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    if (cudaGetDriverEntryPointByVersion(name, &found, CUDART_VERSION, cudaEnableDefault, &result) != cudaSuccess || !found) {
        printf("not supported\n");
        exit(NOT_SUPPORTED);
    }
    return (F)found;
}
#define DRIVER(name) driver<decltype(&name)>(#name)

static void must(CUresult status, const char *call)
{
    if (status == CUDA_SUCCESS)
        return;
    printf("%s: %d\n", status == CUDA_ERROR_NOT_SUPPORTED ? "not supported" : call, (int)status);
    exit(status == CUDA_ERROR_NOT_SUPPORTED ? NOT_SUPPORTED : 1);
}

static CUgreenCtx green_context()
{
    CUdevResource all, part;
    CUdevResourceDesc described;
    CUgreenCtx made;
    unsigned int groups = 1;
    must(DRIVER(cuDeviceGetDevResource)(0, &all, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource");
    must(DRIVER(cuDevSmResourceSplitByCount)(&part, &groups, &all, nullptr, 0, 8), "cuDevSmResourceSplitByCount");
    must(DRIVER(cuDevResourceGenerateDesc)(&described, &part, 1), "cuDevResourceGenerateDesc");
    must(DRIVER(cuGreenCtxCreate)(&made, described, 0, CU_GREEN_CTX_DEFAULT_STREAM), "cuGreenCtxCreate");
    return made;
}

static cudaStream_t green_stream(CUgreenCtx green)
{
    CUstream made;
    must(DRIVER(cuGreenCtxStreamCreate)(&made, green, CU_STREAM_NON_BLOCKING, 0), "cuGreenCtxStreamCreate");
    return made;
}

static void use(CUgreenCtx green)
{
    CUcontext context;
    must(DRIVER(cuCtxFromGreenCtx)(&context, green), "cuCtxFromGreenCtx");
    must(DRIVER(cuCtxSetCurrent)(context), "cuCtxSetCurrent");
}

static void make_data()
{
    MUST(cudaMalloc(&data, 1 << 20));
    MUST(cudaMemset(data, 0, 1 << 20));
    MUST(cudaDeviceSynchronize());
}

static void run(const char *way)
{
    const auto is = [&](const char *one) { return !strcmp(way, one); };
    std::vector<cudaStream_t> streams = { nullptr };
    cudaStream_t captured = nullptr;
    make_data();
    if (is("remade")) {
        launches(streams);
        MUST(cudaDeviceReset());
        make_data();
    } else if (is("priority")) {
        int least, greatest;
        MUST(cudaDeviceGetStreamPriorityRange(&least, &greatest));
        streams.resize(2);
        MUST(cudaStreamCreateWithPriority(&streams[0], cudaStreamNonBlocking, least));
        MUST(cudaStreamCreateWithPriority(&streams[1], cudaStreamNonBlocking, greatest));
    } else if (is("green")) {
        streams = { green_stream(green_context()) };
    } else if (is("green-current")) {
        CUgreenCtx first = green_context();
        use(first);
        launches({ green_stream(first) });
        MUST(cudaDeviceSynchronize());
        MUST(cudaSetDevice(0));
        must(DRIVER(cuGreenCtxDestroy)(first), "cuGreenCtxDestroy");
        CUgreenCtx second = green_context();
        use(second);
        streams = { green_stream(second) };
    } else if (is("per-thread")) {
        streams = { cudaStreamPerThread };
        std::thread([&] { launches(streams); MUST(cudaStreamSynchronize(cudaStreamPerThread)); }).join();
    } else if (is("captured")) {
        streams.resize(1);
        MUST(cudaStreamCreateWithFlags(&streams[0], cudaStreamNonBlocking));
        MUST(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking));
        MUST(cudaStreamBeginCapture(captured, cudaStreamCaptureModeThreadLocal));
        add_one<<<1, 1, 0, captured>>>(data);
    }
    launches(streams);
    last(streams.back());
    if (captured) {
        cudaGraph_t graph;
        cudaStreamEndCapture(captured, &graph);  // which may report the fault already
    }
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 64;
    what = argv[2];
    if (!strcmp(argv[1], "forked")) {
        const pid_t child = fork();
        int status = 0;
        if (child && waitpid(child, &status, 0) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    run(argv[1]);
    if (told("wait", cudaDeviceSynchronize()))
        return 1;
    printf("done\n");
    return 0;
}
