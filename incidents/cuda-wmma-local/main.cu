/* Attention scores with tensor cores: S = Q * transposed(K), checked against the same product on the host. */
#include <cuda_fp16.h>
#include <mma.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace nvcuda;

enum { QUERIES = 512, KEYS = 256, HEAD_DIM = 64, TILE = 16, WARP = 32 };

typedef wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, half, wmma::row_major> QueryTile;
typedef wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, half, wmma::col_major> KeyTile;
typedef wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> ScoreTile;

/* One warp makes one tile of scores: TILE queries, from row blockIdx.y * TILE on, against TILE keys. */
#ifdef TWIN
/* A tile is loaded and stored by the whole warp together, from memory that the whole warp sees. All TILE rows are
 * there, HEAD_DIM apart. */
static __device__ void load_queries(half *tile, const half *queries)
{
    for (int i = threadIdx.x; i < TILE * HEAD_DIM; i += WARP)
        tile[i] = queries[(size_t)blockIdx.y * TILE * HEAD_DIM + i];
    __syncwarp();
}

__global__ void score_tile(float *scores, const half *queries, const half *keys, int key_count)
{
    __shared__ __align__(32) half query_rows[TILE * HEAD_DIM];
    __shared__ __align__(32) float result[TILE * TILE];
    QueryTile a;
    KeyTile b;
    ScoreTile sum;
    load_queries(query_rows, queries);
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < HEAD_DIM; k += TILE) {
        wmma::load_matrix_sync(a, query_rows + k, HEAD_DIM);
        wmma::load_matrix_sync(b, keys + (size_t)blockIdx.x * TILE * HEAD_DIM + k, HEAD_DIM);
        wmma::mma_sync(sum, a, b, sum);
    }
    wmma::store_matrix_sync(result, sum, TILE, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < TILE * TILE; i += WARP)
        scores[(size_t)(blockIdx.y * TILE + i / TILE) * key_count + blockIdx.x * TILE + i % TILE] = result[i];
}
#else
/* Each thread holds a few queries of its own "in registers". Four rows are not a tile of sixteen, and no other thread
 * can see them. */
enum { OWN_ROWS = 4 };

static __device__ void load_queries(half (*own)[HEAD_DIM], const half *queries)
{
    for (int row = 0; row < OWN_ROWS; row++)
        for (int i = 0; i < HEAD_DIM; i++)
            own[row][i] = queries[((size_t)blockIdx.y * TILE + row) * HEAD_DIM + i];
}

__global__ void score_tile(float *scores, const half *queries, const half *keys, int key_count)
{
    half query_rows[OWN_ROWS][HEAD_DIM];
    float result[TILE * TILE];
    QueryTile a;
    KeyTile b;
    ScoreTile sum;
    load_queries(query_rows, queries);
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < HEAD_DIM; k += TILE) {
        wmma::load_matrix_sync(a, &query_rows[0][k], HEAD_DIM);
        wmma::load_matrix_sync(b, keys + (size_t)blockIdx.x * TILE * HEAD_DIM + k, HEAD_DIM);
        wmma::mma_sync(sum, a, b, sum);
    }
    wmma::store_matrix_sync(result, sum, TILE, wmma::mem_row_major);
    for (int i = threadIdx.x; i < TILE * TILE; i += WARP)
        scores[(size_t)(blockIdx.y * TILE + i / TILE) * key_count + blockIdx.x * TILE + i % TILE] = result[i];
}
#endif

static void stop_unless(cudaError_t error, const char *what, int exit_code)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(error));
    exit(exit_code);
}

static void check(cudaError_t error, const char *what)
{
    stop_unless(error, what, 2);
}

/* Small multiples of 1/8: every product and sum is exact, so host and device must agree to the last bit. */
static std::vector<half> values(size_t count, unsigned seed)
{
    std::vector<half> result(count);
    unsigned state = seed;
    for (half &value : result) {
        state = state * 1664525u + 1013904223u;
        value = __float2half((float)(int)(state >> 28) / 8.0f - 1.0f);
    }
    return result;
}

static half *upload(const std::vector<half> &from)
{
    half *memory;
    check(cudaMalloc(&memory, from.size() * sizeof(half)), "cudaMalloc");
    check(cudaMemcpy(memory, from.data(), from.size() * sizeof(half), cudaMemcpyHostToDevice), "upload");
    return memory;
}

static std::vector<float> score(const half *queries, const half *keys)
{
    std::vector<float> result((size_t)QUERIES * KEYS);
    float *scores;
    check(cudaMalloc(&scores, result.size() * sizeof(float)), "cudaMalloc");
    score_tile<<<dim3(KEYS / TILE, QUERIES / TILE), WARP>>>(scores, queries, keys, KEYS);
    stop_unless(cudaGetLastError(), "launch", 1);
    stop_unless(cudaDeviceSynchronize(), "kernel", 1);
    stop_unless(cudaMemcpy(result.data(), scores, result.size() * sizeof(float), cudaMemcpyDeviceToHost), "D2H", 1);
    check(cudaFree(scores), "cudaFree");
    return result;
}

static float wanted_score(const half *query, const half *key)
{
    float sum = 0.0f;
    for (int i = 0; i < HEAD_DIM; i++)
        sum += __half2float(query[i]) * __half2float(key[i]);
    return sum;
}

static int count_wrong(const std::vector<half> &queries, const std::vector<half> &keys,
                       const std::vector<float> &scores)
{
    int wrong = 0;
    for (size_t q = 0; q < QUERIES; q++)
        for (size_t k = 0; k < KEYS; k++)
            wrong += scores[q * KEYS + k] != wanted_score(&queries[q * HEAD_DIM], &keys[k * HEAD_DIM]);
    return wrong;
}

int main()
{
    std::vector<half> queries = values((size_t)QUERIES * HEAD_DIM, 1), keys = values((size_t)KEYS * HEAD_DIM, 2);
    half *device_queries = upload(queries), *device_keys = upload(keys);
    std::vector<float> scores = score(device_queries, device_keys);
    int wrong = count_wrong(queries, keys, scores);
    check(cudaFree(device_queries), "cudaFree");
    check(cudaFree(device_keys), "cudaFree");
    printf("%d of %d scores are wrong\n", wrong, QUERIES * KEYS);
    return wrong ? 1 : 0;
}
