//: class = "A1"
//: cause = ["out-of-bounds-access"]
//: kernel = "spmv"
//: launch = 1
//: argument = 1
//: plain = "exit"
//: fault = "A CSR matrix of n rows needs n + 1 row pointers; n are allocated and copied, so the last row ends anywhere."
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

__global__ void spmv(float *y, const int *row, const int *col, const float *val, const float *x, int n)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n) return;
    float sum = 0;
    for (int k = row[r]; k < row[r + 1]; ++k) sum += val[k] * x[col[k]];
    y[r] = sum;
}

template <class T> T *upload(const std::vector<T> &host, size_t count)
{
    T *device = nullptr;
    cudaMalloc((void **)&device, count * sizeof(T));
    cudaMemcpy(device, host.data(), count * sizeof(T), cudaMemcpyHostToDevice);
    return device;
}

int main()
{
    const int n = 1 << 14; // a multiple of the allocator's granularity, so nothing follows by luck
    std::vector<int> row(1, 0), col;
    std::vector<float> val;
    for (int r = 0; r < n; ++r) {
        for (int d = -2; d <= 2; ++d)
            if (r + d >= 0 && r + d < n) col.push_back(r + d), val.push_back(d ? -1.0f : 4.0f);
        row.push_back((int)col.size());
    }
#ifdef TWIN
    int *d_row = upload(row, n + 1);
#else
    int *d_row = upload(row, n); // FAULT
#endif
    int *d_col = upload(col, col.size());
    float *d_val = upload(val, val.size()), *d_x = upload(std::vector<float>(n, 1.0f), n), *d_y;
    cudaMalloc(&d_y, n * sizeof(float));
    spmv<<<n / 128, 128>>>(d_y, d_row, d_col, d_val, d_x, n);
    float y[2];
    cudaMemcpy(y, d_y + n - 2, sizeof y, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) return 1;
    printf("last rows: %g %g\n", y[0], y[1]);
    return y[1] == 2.0f ? 0 : 1;
}
