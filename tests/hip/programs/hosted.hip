/* A kernel works on memory of malloc: "plain", or "registered" with HIP first. */
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

void twice_on(int *x, int n);

int main(int count, char **words)
{
    const int n = 1024;
    int *x = (int *)malloc(n * sizeof *x);
    for (int i = 0; i < n; i++)
        x[i] = i;
    if (count > 1 && !strcmp(words[1], "registered") && hipHostRegister(x, n * sizeof *x, 0) != hipSuccess)
        return 2;
    twice_on(x, n);
    hipError_t status = hipDeviceSynchronize();
    printf("%s, x[7] is %d\n", hipGetErrorString(status), x[7]);
    return status != hipSuccess;
}
