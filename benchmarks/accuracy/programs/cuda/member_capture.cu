//: class = "A4"
//: cause = ["host-pointer-on-device"]
//: kernel = "for_each"
//: launch = 1
//: argument = 1
//: flags = ["--extended-lambda"]
//: plain = "exit"
//: fault = "The device lambda uses a member, so it captures `this`, the address of a host object."
#include <cstdio>
#include <cuda_runtime.h>
#include <memory>

template <class F> __global__ void for_each(int n, F body)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) body(i);
}

class Field {
public:
    explicit Field(int n) : n_(n) { cudaMalloc(&data_, n * sizeof(double)); }
    ~Field() { cudaFree(data_); }
    cudaError_t fill(double value)
    {
        offset_ = value;
#ifdef TWIN
        double *data = data_, offset = offset_;
        for_each<<<(n_ + 127) / 128, 128>>>(n_, [=] __device__(int i) { data[i] = i + offset; });
#else
        for_each<<<(n_ + 127) / 128, 128>>>(n_, [=] __device__(int i) { data_[i] = i + offset_; }); // FAULT
#endif
        return cudaDeviceSynchronize();
    }
    double *data_ = nullptr;

private:
    int n_;
    double offset_ = 0;
};

int main()
{
    auto field = std::make_unique<Field>(3000);
    cudaError_t e = field->fill(0.5);
    double last = 0;
    cudaMemcpy(&last, field->data_ + 2999, sizeof last, cudaMemcpyDeviceToHost);
    printf("%s %g\n", cudaGetErrorName(e), last);
    return last == 2999.5 ? 0 : 1;
}
