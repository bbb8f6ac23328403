/* Programs whose status is a result of their own; nothing is wrong with any of them. */
#include "small.h"

#include <cmath>
#include <cstring>

void launch_flag(const float *x, int *flags, int n, float limit);
void launch_relax(const float *from, float *to, const float *rhs, int n, float omega);
void launch_compare(const int *a, const int *b, int *count, int n, int offset);

template <typename T> static T *uploaded(const std::vector<T> &values)
{
    T *memory;
    CHECK(hipMalloc((void **)&memory, values.size() * sizeof(T)));
    CHECK(hipMemcpy(memory, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
    return memory;
}

template <typename T> static std::vector<T> downloaded(const T *memory, int count)
{
    std::vector<T> values(count);
    CHECK(hipMemcpy(values.data(), memory, count * sizeof(T), hipMemcpyDeviceToHost));
    return values;
}

static int outliers(int n)
{
    std::vector<float> x(n);
    for (int i = 0; i < n; i++)
        x[i] = i % 100 == 7 ? 50.0f : float(i % 10);
    float *readings = uploaded(x);
    int *flags = uploaded(std::vector<int>(n)), count = 0;
    launch_flag(readings, flags, n, 20.0f);
    for (int one : downloaded(flags, n))
        count += one;
    printf("%d outliers\n", count);
    return count > 0;
}

static int solver(int n)
{
    float *a = uploaded(std::vector<float>(n)), *b = uploaded(std::vector<float>(n)), *rhs = uploaded(std::vector<float>(n, 1.0f));
    for (int step = 0; step < 20; step++) {
        launch_relax(a, b, rhs, n, 0.8f);
        std::swap(a, b);
    }
    const std::vector<float> now = downloaded(a, n), before = downloaded(b, n);
    float change = 0;
    for (int i = 0; i < n; i++)
        change = std::fmax(change, std::fabs(now[i] - before[i]));
    printf("change %g: %s\n", change, change > 1e-6f ? "not converged" : "converged");
    return change > 1e-6f;
}

static int compare(int n)
{
    std::vector<int> first(n), second(n);
    for (int i = 0; i < n; i++)
        first[i] = i, second[i] = i == n - 1 ? -1 : i;
    int *a = uploaded(first), *b = uploaded(second), *count = uploaded(std::vector<int>(1));
    launch_compare(a, b, count, n, 0);
    const int found = downloaded(count, 1)[0];
    printf("recordings differ in %d places\n", found);
    return found > 0;
}

int main(int, char **words)
{
    return !strcmp(words[1], "outliers") ? outliers(1000) : !strcmp(words[1], "solver") ? solver(200) : compare(5000);
}
