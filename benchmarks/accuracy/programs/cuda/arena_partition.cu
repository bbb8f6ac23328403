//: class = "A6"
//: cause = ["misaligned-access"]
//: kernel = "accumulate"
//: launch = 1
//: argument = 1
//: plain = "exit"
//: fault = "The arena hands out the doubles right behind an odd number of ints."
#include <cstdio>
#include <cuda_runtime.h>

class Arena {
public:
    explicit Arena(size_t bytes) { cudaMalloc(&base_, bytes); }
    ~Arena() { cudaFree(base_); }
    template <class T> T *take(size_t count)
    {
#ifdef TWIN
        used_ = (used_ + alignof(T) - 1) / alignof(T) * alignof(T);
#endif
        T *p = reinterpret_cast<T *>(base_ + used_); // FAULT
        used_ += count * sizeof(T);
        return p;
    }

private:
    unsigned char *base_ = nullptr;
    size_t used_ = 0;
};

__global__ void accumulate(const int *camera, double *residual, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) residual[i] = camera[i] * 0.5;
}

int main(int argc, char **)
{
    int cameras = 21 + 0 * argc;
    Arena arena(1 << 16);
    int *camera = arena.take<int>(cameras);
    double *residual = arena.take<double>(cameras);
    cudaMemset(camera, 0, cameras * sizeof(int));
    accumulate<<<1, 32>>>(camera, residual, cameras);
    cudaError_t e = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(e));
    return e == cudaSuccess ? 0 : 4;
}
