/* Memory that is allocated and freed in the order of a stream, round after round, as PyTorch does it. What is printed is the same on
 * every driver that is right; how many addresses there were goes to stderr.
 *
 *   resting rounds N [other]   N rounds of three sizes, on the default stream or another
 *   resting shapes N           N rounds of sizes that are never the same twice
 *   resting across             freed in one stream, allocated in another: "early" if the first has the memory, "later" if one of the next has
 *   resting reborn             the same, after the stream is gone and another has been made
 *   resting freed              add() over memory that was freed
 *   resting large              64 small blocks are freed, and nearly all memory is allocated in one piece
 *   resting twice              a second free of memory that rests
 *   resting past               add() over one float more than memory that had rested holds
 *   resting threads            four threads make rounds of their own
 *   resting context            rounds in a context that ends, and in the next one */
#include <pthread.h>

#include "reach.h"

static const char image[] = "kernel add 8 8 8 4\n";
static CUcontext context;
static CUfunction add;
static CUstream stream;  /* NULL: the default stream */
enum { MOST = 4096 };
static CUdeviceptr seen[MOST];
static int distinct;

static void count(CUdeviceptr address)
{
    for (int i = 0; i < distinct; i++)
        if (seen[i] == address)
            return;
    if (distinct < MOST)
        seen[distinct++] = address;
}

static float round_of(int n)
{
    CUdeviceptr a, out;
    float *values = malloc((size_t)n * sizeof *values), last = 0;
    size_t bytes = (size_t)n * sizeof *values;
    for (int i = 0; i < n; i++)
        values[i] = (float)i;
    CHECK(DO(cuMemAllocAsync)(&a, bytes, stream));
    CHECK(DO(cuMemAllocAsync)(&out, bytes, stream));
    CHECK(DO(cuMemcpyHtoD_v2)(a, values, bytes));
    void *params[] = { &a, &a, &out, &n };
    CHECK(DO(cuLaunchKernel)(add, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
    CHECK(DO(cuMemcpyDtoH_v2)(&last, out + bytes - sizeof last, sizeof last));
    CHECK(DO(cuMemFreeAsync)(a, stream));
    CHECK(DO(cuMemFreeAsync)(out, stream));
    count(a);
    count(out);
    free(values);
    return last;
}

static void rounds(int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += round_of(1000) + round_of(64) + round_of(5000);
    printf("sum %g\n", sum);
}

static void shapes(int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += round_of(1000 + 7 * i);
    printf("sum %g\n", sum);
}

static void across(int reborn)
{
    CUdeviceptr first, next = 0;
    CUstream other;
    int early, later = 0;
    CHECK(DO(cuStreamCreate)(&stream, 0));
    if (!reborn)
        CHECK(DO(cuStreamCreate)(&other, 0));
    CHECK(DO(cuMemAllocAsync)(&first, 4000, stream));
    CHECK(DO(cuMemFreeAsync)(first, stream));
    if (reborn) {
        CHECK(DO(cuStreamDestroy_v2)(stream));
        CHECK(DO(cuStreamCreate)(&other, 0));
        fprintf(stderr, "%s handle\n", other == stream ? "same" : "another");
    }
    CHECK(DO(cuMemAllocAsync)(&next, 4000, other));
    early = next == first;
    for (int i = 0; i < 20; i++) {
        CHECK(DO(cuMemAllocAsync)(&next, 4000, other));
        later |= next == first;
    }
    fprintf(stderr, "%s %s\n", early ? "early" : "-", later ? "later" : "-");
}

static void large(void)
{
    CUdeviceptr blocks[64], one;
    for (int i = 0; i < 64; i++)
        CHECK(DO(cuMemAllocAsync)(&blocks[i], 2000000, stream));
    for (int i = 0; i < 64; i++)
        CHECK(DO(cuMemFreeAsync)(blocks[i], stream));
    CHECK(DO(cuMemAllocAsync)(&one, 1000000000, stream));
}

static void *work(void *nothing)
{
    CHECK(DO(cuCtxSetCurrent)(context));
    float sum = 0;
    CUdeviceptr memory;
    for (int i = 0; i < 300; i++) {
        CHECK(DO(cuMemAllocAsync)(&memory, 4000, NULL));
        CHECK(DO(cuMemFreeAsync)(memory, NULL));
    }
    return sum ? nothing : NULL;
}

static void threads(void)
{
    pthread_t made[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&made[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(made[i], NULL);
}

static void make_context(void)
{
    CUmodule module;
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    CHECK(DO(cuModuleLoadData)(&module, image));
    CHECK(DO(cuModuleGetFunction)(&add, module, "add"));
}

int main(int argc, char **argv)
{
    CUdeviceptr memory;
    reach_driver();
    CHECK(DO(cuInit)(0));
    make_context();
    if (argc > 3 && !strcmp(argv[3], "other"))
        CHECK(DO(cuStreamCreate)(&stream, 0));
    if (!strcmp(argv[1], "rounds")) {
        rounds(atoi(argv[2]));
    } else if (!strcmp(argv[1], "shapes")) {
        shapes(atoi(argv[2]));
    } else if (!strcmp(argv[1], "across") || !strcmp(argv[1], "reborn")) {
        across(!strcmp(argv[1], "reborn"));
    } else if (!strcmp(argv[1], "large")) {
        large();
    } else if (!strcmp(argv[1], "freed")) {
        int n = 16;
        CHECK(DO(cuMemAllocAsync)(&memory, 4096, stream));
        CHECK(DO(cuMemFreeAsync)(memory, stream));
        void *params[] = { &memory, &memory, &memory, &n };
        CHECK(DO(cuLaunchKernel)(add, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
        CHECK(DO(cuCtxSynchronize)());
    } else if (!strcmp(argv[1], "twice")) {
        rounds(2);
        CHECK(DO(cuMemAllocAsync)(&memory, 4000, stream));
        printf("freed %d", DO(cuMemFreeAsync)(memory, stream));
        printf(" %d\n", DO(cuMemFreeAsync)(memory, stream) != CUDA_SUCCESS);
    } else if (!strcmp(argv[1], "past")) {
        int n = 1025;
        for (int i = 0; i < 3; i++) {
            CHECK(DO(cuMemAllocAsync)(&memory, 4096, stream));
            CHECK(DO(cuMemFreeAsync)(memory, stream));
        }
        CHECK(DO(cuMemAllocAsync)(&memory, 4096, stream));
        void *params[] = { &memory, &memory, &memory, &n };
        CHECK(DO(cuLaunchKernel)(add, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
        CHECK(DO(cuCtxSynchronize)());
    } else if (!strcmp(argv[1], "threads")) {
        threads();
    } else {
        rounds(3);
        CHECK(DO(cuCtxDestroy_v2)(context));
        make_context();
        rounds(3);
    }
    printf("done\n");
    fprintf(stderr, "%d\n", distinct);
    return 0;
}
