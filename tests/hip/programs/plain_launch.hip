/* A HIP program without the vendor's headers, for compilers that are newer than they are. */
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
typedef struct stream *hipStream_t;
typedef int hipError_t;
extern "C" hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, hipStream_t);
extern "C" hipError_t __hipPushCallConfiguration(dim3, dim3, unsigned long = 0, hipStream_t = 0);
extern "C" hipError_t __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, hipStream_t *);
extern "C" hipError_t hipMalloc(void **, unsigned long);
extern "C" hipError_t hipDeviceSynchronize();

struct Pair { int first; double second; };

__global__ void scale(float *y, const float *x, float a, int n, Pair pair)
{
    const int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
    if (i < n)
        y[i] = a * x[i] + pair.first;
}

__global__ __attribute__((amdgpu_flat_work_group_size(1, 64))) void turn(float *y, int n)
{
    __shared__ float tile[64];
    const int i = __builtin_amdgcn_workitem_id_x();
    tile[i] = y[i];
    __builtin_amdgcn_s_barrier();
    y[i] = tile[(i + n) & 63];
}

__global__ void deep(float *y, int n)
{
    volatile float all[512];
    for (int i = 0; i < 512; i++)
        all[i] = y[i];
    y[0] = all[n & 511];
}

__global__ void many(float *y, int n)  /* more values than 1,024 threads have registers for */
{
    float all[200];
#pragma unroll
    for (int i = 0; i < 200; i++)
        all[i] = y[i * n];
    __builtin_amdgcn_s_barrier();
#pragma unroll
    for (int i = 0; i < 200; i++)
        y[i] = all[i] * all[(i * 7) % 200] + all[199 - i];
}

__global__ void traps(float *y, int n)
{
    if (n > 0)
        __builtin_trap();
    *y = 1;
}

int main()
{
    float *memory;
    hipMalloc((void **)&memory, 4096);
    scale<<<2, 64>>>(memory, memory + 64, 1.5f, 100, Pair{7, 2.5});
    turn<<<1, 64>>>(memory, 3);
    return hipDeviceSynchronize();
}
