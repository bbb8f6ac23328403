/* Moves a buffer over itself with one copy, and says how many bytes are not what memmove would have left. With "twin" the
 * copy goes to a place of its own. */
#include <cstring>
#include <vector>

#include "check.h"

int main(int argc, char **argv)
{
    const size_t bytes = 64 << 20, away = argc > 1 && !std::strcmp(argv[1], "twin") ? bytes : 1000;
    std::vector<unsigned char> before(bytes), after(bytes);
    unsigned char *memory;
    for (size_t i = 0; i < bytes; i++)
        before[i] = (unsigned char)(i * 2654435761u >> 13);
    MUST(cudaMalloc(&memory, 2 * bytes));
    MUST(cudaMemcpy(memory, before.data(), bytes, cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(memory + away, memory, bytes, cudaMemcpyDeviceToDevice));
    MUST(cudaMemcpy(after.data(), memory + away, bytes, cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++)
        wrong += before[i] != after[i];
    std::printf("%zu of %zu bytes are wrong\n", wrong, bytes);
    return wrong ? 1 : 0;
}
