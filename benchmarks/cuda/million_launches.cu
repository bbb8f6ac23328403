/* Many good launches, then one that writes far outside its buffer: how long until somebody says which one it was?
 *
 *     million_launches [LAUNCHES]
 *
 * Prints "pid NUMBER" at the start and "failed_at NANOSECONDS" (monotonic clock) as soon as the error is known. Always
 * ends with 1, or with 2 when it could not do its part. */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

enum { BUFFERS = 64, COUNT = 4096, THREADS = 256 };

__global__ void scale_step(float *out, const float *in, int count, int stride, float scale, float shift)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[(size_t)i * stride] = in[i] * scale + shift;
}

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(error));
    exit(2);
}

static void allocate(float **buffers)
{
    for (int i = 0; i < BUFFERS; i++) {
        check(cudaMalloc(&buffers[i], COUNT * sizeof(float)), "cudaMalloc");
        check(cudaMemset(buffers[i], 0, COUNT * sizeof(float)), "cudaMemset");
    }
}

static void launch(float *const *buffers, long number, int stride)
{
    scale_step<<<COUNT / THREADS, THREADS>>>(buffers[number % BUFFERS], buffers[(number + 7) % BUFFERS], COUNT, stride,
                                            0.5f, (float)(number % 100));
}

static long long monotonic_ns()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

int main(int argc, char **argv)
{
    const long launches = argc > 1 ? atol(argv[1]) : 1000000;
    float *buffers[BUFFERS];
    setvbuf(stdout, NULL, _IOLBF, 0); /* the lines are needed while this runs, also through a pipe */
    printf("pid %d\n", (int)getpid());
    allocate(buffers);
    for (long i = 0; i < launches; i++)
        launch(buffers, i, 1);
    check(cudaDeviceSynchronize(), "the good launches");
    launch(buffers, launches, 1 << 20); /* 4096 steps of 4 MB: 16 GB past a buffer of 16 KB */
    const cudaError_t error = cudaDeviceSynchronize();
    printf("failed_at %lld\n", monotonic_ns());
    fprintf(stderr, "the last launch: %s\n", cudaGetErrorString(error));
    return error == cudaSuccess ? 2 : 1;
}
