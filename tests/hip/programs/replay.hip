/* A captured graph copies from the memory of a vector, which grows afterwards; with a word there is room for that. With "past" the graph's
 * kernel writes past the end of its buffer, and the vector is freed once that was reported. */
#include "small.h"

void launch_scale(float *data, int count, float by, hipStream_t stream);

int main(int words, char **word)
{
    const int count = 200000;
    const bool past = words > 1 && *word[1] == 'p';
    std::vector<float> input(count, 2.0f);
    if (words > 1)
        input.reserve(2 * count + 1);
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t exec;
    float *data;
    CHECK(hipStreamCreate(&stream));
    CHECK(hipMalloc((void **)&data, count * sizeof(float)));
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    CHECK(hipMemcpyAsync(data, input.data(), count * sizeof(float), hipMemcpyHostToDevice, stream));
    launch_scale(data, past ? 2 * count : count, 3.0f, stream);
    CHECK(hipStreamEndCapture(stream, &graph));
    CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    std::vector<float> got(count);
    for (int step = 0; step < 3; step++) {
        CHECK(hipGraphLaunch(exec, stream));
        const hipError_t status = hipStreamSynchronize(stream);
        if (status != hipSuccess)
            std::vector<float>().swap(input);
        CHECK(status);
        CHECK(hipMemcpy(got.data(), data, count * sizeof(float), hipMemcpyDeviceToHost));
        for (int i = 0; i < count; i++)
            if (got[i] != 6.0f)
                return fprintf(stderr, "step %d: %d is %g\n", step, i, got[i]), 1;
        input.push_back(2.0f);
    }
    puts("PASS");
}
