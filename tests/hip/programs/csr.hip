/* A sparse matrix times a vector. The end of the last row is not uploaded; with a word it is. */
#include "small.h"

void launch_spmv(const int *rows, const int *cols, const float *vals, const float *x, float *y, int n);

template <typename T> static T *uploaded(const std::vector<T> &values, size_t count)
{
    T *memory;
    CHECK(hipMalloc((void **)&memory, values.size() * sizeof(T)));
    CHECK(hipMemcpy(memory, values.data(), count * sizeof(T), hipMemcpyHostToDevice));
    return memory;
}

int main(int words, char **)
{
    const int n = 512, per_row = 4;
    std::vector<int> rows(n + 1), cols(n * per_row);
    std::vector<float> vals(n * per_row, 1.0f), x(n, 1.0f), y(n);
    for (int i = 0; i <= n; i++)
        rows[i] = i * per_row;
    for (int i = 0; i < n * per_row; i++)
        cols[i] = (i * 7) % n;
    const int *device_rows = uploaded(rows, words > 1 ? n + 1 : n), *device_cols = uploaded(cols, cols.size());
    const float *device_vals = uploaded(vals, vals.size()), *device_x = uploaded(x, x.size());
    float *device_y;
    CHECK(hipMalloc((void **)&device_y, n * sizeof(float)));
    launch_spmv(device_rows, device_cols, device_vals, device_x, device_y, n);
    CHECK(hipMemcpy(y.data(), device_y, n * sizeof(float), hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        if (y[i] != per_row) {
            fprintf(stderr, "wrong: y[%d] = %g\n", i, y[i]);
            return 1;
        }
    puts("PASS");
}
