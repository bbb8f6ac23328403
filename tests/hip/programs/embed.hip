/* Looks tokens up in a table of 2.4 billion bytes. Row times width does not fit into an int for the last tokens. */
#include "small.h"

void launch_embed(const signed char *table, const int *tokens, signed char *out, int count, int width, bool wide);
enum { VOCABULARY = 600000, WIDTH = 4096, COUNT = 64 };

int main(int words, char **)
{
    signed char *table, *out;
    int *tokens;
    std::vector<int> ids(COUNT);
    for (int i = 0; i < COUNT; i++)
        ids[i] = i * 9500;
    CHECK(hipMalloc((void **)&table, (size_t)VOCABULARY * WIDTH));
    CHECK(hipMalloc((void **)&tokens, COUNT * sizeof(int)));
    CHECK(hipMalloc((void **)&out, COUNT * WIDTH));
    CHECK(hipMemcpy(tokens, ids.data(), COUNT * sizeof(int), hipMemcpyHostToDevice));
    for (int id : ids)
        CHECK(hipMemset(table + (size_t)id * WIDTH, 1, WIDTH));
    launch_embed(table, tokens, out, COUNT, WIDTH, words > 1);
    CHECK(hipDeviceSynchronize());
    printf("done\n");
}
