#include "kernels.h"

/* A block makes TILE x TILE values of the output, in steps along the inner dimension; a thread makes PATCH x PATCH. */
enum { THREADS = 256, STEP = 16, PATCH = 4, ACROSS = TILE / PATCH };

struct Tiles {
    float a[STEP][TILE];
    float b[STEP][TILE];
};

static __device__ void load_tiles(Tiles &tiles, const float *a, const float *b, int cols, int inner, int from)
{
    const size_t row = (size_t)blockIdx.y * TILE, col = (size_t)blockIdx.x * TILE;
    for (int i = threadIdx.x; i < TILE * STEP; i += THREADS) {
        tiles.a[i % STEP][i / STEP] = a[(row + i / STEP) * inner + from + i % STEP];
        tiles.b[i / TILE][i % TILE] = b[(size_t)(from + i / TILE) * cols + col + i % TILE];
    }
}

static __device__ void multiply_tiles(float (*sum)[PATCH], const Tiles &tiles, int y, int x)
{
    for (int k = 0; k < STEP; k++)
        for (int i = 0; i < PATCH; i++)
            for (int j = 0; j < PATCH; j++)
                sum[i][j] += tiles.a[k][y + i] * tiles.b[k][x + j];
}

__global__ void gemm_f32(float *out, const float *a, const float *b, int rows, int cols, int inner)
{
    __shared__ Tiles tiles;
    const int y = threadIdx.x / ACROSS * PATCH, x = threadIdx.x % ACROSS * PATCH;
    float sum[PATCH][PATCH] = {};
    if (blockIdx.y * TILE >= rows)
        return;
    for (int from = 0; from < inner; from += STEP) {
        load_tiles(tiles, a, b, cols, inner, from);
        __syncthreads();
        multiply_tiles(sum, tiles, y, x);
        __syncthreads();
    }
    for (int i = 0; i < PATCH; i++)
        for (int j = 0; j < PATCH; j++)
            out[((size_t)blockIdx.y * TILE + y + i) * cols + blockIdx.x * TILE + x + j] = sum[i][j];
}

__global__ void rope_f32(float *x, int rows, int heads, int head_dim, float base)
{
    const int half = head_dim / 2, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * heads * half)
        return;
    const int pair = i % half, head = i / half % heads, row = i / (half * heads);
    const float angle = (float)(row % SEQUENCE) * powf(base, -2.0f * pair / head_dim);
    float *p = x + ((size_t)row * heads + head) * head_dim + pair;
    const float first = p[0], second = p[half];
    p[0] = first * cosf(angle) - second * sinf(angle);
    p[half] = first * sinf(angle) + second * cosf(angle);
}

static __device__ float dot(const float *a, const float *b, int count)
{
    float sum = 0.0f;
    for (int i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* One block for each sequence and head, one thread for each of its rows. */
__global__ void attend_f32(float *out, const float *q, const float *k, const float *v, int heads, int head_dim)
{
    const size_t stride = (size_t)heads * head_dim, start = blockIdx.x * SEQUENCE * stride + blockIdx.y * head_dim;
    const int row = threadIdx.x;
    float weight[SEQUENCE], total = 0.0f;
    for (int other = 0; other <= row; other++) {
        weight[other] = expf(dot(q + start + row * stride, k + start + other * stride, head_dim) * rsqrtf(head_dim));
        total += weight[other];
    }
    for (int i = 0; i < head_dim; i++) {
        float sum = 0.0f;
        for (int other = 0; other <= row; other++)
            sum += weight[other] * v[start + other * stride + i];
        out[start + row * stride + i] = sum / total;
    }
}

__global__ void silu_f32(float *x, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        x[i] = x[i] / (1.0f + expf(-x[i]));
}

__global__ void add_f32(float *y, const float *x, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        y[i] += x[i];
}

static int blocks(int count)
{
    return (count + THREADS - 1) / THREADS;
}

void gemm(float *out, const float *a, const float *b, int rows, int cols, int inner)
{
    gemm_f32<<<dim3(cols / TILE, rows / TILE), THREADS>>>(out, a, b, rows, cols, inner);
}

void rope(float *x, int rows, int heads, int head_dim, float base)
{
    rope_f32<<<blocks(rows * heads * head_dim / 2), THREADS>>>(x, rows, heads, head_dim, base);
}

void attend(float *out, const float *q, const float *k, const float *v, int rows, int heads, int head_dim)
{
    attend_f32<<<dim3(rows / SEQUENCE, heads), SEQUENCE>>>(out, q, k, v, heads, head_dim);
}

void silu(float *x, int count)
{
    silu_f32<<<blocks(count), THREADS>>>(x, count);
}

void add(float *y, const float *x, int count)
{
    add_f32<<<blocks(count), THREADS>>>(y, x, count);
}
