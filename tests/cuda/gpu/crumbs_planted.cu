/* A program with one planted fault or hang at a random launch.
 *
 *     crumbs_planted fault|hang|none SEED
 *
 * From the seed: 1 to 16 streams, 50 to 400 launches in turn over random streams, kernels of 1 to 100 us, a wait after some launches,
 * in half of the seeds graphs of four kernels among the launches. Prints "planted NUMBER KIND STREAMS": the bad launch among the
 * launches and graph launches that are made, counted from 1, before it runs. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <cuda_runtime.h>

__global__ void work(int *data, long long cycles, int at)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles)
        ;
    data[at] = at;
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

int main(int argc, char **argv)
{
    const bool hang = argc > 1 && !strcmp(argv[1], "hang"), none = argc > 1 && !strcmp(argv[1], "none");
    std::mt19937 random(argc > 2 ? (unsigned)atoi(argv[2]) : 1);
    const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    const int streams = pick(1, 16), launches = pick(50, 400), bad = pick(1, launches), waits = pick(4, 120);
    const bool graphs = pick(0, 1);
    const int typical = pick(1, 60);  /* us: programs have kernels of much the same length */
    int *data;
    std::vector<cudaStream_t> stream(streams);
    cudaMalloc(&data, 1 << 20);
    cudaMemset(data, 0, 1 << 20);
    for (auto &one : stream)
        cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeThreadLocal);
    for (int i = 0; i < 4; i++)
        work<<<1, 32, 0, stream[0]>>>(data, 1800ll * typical, 1000 + i);
    cudaStreamEndCapture(stream[0], &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraph_t bad_graph;
    cudaGraphExec_t bad_exec;
    cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeThreadLocal);
    work<<<1, 32, 0, stream[0]>>>(data, 1800, 2000);
    if (hang)
        endless<<<1, 1, 0, stream[0]>>>(data + 5000);
    else
        faulty<<<1, 1, 0, stream[0]>>>(data, 1ll << 38);
    cudaStreamEndCapture(stream[0], &bad_graph);
    cudaGraphInstantiate(&bad_exec, bad_graph, 0);
    cudaDeviceSynchronize();
    const bool in_graph = graphs && pick(0, 3) == 0;
    printf("planted %d %s %d\n", none ? 0 : bad, in_graph ? "graph" : "launch", streams);
    fflush(stdout);
    for (int i = 1; i <= launches; i++) {
        cudaStream_t in = stream[pick(0, streams - 1)];
        const bool here = i == bad && !none;
        if (here && in_graph)
            cudaGraphLaunch(bad_exec, in);
        else if (here && hang)
            endless<<<1, 1, 0, in>>>(data + 5000);
        else if (here)
            faulty<<<1, 1, 0, in>>>(data, 1ll << 38);
        else if (graphs && pick(0, 4) == 0)
            cudaGraphLaunch(exec, in);
        else
            work<<<1, 32, 0, in>>>(data, 1800ll * pick(1, 2 * typical), i);
        if (i % waits == 0 && cudaStreamSynchronize(in) != cudaSuccess)
            return 1;
    }
    return cudaDeviceSynchronize() != cudaSuccess;
}
