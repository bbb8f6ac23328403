/* One access at the edge of an allocation, or of what was one.
 *
 *   fence_past [OFFSET [COUNT [TYPE [read | write]]]]     OFFSET elements behind the last one (1: right behind the end; 0: the
 *                                                         last; "before": one before the first; "freed": the first, after the
 *                                                         free; "page": 4 KB behind the end). 1, 1024, int, write unless told.
 *
 * TYPE is char, short, int, double or int4. */
#include <cstring>
#include <string>

#include "check.h"

template <typename T> __global__ void touch(T *memory, long at, bool write, T *result)
{
    if (write)
        memory[at] = *result;
    else
        *result = memory[at];
}

template <typename T> static int run(const std::string &what, long count, bool write)
{
    T *memory, *result;
    long at = what == "before" ? -1 : what == "freed" ? 0 : what == "page" ? count + 4096 / (long)sizeof(T)
                                                          : count - 1 + std::atol(what.c_str());
    MUST(cudaMalloc(&memory, (size_t)count * sizeof(T)));
    MUST(cudaMalloc(&result, sizeof(T)));
    MUST(cudaMemset(result, 1, sizeof(T)));
    MUST(cudaMemset(memory, 2, (size_t)count * sizeof(T)));
    if (what == "freed")
        MUST(cudaFree(memory));
    touch<T><<<1, 1>>>(memory, at, write, result);
    return told("sync", cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    std::string what = argc > 1 ? argv[1] : "1", type = argc > 3 ? argv[3] : "int";
    long count = argc > 2 ? std::atol(argv[2]) : 1024;
    bool write = argc <= 4 || !std::strcmp(argv[4], "write");
    if (type == "char")
        return run<char>(what, count, write);
    if (type == "short")
        return run<short>(what, count, write);
    if (type == "double")
        return run<double>(what, count, write);
    if (type == "int4")
        return run<int4>(what, count, write);
    return run<int>(what, count, write);
}
