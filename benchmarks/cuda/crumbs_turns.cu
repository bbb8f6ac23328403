/* What recording with breadcrumbs adds to launches: plain and recorded launches take turns inside one process. To be run under
 * `gpudx run`, with --crumbs=all, --crumbs=off or neither.
 *
 *     crumbs_turns [TURNS]
 *
 * Prints "NAME_plain ns", "NAME_recorded ns" (medians) and "NAME_ratio r" (median of the ratios of neighbouring turns) for an empty
 * kernel and for kernels of about 2, 5, 10 and 50 us. */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

typedef std::chrono::steady_clock Clock;
typedef decltype(&cuLaunchKernel) Launch;
typedef void *Lookup(void *, const char *);

__global__ void spin(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles)
        ;
}

static void check(int error, const char *what)
{
    if (!error)
        return;
    fprintf(stderr, "%s failed: %d\n", what, error);
    exit(2);
}

static double turn(Launch launch, CUfunction kernel, CUstream stream, long long cycles, long launches)
{
    void *arguments[] = { &cycles };
    const Clock::time_point begin = Clock::now();
    for (long i = 0; i < launches; i++)
        check(launch(kernel, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr), "launch");
    check(cudaDeviceSynchronize(), "wait");
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / launches;
}

static double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

static Lookup *real_lookup()
{
    void *found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    return (Lookup *)(found ? found : dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
}

int main(int argc, char **argv)
{
    const long turns = argc > 1 ? atol(argv[1]) : 40;
    cudaFunction_t kernel;
    cudaStream_t stream;
    check(cudaGetFuncBySymbol(&kernel, (const void *)spin), "cudaGetFuncBySymbol");
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    const Launch ways[2] = { (Launch)real_lookup()(driver, "cuLaunchKernel"), (Launch)dlsym(driver, "cuLaunchKernel") };
    if (ways[0] == ways[1]) {
        fprintf(stderr, "not recorded: run it under gpudx run\n");
        return 3;
    }
    const struct { const char *name; long long cycles; long launches; } loads[] = {
        { "empty", 0, 2000 }, { "2us", 2500, 1000 }, { "5us", 7500, 800 }, { "10us", 17000, 500 }, { "50us", 90000, 120 },
    };
    for (long i = 0; i < 40; i++)  /* fills the recorder's ring once */
        turn(ways[1], (CUfunction)kernel, stream, 0, 2000);
    for (const auto &load : loads) {
        std::vector<double> times[2], ratios;
        for (long i = -2; i < turns; i++) {
            double took[2];
            for (int way : { (int)(i & 1), (int)(~i & 1) })
                took[way] = turn(ways[way], (CUfunction)kernel, stream, load.cycles, load.launches);
            if (i < 0)
                continue;
            times[0].push_back(took[0]), times[1].push_back(took[1]), ratios.push_back(took[1] / took[0]);
        }
        printf("%s_plain %.1f\n%s_recorded %.1f\n%s_ratio %.4f\n", load.name, median(times[0]), load.name, median(times[1]), load.name, median(ratios));
        fflush(stdout);
    }
    return 0;
}
