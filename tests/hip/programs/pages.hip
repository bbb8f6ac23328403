/* Gathers rows of a cache by a table of its pages. The last sequence has pages that were never mapped: -1 in the table. */
#include "small.h"

void launch_gather(float *out, const float *cache, const int *table, int tokens, int page, int dim);

int main(int words, char **)
{
    const int page = 16, dim = 64, pages = 40, tokens = 480;
    std::vector<int> table(tokens / page, -1);
    for (int i = 0; i < (words > 1 ? tokens / page : 26); i++)
        table[i] = (i * 7) % pages;
    float *cache, *out; int *device_table;
    CHECK(hipMalloc((void **)&cache, pages * page * dim * sizeof(float)));
    CHECK(hipMalloc((void **)&out, tokens * dim * sizeof(float)));
    CHECK(hipMalloc((void **)&device_table, table.size() * sizeof(int)));
    CHECK(hipMemset(cache, 0, pages * page * dim * sizeof(float)));
    CHECK(hipMemcpy(device_table, table.data(), table.size() * sizeof(int), hipMemcpyHostToDevice));
    launch_gather(out, cache, device_table, tokens, page, dim);
    std::vector<float> host(tokens * dim);
    CHECK(hipMemcpy(host.data(), out, host.size() * sizeof(float), hipMemcpyDeviceToHost));
    puts("done");
}
