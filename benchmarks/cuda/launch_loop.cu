/* What a launch costs the host: an empty kernel, many times in a row, with few arguments and with eight.
 *
 *     launch_loop [LAUNCHES]
 *
 * Prints "NAME nanoseconds-per-launch" lines. The final wait is in the time: a loop that only fills the queue would
 * look cheaper than it is. */
#include <chrono>
#include <cstdio>
#include <cstdlib>

typedef std::chrono::steady_clock Clock;

__global__ void two_arguments(float *out, int count)
{
    if (count < 0) /* never: the arguments must not be optimised away */
        *out = 0.0f;
}

__global__ void eight_arguments(float *out, const float *a, const float *b, const float *c, int rows, int cols,
                                float scale, float shift)
{
    if (rows < 0)
        *out = (*a + *b + *c) * scale + shift + cols;
}

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(error));
    exit(2);
}

/* Nanoseconds for each of `launches` calls of `launch`, until the device is done with them. */
template <typename Launch> static double time_launches(long launches, Launch launch)
{
    check(cudaDeviceSynchronize(), "wait");
    const Clock::time_point begin = Clock::now();
    for (long i = 0; i < launches; i++)
        launch((int)i);
    check(cudaDeviceSynchronize(), "wait");
    const std::chrono::duration<double, std::nano> passed = Clock::now() - begin;
    check(cudaGetLastError(), "launch");
    return passed.count() / launches;
}

/* A first lap of a tenth loads the kernel and, when recording, takes the first memory of the trace. */
template <typename Launch> static void measure(const char *name, long launches, Launch launch)
{
    time_launches(launches / 10 + 1, launch);
    printf("%s %.1f\n", name, time_launches(launches, launch));
}

int main(int argc, char **argv)
{
    const long launches = argc > 1 ? atol(argv[1]) : 100000;
    float *memory;
    if (launches < 1)
        return 2;
    check(cudaMalloc(&memory, 4096), "cudaMalloc");
    measure("two_arguments", launches, [=](int i) { two_arguments<<<1, 32>>>(memory, i); });
    measure("eight_arguments", launches, [=](int i) {
        eight_arguments<<<1, 32>>>(memory, memory + 64, memory + 128, memory + 192, i, 64, 2.0f, 1.0f);
    });
    check(cudaFree(memory), "cudaFree");
    return 0;
}
