/* The first half of an attention layer: input, queries, keys and values, rotary embedding; then the queries of the last row
 * are compared with the same work done on the host. */
#include <hip/hip_runtime_api.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels.h"

enum { ROWS = 64, INPUTS = 48 };

/* The defaults are those of the model that this program was first written for. */
struct Config {
    int dim = 96;
    int heads = 8;
    int kv_heads = 4;
    int head_dim = 32;
    float rope_base = 10000.0f;
};

struct Weights {
    std::vector<float> input, query, key, value;
};

struct Buffers {
    float *input, *x, *q, *k, *v;
};

static void check(hipError_t error, const char *what)
{
    if (error == hipSuccess)
        return;
    fprintf(stderr, "%s failed: %s\n", what, hipGetErrorString(error));
    exit(error == hipErrorIllegalAddress ? 1 : 2);
}

/* Asks only whether the launch was accepted. */
static void check_launch(const char *what)
{
    hipError_t error = hipGetLastError();
    if (error == hipSuccess)
        return;
    fprintf(stderr, "%s launch failed: %s\n", what, hipGetErrorString(error));
    exit(1);
}

/* The model file: what it says about itself, with random numbers for weights. */
static Config read_config()
{
    static const char header[] = "dim 96 heads 16 kv_heads 4 head_dim 32 rope_base 10000";
    Config c;
    if (sscanf(header, "dim %d heads %d kv_heads %d head_dim %d rope_base %f", &c.dim, &c.heads, &c.kv_heads, &c.head_dim,
               &c.rope_base) != 5)
        exit(2);
    return c;
}

static std::vector<float> random_values(size_t count, unsigned seed)
{
    std::vector<float> values(count);
    unsigned state = seed * 2654435761u + 12345u;
    for (float &value : values) {
        state = state * 1664525u + 1013904223u;
        value = (float)(state >> 8) / 83886080.0f - 0.1f;
    }
    return values;
}

static Weights read_weights(const Config &c)
{
    const size_t dim = c.dim, wide = c.heads * c.head_dim, narrow = c.kv_heads * c.head_dim;
    return {random_values(INPUTS * dim, 1), random_values(dim * wide, 2), random_values(dim * narrow, 3),
            random_values(dim * narrow, 4)};
}

static float *allocate(size_t count)
{
    void *memory;
    check(hipMalloc(&memory, count * sizeof(float)), "hipMalloc");
    return (float *)memory;
}

static float *upload(const std::vector<float> &values)
{
    float *memory = allocate(values.size());
    check(hipMemcpy(memory, values.data(), values.size() * sizeof(float), hipMemcpyHostToDevice), "upload");
    return memory;
}

static Buffers allocate_buffers(const Config &c)
{
    const size_t narrow = ROWS * c.kv_heads * c.head_dim;
    return {allocate(ROWS * INPUTS), allocate(ROWS * c.dim), allocate(ROWS * c.heads * c.head_dim), allocate(narrow),
            allocate(narrow)};
}

static std::vector<float> forward(const Config &c, const Weights &weights, const Buffers &b)
{
    const int wide = c.heads * c.head_dim, narrow = c.kv_heads * c.head_dim;
    float *input = upload(weights.input), *query = upload(weights.query), *key = upload(weights.key),
          *value = upload(weights.value);
    std::vector<float> result(c.heads * c.head_dim);
    gemm(b.x, b.input, input, ROWS, c.dim, INPUTS);
    gemm(b.q, b.x, query, ROWS, wide, c.dim);
    gemm(b.k, b.x, key, ROWS, narrow, c.dim);
    gemm(b.v, b.x, value, ROWS, narrow, c.dim);
    rope(b.q, ROWS, c.heads, c.head_dim, c.rope_base);
    check_launch("RoPE Q");
    rope(b.k, ROWS, c.kv_heads, c.head_dim, c.rope_base);
    check_launch("RoPE K");
    check(hipMemcpy(result.data(), b.q + (ROWS - 1) * wide, result.size() * sizeof(float), hipMemcpyDeviceToHost),
          "hipMemcpy D2H");
    return result;
}

/* ---- the same on the host ---- */

static std::vector<float> multiply(const std::vector<float> &row, const std::vector<float> &matrix, int cols)
{
    std::vector<float> out(cols, 0.0f);
    for (size_t k = 0; k < row.size(); k++)
        for (int col = 0; col < cols; col++)
            out[col] += row[k] * matrix[k * cols + col];
    return out;
}

static void rotate(const Config &c, std::vector<float> &x, int row)
{
    for (int i = 0; i < c.heads * c.head_dim / 2; i++) {
        const int half = c.head_dim / 2, pair = i % half;
        const float angle = (float)row * std::pow(c.rope_base, -2.0f * pair / c.head_dim);
        float *p = &x[i / half * c.head_dim + pair];
        const float first = p[0], second = p[half];
        p[0] = first * std::cos(angle) - second * std::sin(angle);
        p[half] = first * std::sin(angle) + second * std::cos(angle);
    }
}

static int count_wrong(const Config &c, const Weights &w, const std::vector<float> &input, const std::vector<float> &got)
{
    std::vector<float> row(input.end() - INPUTS, input.end());
    std::vector<float> wanted = multiply(multiply(row, w.input, c.dim), w.query, c.heads * c.head_dim);
    int wrong = 0;
    rotate(c, wanted, ROWS - 1);
    for (size_t i = 0; i < wanted.size(); i++)
        wrong += !(std::fabs(got[i] - wanted[i]) <= 1e-4f * (1.0f + std::fabs(wanted[i])));
    printf("%d of %zu values are wrong\n", wrong, wanted.size());
    return wrong;
}

int main()
{
    Config config;
#ifdef TWIN
    config = read_config();
    Buffers buffers = allocate_buffers(config);
#else
    /* Memory is taken early, while there is plenty; the dimensions are still the defaults here. */
    Buffers buffers = allocate_buffers(config);
    config = read_config();
#endif
    const Weights weights = read_weights(config);
    const std::vector<float> input = random_values(ROWS * INPUTS, 99);
    check(hipMemcpy(buffers.input, input.data(), input.size() * sizeof(float), hipMemcpyHostToDevice), "upload");
    const std::vector<float> result = forward(config, weights, buffers);
    return count_wrong(config, weights, input, result) ? 1 : 0;
}
