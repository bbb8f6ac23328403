/* Cost of a launch: the median of many rounds, in nanoseconds on stderr, so that stdout can be compared. */
#include "check.h"

#include <algorithm>
#include <chrono>
#include <vector>

__global__ void small(float *a, float *b, int n, float x, int m)
{
    if (n < 0)
        a[m] = b[n] + x;
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 60, launches = 2000;
    float *a, *b;
    std::vector<double> cost;
    MUST(cudaMalloc(&a, 4096));
    MUST(cudaMalloc(&b, 4096));
    for (int r = 0; r < rounds; r++) {
        auto from = std::chrono::steady_clock::now();
        for (int i = 0; i < launches; i++)
            small<<<1, 32>>>(a, b, i, 1.5f, r);
        std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - from;
        MUST(cudaDeviceSynchronize());
        cost.push_back(spent.count() / launches);
    }
    std::sort(cost.begin(), cost.end());
    std::fprintf(stderr, "ns per launch: %.0f\n", cost[cost.size() / 2]);
    std::printf("%d launches\n", rounds * launches);
    return 0;
}
