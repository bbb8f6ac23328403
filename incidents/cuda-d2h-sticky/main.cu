/* A grey image is brightened in many small steps, converted to colour for display, and the mean of each row goes back
 * to the host for a statistic. */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

enum { WIDTH = 2000, HEIGHT = 2048, PIXELS = WIDTH * HEIGHT, STEPS = 300, THREADS = 256, SAMPLE_EVERY = 4099 };

struct Job {
    float *grey;
    float *means;
    float4 *display;
    size_t display_pitch; /* bytes from one row of `display` to the next */
    int *histogram;
    cudaEvent_t done;
    std::vector<float> source;
};

static __host__ __device__ float brighter(float value)
{
    return value + 0.002f * value * (1.0f - value);
}

__global__ void brighten(float *grey, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        grey[i] = brighter(grey[i]);
}

/* `stride` counts pixels. */
__global__ void to_display(float4 *out, const float *grey, int width, int height, int stride)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width || y >= height)
        return;
    const float value = grey[(size_t)y * width + x];
    out[(size_t)y * stride + x] = make_float4(value, value, value, 1.0f);
}

__global__ void row_means(float *means, const float *grey, int width, int height)
{
    const int y = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    if (y >= height)
        return;
    for (int x = 0; x < width; x++)
        sum += grey[(size_t)y * width + x];
    means[y] = sum / width;
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

static std::vector<float> noise()
{
    std::vector<float> values(PIXELS);
    unsigned state = 4711;
    for (float &value : values) {
        state = state * 1664525u + 1013904223u;
        value = 0.1f + 0.4f * (float)(state >> 8) / 16777216.0f;
    }
    return values;
}

static Job prepare()
{
    Job job;
    job.source = noise();
    check(cudaMalloc(&job.grey, PIXELS * sizeof(float)), "cudaMalloc");
    check(cudaMalloc(&job.means, HEIGHT * sizeof(float)), "cudaMalloc");
    check(cudaMalloc(&job.histogram, 256 * sizeof(int)), "cudaMalloc");
    check(cudaMallocPitch(&job.display, &job.display_pitch, WIDTH * sizeof(float4), HEIGHT), "cudaMallocPitch");
    check(cudaEventCreate(&job.done), "cudaEventCreate");
    check(cudaMemcpy(job.grey, job.source.data(), PIXELS * sizeof(float), cudaMemcpyHostToDevice), "H2D");
    return job;
}

static int display_stride(const Job &job)
{
#ifdef TWIN
    return (int)(job.display_pitch / sizeof(float4));
#else
    /* Bytes, where the kernel counts pixels: the last row lands a gigabyte behind the image. */
    return (int)job.display_pitch;
#endif
}

/* Queues everything and waits for nothing. The many steps keep the device busy until the host is through. */
static void queue_work(const Job &job)
{
    const dim3 by_row((WIDTH + THREADS - 1) / THREADS, HEIGHT);
    for (int i = 0; i < STEPS; i++)
        brighten<<<(PIXELS + THREADS - 1) / THREADS, THREADS>>>(job.grey, PIXELS);
    to_display<<<by_row, THREADS>>>(job.display, job.grey, WIDTH, HEIGHT, display_stride(job));
    row_means<<<HEIGHT / THREADS, THREADS>>>(job.means, job.grey, WIDTH, HEIGHT);
    cudaMemsetAsync(job.histogram, 0, 256 * sizeof(int));
    cudaEventRecord(job.done);
}

static std::vector<float> read_means(const Job &job)
{
    std::vector<float> means(HEIGHT);
    stop_unless(cudaMemcpy(means.data(), job.means, HEIGHT * sizeof(float), cudaMemcpyDeviceToHost), "D2H", 1);
    return means;
}

static std::vector<float4> read_display(const Job &job)
{
    std::vector<float4> image(PIXELS);
    const size_t row = WIDTH * sizeof(float4);
    stop_unless(cudaMemcpy2D(image.data(), row, job.display, job.display_pitch, row, HEIGHT, cudaMemcpyDeviceToHost),
                "D2H of the image", 1);
    return image;
}

static float wanted_pixel(const Job &job, size_t index)
{
    float value = job.source[index];
    for (int i = 0; i < STEPS; i++)
        value = brighter(value);
    return value;
}

/* Asked this way round, a NaN is wrong too. */
static int is_wrong(float got, float wanted)
{
    return !(std::fabs(got - wanted) < 1e-3f);
}

static int wrong_pixels(const Job &job, const std::vector<float4> &image)
{
    int wrong = 0;
    for (size_t i = 0; i < image.size(); i += SAMPLE_EVERY) {
        const float wanted = wanted_pixel(job, i);
        wrong += is_wrong(image[i].x, wanted) || is_wrong(image[i].z, wanted) || is_wrong(image[i].w, 1.0f);
    }
    return wrong;
}

static int wrong_means(const std::vector<float> &means, const std::vector<float4> &image)
{
    int wrong = 0;
    for (int y = 0; y < HEIGHT; y++) {
        double sum = 0.0;
        for (int x = 0; x < WIDTH; x++)
            sum += image[(size_t)y * WIDTH + x].x;
        wrong += is_wrong(means[y], (float)(sum / WIDTH));
    }
    return wrong;
}

static void release(const Job &job)
{
    check(cudaFree(job.grey), "cudaFree");
    check(cudaFree(job.means), "cudaFree");
    check(cudaFree(job.histogram), "cudaFree");
    check(cudaFree(job.display), "cudaFree");
    check(cudaEventDestroy(job.done), "cudaEventDestroy");
}

int main()
{
    Job job = prepare();
    queue_work(job);
    std::vector<float> means = read_means(job);
    std::vector<float4> image = read_display(job);
    int pixels = wrong_pixels(job, image), rows = wrong_means(means, image);
    printf("wrong: %d pixels of the sample, %d of %d means\n", pixels, rows, (int)HEIGHT);
    release(job);
    return pixels || rows ? 1 : 0;
}
