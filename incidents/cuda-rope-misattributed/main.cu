/* A small language model: 4096 prompts of 16 tokens go through two layers, then some of the results are compared with
 * the same work done on the host. */
#include "kernels.h"
#include "reference.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

enum { PROMPTS = 4096, ROWS = PROMPTS * SEQUENCE, CHECKED_PROMPTS = 4 };

struct DeviceLayer {
    float *query, *key, *value, *output, *up, *down;
};

struct Activations {
    float *x, *q, *k, *v, *mixed, *hidden;
};

static void check_setup(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(error));
    exit(2);
}

/* Waits, so an error of this launch is seen here. So is every earlier one that nobody asked for. */
static void check_launch(const char *what)
{
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess)
        error = cudaDeviceSynchronize();
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s launch failed: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

static float *allocate(size_t count)
{
    float *memory;
    check_setup(cudaMalloc(&memory, count * sizeof(float)), "cudaMalloc");
    return memory;
}

static float *upload(const std::vector<float> &values)
{
    float *memory = allocate(values.size());
    check_setup(cudaMemcpy(memory, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice), "upload");
    return memory;
}

static std::vector<DeviceLayer> upload_weights(const std::vector<LayerWeights> &weights)
{
    std::vector<DeviceLayer> layers;
    for (const LayerWeights &w : weights)
        layers.push_back({upload(w.query), upload(w.key), upload(w.value), upload(w.output), upload(w.up),
                          upload(w.down)});
    return layers;
}

static Activations allocate_activations(const Config &c)
{
    const size_t wide = (size_t)ROWS * c.dim;
    return {allocate(wide), allocate(wide), allocate(wide), allocate(wide), allocate(wide),
            allocate((size_t)ROWS * c.hidden)};
}

static void attention_block(const Config &c, const DeviceLayer &w, const Activations &a)
{
    gemm(a.q, a.x, w.query, ROWS, c.dim, c.dim);
    gemm(a.k, a.x, w.key, ROWS, c.dim, c.dim);
    gemm(a.v, a.x, w.value, ROWS, c.dim, c.dim);
    rope(a.q, ROWS, c.heads, c.head_dim(), c.rope_base);
    check_launch("RoPE Q");
    rope(a.k, ROWS, c.heads, c.head_dim(), c.rope_base);
    check_launch("RoPE K");
    attend(a.mixed, a.q, a.k, a.v, ROWS, c.heads, c.head_dim());
    gemm(a.q, a.mixed, w.output, ROWS, c.dim, c.dim);
    add(a.x, a.q, ROWS * c.dim);
}

static void feed_forward_block(const Config &c, const DeviceLayer &w, const Activations &a)
{
    gemm(a.hidden, a.x, w.up, ROWS, c.hidden, c.dim);
    silu(a.hidden, ROWS * c.hidden);
    gemm(a.q, a.hidden, w.down, ROWS, c.dim, c.hidden);
    add(a.x, a.q, ROWS * c.dim);
}

static std::vector<float> forward(const Config &c, const std::vector<DeviceLayer> &layers, const Activations &a)
{
    std::vector<float> result((size_t)ROWS * c.dim);
    for (const DeviceLayer &w : layers) {
        attention_block(c, w, a);
        feed_forward_block(c, w, a);
    }
    check_launch("last layer");
    check_setup(cudaMemcpy(result.data(), a.x, result.size() * sizeof(float), cudaMemcpyDeviceToHost), "download");
    return result;
}

/* Asked this way round, a NaN counts as wrong. */
static int count_wrong(const float *got, const std::vector<float> &wanted)
{
    int wrong = 0;
    for (size_t i = 0; i < wanted.size(); i++)
        wrong += !(std::fabs(got[i] - wanted[i]) <= 1e-3f * (1.0f + std::fabs(wanted[i])));
    return wrong;
}

static int compare(const Config &c, const std::vector<LayerWeights> &weights, const std::vector<float> &input,
                   const std::vector<float> &result)
{
    const size_t values = (size_t)SEQUENCE * c.dim;
    int wrong = 0;
    for (int i = 0; i < CHECKED_PROMPTS; i++) {
        const size_t first = (size_t)i * (PROMPTS - 1) / (CHECKED_PROMPTS - 1) * values;
        std::vector<float> wanted(input.begin() + first, input.begin() + first + values);
        reference_forward(c, weights, wanted.data());
        wrong += count_wrong(&result[first], wanted);
    }
    printf("%d of %zu values are wrong\n", wrong, CHECKED_PROMPTS * values);
    return wrong;
}

static void release(const std::vector<DeviceLayer> &layers, const Activations &a)
{
    for (const DeviceLayer &w : layers)
        for (float *memory : {w.query, w.key, w.value, w.output, w.up, w.down})
            check_setup(cudaFree(memory), "cudaFree");
    for (float *memory : {a.x, a.q, a.k, a.v, a.mixed, a.hidden})
        check_setup(cudaFree(memory), "cudaFree");
}

int main()
{
    Config config;
#ifdef TWIN
    config = read_config();
    Activations activations = allocate_activations(config);
#else
    /* Memory is taken early, while there is plenty; the dimensions are still the defaults here. */
    Activations activations = allocate_activations(config);
    config = read_config();
#endif
    std::vector<LayerWeights> weights = read_weights(config);
    std::vector<DeviceLayer> layers = upload_weights(weights);
    std::vector<float> input = random_values((size_t)ROWS * config.dim, 1.0f, 99);
    check_setup(cudaMemcpy(activations.x, input.data(), input.size() * sizeof(float), cudaMemcpyHostToDevice),
                "upload");
    std::vector<float> result = forward(config, layers, activations);
    int wrong = compare(config, weights, input, result);
    release(layers, activations);
    return wrong ? 1 : 0;
}
