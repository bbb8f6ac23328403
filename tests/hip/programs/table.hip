/* Maps values through a table. The launch gets the table of the host instead of its copy on the device. */
#include "small.h"

void launch_map(const unsigned char *in, const int *table, int *out, int count);
enum { COUNT = 10000, ENTRIES = 256 };

int main(int words, char **)
{
    std::vector<int> table(ENTRIES), result(COUNT);
    for (int i = 0; i < ENTRIES; i++)
        table[i] = 255 - i;
    unsigned char *in;
    int *device_table, *out;
    CHECK(hipMalloc((void **)&in, COUNT));
    CHECK(hipMemset(in, 7, COUNT));
    CHECK(hipMalloc((void **)&device_table, ENTRIES * sizeof(int)));
    CHECK(hipMemcpy(device_table, table.data(), ENTRIES * sizeof(int), hipMemcpyHostToDevice));
    CHECK(hipMalloc((void **)&out, COUNT * sizeof(int)));
    launch_map(in, words > 1 ? device_table : table.data(), out, COUNT);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(result.data(), out, COUNT * sizeof(int), hipMemcpyDeviceToHost));
    printf("%d\n", result[0]);
}
