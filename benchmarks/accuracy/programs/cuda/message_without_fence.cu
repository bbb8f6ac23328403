//: class = "C2"
//: cause = ["missing-memory-fence", "race-in-kernel"]
//: kernel = "pipeline"
//: launch = 1
//: plain = "sometimes"
//: fault = "Block 0 sets the flag without a fence behind its data; block 1 may see the flag first."
#include <cstdio>
#include <cuda/atomic>
#include <cuda_runtime.h>

__global__ void pipeline(int *data, int *flags, int *wrong, int rounds)
{
    if (threadIdx.x) return;
    for (int r = 1; r <= rounds; ++r) {
#ifdef TWIN
        cuda::atomic_ref<int, cuda::thread_scope_device> flag(flags[0]), taken(flags[64]);
        if (blockIdx.x == 0) {
            for (int i = 0; i < 8; ++i) data[i * 64] = r;
            flag.store(r, cuda::memory_order_release);
            while (taken.load(cuda::memory_order_acquire) < r) {
            }
        } else {
            while (flag.load(cuda::memory_order_acquire) < r) {
            }
            for (int i = 0; i < 8; ++i) *wrong += data[i * 64] != r;
            taken.store(r, cuda::memory_order_release);
        }
#else
        volatile int *flag = flags, *taken = flags + 64, *shared = data;
        if (blockIdx.x == 0) {
            for (int i = 0; i < 8; ++i) shared[i * 64] = r;
            *flag = r; // FAULT
            while (*taken < r) {
            }
        } else {
            while (*flag < r) {
            }
            for (int i = 0; i < 8; ++i) *wrong += shared[i * 64] != r;
            *taken = r;
        }
#endif
    }
}

int main()
{
    int *data, *flags, *wrong, host = -1;
    cudaMalloc(&data, 8 * 64 * sizeof(int));
    cudaMalloc(&flags, 128 * sizeof(int));
    cudaMalloc(&wrong, sizeof(int));
    cudaMemset(data, 0, 8 * 64 * sizeof(int));
    cudaMemset(flags, 0, 128 * sizeof(int));
    cudaMemset(wrong, 0, sizeof(int));
    pipeline<<<2, 32>>>(data, flags, wrong, 20000);
    if (cudaMemcpy(&host, wrong, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
    printf("%d messages torn\n", host);
    return host ? 1 : 0;
}
