/* The launches of incidents/cuda-rope-misattributed, with its numbers: activations are allocated for rows of 11008 where
 * the model has 14336, unless "twin" is given. Like the incident it looks at errors after RoPE only; with "strict" it
 * looks after each launch. */
#include "reach.h"

static const char image[] = "kernel _Z8gemm_f32PfPKfS1_iii 8 8 8 4 4 4\n"
                            "kernel _Z8rope_f32Pfiiif 8 4 4 4 4\n"
                            "kernel _Z10attend_f32PfPKfS1_S1_ii 8 8 8 8 4 4\n"
                            "kernel _Z8silu_f32Pfi 8 4\n"
                            "kernel _Z7add_f32PfPKfi 8 8 4\n";
enum { ROWS = 65536, DIM = 64, HEADS = 4, HIDDEN = 14336, DEFAULT_HIDDEN = 11008, LAYERS = 2, THREADS = 256, TILE = 64 };

static CUfunction gemm_f32, rope_f32, attend_f32, silu_f32, add_f32;
static int strict;

static void check(const char *what)
{
    CUresult status = DO(cuCtxSynchronize)();
    if (status == CUDA_SUCCESS)
        return;
    printf("%s launch failed: %d\n", what, status);
    exit(1);
}

static void launch(CUfunction function, int x, int y, int threads, void **params)
{
    DO(cuLaunchKernel)(function, x, y, 1, threads, 1, 1, 0, NULL, params, NULL);
    if (strict)
        check("a");
}

static void gemm(CUdeviceptr out, CUdeviceptr a, CUdeviceptr b, int rows, int cols, int inner)
{
    launch(gemm_f32, cols / TILE, rows / TILE, THREADS, (void *[]){ &out, &a, &b, &rows, &cols, &inner });
}

static void rope(CUdeviceptr x, const char *what)
{
    int rows = ROWS, heads = HEADS, head_dim = DIM / HEADS;
    float base = 10000;
    launch(rope_f32, ROWS * DIM / 2 / THREADS, 1, THREADS, (void *[]){ &x, &rows, &heads, &head_dim, &base });
    check(what);
}

static void attend(CUdeviceptr out, CUdeviceptr q, CUdeviceptr k, CUdeviceptr v)
{
    int heads = HEADS, head_dim = DIM / HEADS;
    launch(attend_f32, ROWS / 16, HEADS, 16, (void *[]){ &out, &q, &k, &v, &heads, &head_dim });
}

static void silu(CUdeviceptr x, int count)
{
    launch(silu_f32, count / THREADS, 1, THREADS, (void *[]){ &x, &count });
}

static void add(CUdeviceptr y, CUdeviceptr x, int count)
{
    launch(add_f32, count / THREADS, 1, THREADS, (void *[]){ &y, &x, &count });
}

static CUdeviceptr floats(size_t count)
{
    CUdeviceptr memory;
    CHECK(DO(cuMemAlloc_v2)(&memory, count * sizeof(float)));
    return memory;
}

static void layer(CUdeviceptr *act, CUdeviceptr *weights)
{
    CUdeviceptr x = act[0], q = act[1], k = act[2], v = act[3], mixed = act[4], hidden = act[5];
    gemm(q, x, weights[0], ROWS, DIM, DIM);
    gemm(k, x, weights[1], ROWS, DIM, DIM);
    gemm(v, x, weights[2], ROWS, DIM, DIM);
    rope(q, "RoPE Q");
    rope(k, "RoPE K");
    attend(mixed, q, k, v);
    gemm(q, mixed, weights[3], ROWS, DIM, DIM);
    add(x, q, ROWS * DIM);
    gemm(hidden, x, weights[4], ROWS, HIDDEN, DIM);
    silu(hidden, ROWS * HIDDEN);
    gemm(q, hidden, weights[5], ROWS, DIM, HIDDEN);
    add(x, q, ROWS * DIM);
}

static void get_functions(void)
{
    CUmodule module;
    CHECK(DO(cuModuleLoadData)(&module, image));
    CHECK(DO(cuModuleGetFunction)(&gemm_f32, module, "_Z8gemm_f32PfPKfS1_iii"));
    CHECK(DO(cuModuleGetFunction)(&rope_f32, module, "_Z8rope_f32Pfiiif"));
    CHECK(DO(cuModuleGetFunction)(&attend_f32, module, "_Z10attend_f32PfPKfS1_S1_ii"));
    CHECK(DO(cuModuleGetFunction)(&silu_f32, module, "_Z8silu_f32Pfi"));
    CHECK(DO(cuModuleGetFunction)(&add_f32, module, "_Z7add_f32PfPKfi"));
}

int main(int argc, char **argv)
{
    int twin = argc > 1 && !strcmp(argv[1], "twin");
    CUcontext context;
    CUdeviceptr act[6], weights[LAYERS][6];
    strict = argc > 1 && !strcmp(argv[1], "strict");
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    get_functions();
    for (int i = 0; i < 6; i++)
        act[i] = floats((size_t)ROWS * (i < 5 ? DIM : twin ? HIDDEN : DEFAULT_HIDDEN));
    for (int i = 0; i < LAYERS * 6; i++)
        weights[i / 6][i % 6] = floats((size_t)DIM * (i % 6 < 4 ? DIM : HIDDEN));
    for (int i = 0; i < LAYERS; i++)
        layer(act, weights[i]);
    check("last layer");
    return 0;
}
