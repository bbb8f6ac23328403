/* A kernel of a module takes the number of elements in 64 bits, and is passed an int. */
#include "small.h"

#include <cstdint>
#include <fstream>
#include <iterator>

int main(int words, char **)
{
    std::ifstream file(getenv("CODE_OBJECT"), std::ios::binary);
    std::vector<char> code((std::istreambuf_iterator<char>(file)), {});
    hipModule_t module;
    hipFunction_t kernel;
    CHECK(hipModuleLoadData(&module, code.data()));
    CHECK(hipModuleGetFunction(&kernel, module, "_Z4rampPflf"));
    float *data, step = 0.5f;
    struct { int count = 5000, batch = 3; } shape;
    int64_t count = shape.count;
    CHECK(hipMalloc((void **)&data, shape.count * sizeof(float)));
    void *wrong[] = { &data, &shape.count, &step }, *right[] = { &data, &count, &step };
    CHECK(hipModuleLaunchKernel(kernel, 40, 1, 1, 256, 1, 1, 0, nullptr, words > 1 ? right : wrong, nullptr));
    CHECK(hipDeviceSynchronize());
    puts("done");
}
