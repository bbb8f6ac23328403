/* Frames go through a tone curve. The curve's table is kept on the device by a small cache, which is trimmed to give
 * memory back when a frame is done. */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

/* All blocks are small: the driver cuts such ones out of a larger mapping, and keeps that when one of them is freed. */
enum { FRAMES = 2, PIXELS = 48 * 1024, TABLE = PIXELS, THREADS = 256 };

struct Cache {
    float *table;
};

struct Buffers {
    float *in;
    float *out;
};

__global__ void apply_curve(float *out, const float *in, const float *table, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = table[(int)(in[i] * (TABLE - 1))];
}

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

static float *allocate(size_t count)
{
    float *memory;
    check(cudaMalloc(&memory, count * sizeof(float)), "cudaMalloc");
    return memory;
}

static float curve(int entry)
{
    return std::sqrt((float)entry / (TABLE - 1));
}

static Cache fill_cache()
{
    std::vector<float> values(TABLE);
    for (int i = 0; i < TABLE; i++)
        values[i] = curve(i);
    Cache cache = {allocate(TABLE)};
    check(cudaMemcpy(cache.table, values.data(), TABLE * sizeof(float), cudaMemcpyHostToDevice), "upload");
    return cache;
}

static void trim(const Cache &cache)
{
    check(cudaFree(cache.table), "cudaFree");
}

/* Pixels stay clear of the edge between two entries: device and host must pick the same one. */
static std::vector<float> new_frame(int number)
{
    std::vector<float> frame(PIXELS);
    for (int i = 0; i < PIXELS; i++)
        frame[i] = ((float)((i * 37 + number * 1009) % (TABLE - 1)) + 0.5f) / (TABLE - 1);
    return frame;
}

static std::vector<float> develop(const Buffers &buffers, const Cache &cache, const std::vector<float> &frame)
{
    std::vector<float> result(PIXELS);
    const size_t bytes = PIXELS * sizeof(float);
    stop_unless(cudaMemcpy(buffers.in, frame.data(), bytes, cudaMemcpyHostToDevice), "H2D", 1);
    apply_curve<<<PIXELS / THREADS, THREADS>>>(buffers.out, buffers.in, cache.table, PIXELS);
    stop_unless(cudaGetLastError(), "launch", 1);
    stop_unless(cudaMemcpy(result.data(), buffers.out, bytes, cudaMemcpyDeviceToHost), "D2H", 1);
    return result;
}

static int count_wrong(const std::vector<float> &frame, const std::vector<float> &result)
{
    int wrong = 0;
    for (int i = 0; i < PIXELS; i++)
        wrong += result[i] != curve((int)(frame[i] * (TABLE - 1)));
    return wrong;
}

static int is_time_to_trim(int frame)
{
#ifdef TWIN
    return frame == FRAMES - 1;
#else
    /* After the first frame, although the pointer stays in use for the others. */
    return frame == 0;
#endif
}

int main()
{
    Cache cache = fill_cache();
    Buffers buffers = {allocate(PIXELS), allocate(PIXELS)};
    int wrong = 0;
    for (int i = 0; i < FRAMES; i++) {
        std::vector<float> frame = new_frame(i);
        wrong += count_wrong(frame, develop(buffers, cache, frame));
        if (is_time_to_trim(i))
            trim(cache);
    }
    check(cudaFree(buffers.in), "cudaFree");
    check(cudaFree(buffers.out), "cudaFree");
    printf("%d of %d pixels are wrong\n", wrong, FRAMES * PIXELS);
    return wrong ? 1 : 0;
}
