/* A vector in two halves, one on each device. With "wrong" the second half of x is allocated before its device is set. Nothing is
 * wrong on device 0, whose stream is the first that is waited for. Ends with the error of that wait. */
#include <hip/hip_runtime.h>

#include <cstring>

void launch_add(float *y, const float *x, int count, hipStream_t stream);
enum { HALF = 6000 };

int main(int, char **words)
{
    float *x[2], *y[2];
    hipStream_t streams[2];
    for (int device = 0; device < 2; device++) {
        if (strcmp(words[1], "wrong"))
            hipSetDevice(device);
        hipMalloc((void **)&x[device], HALF * sizeof(float));
        hipSetDevice(device);
        hipMalloc((void **)&y[device], HALF * sizeof(float));
        hipStreamCreate(&streams[device]);
    }
    for (int device = 0; device < 2; device++) {
        hipSetDevice(device);
        launch_add(y[device], x[device], HALF, streams[device]);
    }
    hipSetDevice(0);
    hipError_t first = hipStreamSynchronize(streams[0]);
    hipSetDevice(1);
    hipError_t second = hipStreamSynchronize(streams[1]);
    return first ? first : second;
}
