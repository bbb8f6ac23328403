/* One fault, named by the first argument. Ends with the error that the last wait gives back. */
#include <hip/hip_runtime.h>

#include <cstring>

void launch_touch(int *x, int from, int count);
void launch_touch_in(hipStream_t stream, int *x, int from, int count);
const void *address_of_touch();
enum { BYTES = 4096, COUNT = BYTES / 4 };

int main(int, char **words)
{
    const char *what = words[1];
    int *x, *other;
    hipMalloc((void **)&x, BYTES);
    hipMalloc((void **)&other, BYTES);
    if (!strcmp(what, "past"))
        launch_touch(x, COUNT, 1);
    if (!strcmp(what, "null"))
        launch_touch(nullptr, 0, 1);
    if (!strcmp(what, "good"))
        launch_touch(x, 0, 64);
    if (!strcmp(what, "checked")) {
        launch_touch(x, 0, 64);
        return hipGetLastError() != hipSuccess;
    }
    if (!strcmp(what, "second")) {
        launch_touch(other, 0, 64);
        launch_touch(x, COUNT, 1);
    }
    if (!strcmp(what, "first")) {
        launch_touch(x, COUNT, 1);
        launch_touch(other, 0, 64);
    }
    if (!strcmp(what, "graph")) {
        hipStream_t stream, second;
        hipGraph_t graph;
        hipGraphExec_t executable;
        hipStreamCreateWithFlags(&stream, hipStreamNonBlocking);
        hipStreamCreateWithFlags(&second, hipStreamNonBlocking);
        hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal);
        launch_touch_in(stream, x, COUNT, 1);
        hipStreamEndCapture(stream, &graph);
        hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0);
        hipGraphLaunch(executable, stream);
        launch_touch_in(second, x, 0, 64);
    }
    if (!strcmp(what, "freed")) {
        hipFree(x);
        launch_touch(x, 0, 1);
    }
    if (!strcmp(what, "limits")) {
        void *params[] = {&x, &x, &x};
        return hipLaunchKernel(address_of_touch(), dim3(1), dim3(2048), params, 0, 0) != hipSuccess;
    }
    return hipDeviceSynchronize() != hipSuccess;
}
