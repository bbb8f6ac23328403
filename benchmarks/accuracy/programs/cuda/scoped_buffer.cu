//: class = "B2"
//: cause = ["use-after-free"]
//: kernel = "smooth"
//: launch = 1
//: argument = 0
//: plain = "exit"
//: fault = "The kernel gets the address of a temporary buffer that was freed at the end of the statement."
#include <cstdio>
#include <cuda_runtime.h>
#include <utility>

class Buffer {
public:
    explicit Buffer(size_t n) { cudaMalloc(&p_, n * sizeof(float)); }
    Buffer(Buffer &&other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
    ~Buffer() { cudaFree(p_); }
    float *get() const { return p_; }

private:
    float *p_ = nullptr;
};

static Buffer zeros(size_t n)
{
    Buffer b(n);
    cudaMemset(b.get(), 0, n * sizeof(float));
    return b;
}

__global__ void smooth(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i + 1 < n) out[i] = (in[i - 1] + in[i] + in[i + 1]) / 3;
}

int main()
{
    const int n = 4 << 20;
    Buffer out(n);
#ifdef TWIN
    Buffer signal = zeros(n);
    const float *in = signal.get();
#else
    const float *in = zeros(n).get(); // FAULT
#endif
    smooth<<<n / 256, 256>>>(in, out.get(), n);
    cudaError_t e = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(e));
    return e != cudaSuccess;
}
