/* What the recorder adds to a launch: plain and recorded launches take turns inside one process, so that they meet the same
 * machine, clock and memory. To be run under `gpudx run`.
 *
 *     launch_turns [TURNS [LAUNCHES]]
 *
 * Prints "NAME_plain ns", "NAME_recorded ns" (medians over the turns, for each launch) and "NAME_ratio r" (median of the ratios of
 * neighbouring turns). The wait for the device is in each turn. */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

typedef std::chrono::steady_clock Clock;
typedef decltype(&cuLaunchKernel) Launch;
typedef void *Lookup(void *, const char *);

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

static void check(int error, const char *what)
{
    if (!error)
        return;
    fprintf(stderr, "%s failed: %d\n", what, error);
    exit(2);
}

static double turn(Launch launch, CUfunction kernel, void **arguments, long launches)
{
    const Clock::time_point begin = Clock::now();
    for (long i = 0; i < launches; i++)
        launch(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr);
    check(cudaDeviceSynchronize(), "wait");
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / launches;
}

static double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

static void measure(const char *name, const void *symbol, void **arguments, const Launch ways[2], long turns, long launches)
{
    std::vector<double> times[2], ratios;
    cudaFunction_t kernel;
    check(cudaGetFuncBySymbol(&kernel, symbol), "cudaGetFuncBySymbol");
    /* Before it counts: the kernel is loaded, and the ring of the recorder filled once, which takes fresh pages from the system. */
    const long filled = 80000 / launches;
    for (long i = -filled; i < turns; i++) {
        double took[2];
        for (int way : { (int)(i & 1), (int)(~i & 1) })
            took[way] = turn(ways[way], (CUfunction)kernel, arguments, launches);
        if (i < 0)
            continue;
        for (int way : { 0, 1 })
            times[way].push_back(took[way]);
        ratios.push_back(took[1] / took[0]);
    }
    printf("%s_plain %.1f\n%s_recorded %.1f\n%s_ratio %.4f\n", name, median(times[0]), name, median(times[1]), name, median(ratios));
}

/* The recorder stands in front of dlsym, not of dlvsym: so the driver's own function can still be had. */
static Lookup *real_lookup()
{
    void *found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    return (Lookup *)(found ? found : dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
}

int main(int argc, char **argv)
{
    const long turns = argc > 1 ? atol(argv[1]) : 200, launches = argc > 2 ? atol(argv[2]) : 500;
    float *memory, scale = 1.0f, shift = 0.0f;
    int rows = 1, cols = 2;
    check(cudaMalloc(&memory, 4096), "cudaMalloc");
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    const Launch ways[2] = { (Launch)real_lookup()(driver, "cuLaunchKernel"), (Launch)dlsym(driver, "cuLaunchKernel") };
    if (ways[0] == ways[1]) {
        fprintf(stderr, "not recorded: run it under gpudx run\n");
        return 3;
    }
    void *two[] = { &memory, &rows }, *eight[] = { &memory, &memory, &memory, &memory, &rows, &cols, &scale, &shift };
    measure("two_arguments", (const void *)two_arguments, two, ways, turns, launches);
    measure("eight_arguments", (const void *)eight_arguments, eight, ways, turns, launches);
    return 0;
}
