/* Launches to capture: add(x, y, out, n) twice, follow(table, at, value), which finds its memory through an address in memory, and
 * scaled(view, sum), with addresses in a structure. With a word, more:
 *
 *   module FILE    add from a code object, given from memory that goes, and once more from the file
 *   cut FILE       add from a code object, its last block smaller
 *   fault          add, with an address where there is nothing
 *   texture        sample, with a texture object that is there, and once more when it is destroyed
 *   variables      weighted, which reads and writes a variable that the program has written
 *   by-pointer     add, by hipLaunchByPtr
 *   graph          add, while its stream is captured
 *   error          add, and once more after a call that failed */
#include <hip/hip_ext.h>

#include <cstring>
#include <string>
#include <unistd.h>

#include "captured.h"
#include "small.h"

const void *address_of_sample();
const void *address_of_weights();
void launch_add(const float *x, const float *y, float *out, int n, hipStream_t stream);
void launch_follow(float **table, long at, float value);
void launch_scaled(View view, float *sum);
void launch_weighted(const float *x, float *out);
void launch_sample(float *out, unsigned long texture);
enum { N = 5000 };

static float *on_device(const std::vector<float> &values)
{
    float *made;
    CHECK(hipMalloc((void **)&made, values.size() * sizeof(float)));
    CHECK(hipMemcpy(made, values.data(), values.size() * sizeof(float), hipMemcpyHostToDevice));
    return made;
}

static std::string read_file(const char *path)
{
    std::string content;
    FILE *file = fopen(path, "rb");
    for (int c; (c = fgetc(file)) != EOF;)
        content += (char)c;
    fclose(file);
    return content;
}

static void from_module(hipModule_t module, float *x, float *y, float *out, bool cut)
{
    hipFunction_t function;
    int n = N;
    CHECK(hipModuleGetFunction(&function, module, "_Z3addPKfS0_Pfi"));
    void *params[] = { &x, &y, &out, &n };
    if (cut)
        CHECK(hipExtModuleLaunchKernel(function, N, 1, 1, 256, 1, 1, 0, nullptr, params, nullptr, nullptr, nullptr, 0));
    else
        CHECK(hipModuleLaunchKernel(function, (N + 255) / 256, 1, 1, 256, 1, 1, 0, nullptr, params, nullptr));
    CHECK(hipDeviceSynchronize());
}

int main(int words, char **word)
{
    std::vector<float> a(N), b(N), zero(N), list(8);
    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = (float)i / 3;
    }
    float *x = on_device(a), *y = on_device(b), *out = on_device(zero), *sum = on_device(list);
    const std::string what = words > 1 ? word[1] : "";
    if (what == "module") {
        hipModule_t first, second;
        std::string image = read_file(word[2]);
        CHECK(hipModuleLoadData(&first, image.data()));
        memset(&image[0], 'x', image.size());  // the image need not stay
        from_module(first, x, y, out, false);
        CHECK(hipModuleLoad(&second, word[2]));
        from_module(second, y, y, out, false);
    } else if (what == "cut") {
        hipModule_t module;
        CHECK(hipModuleLoad(&module, word[2]));
        from_module(module, x, y, out, true);
    } else if (what == "fault") {
        launch_add(x, y, (float *)0x1000, N, nullptr);
        printf("launched\n");
        return hipDeviceSynchronize();
    } else if (what == "texture") {
        hipTextureObject_t texture = nullptr;
        hipResourceDesc resource = {};
        hipTextureDesc description = {};
        CHECK(hipCreateTextureObject(&texture, &resource, &description, nullptr));
        launch_sample(out, (unsigned long)texture);
        CHECK(hipDestroyTextureObject(texture));
        launch_sample(out, (unsigned long)texture);
    } else if (what == "variables") {
        const float weights[] = { 10, 20, 30, 40 };
        CHECK(hipMemcpyToSymbol(address_of_weights(), weights, sizeof weights, 0, hipMemcpyHostToDevice));
        launch_weighted(x, out);
    } else if (what == "by-pointer") {
        printf("%d\n", hipLaunchByPtr(address_of_sample()));
    } else if (what == "graph") {
        hipStream_t stream;
        hipGraph_t graph;
        CHECK(hipStreamCreate(&stream));
        CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
        launch_add(x, y, out, N, stream);
        CHECK(hipStreamEndCapture(stream, &graph));
    } else if (what == "error") {
        launch_add(x, y, out, N, nullptr);
        printf("%d\n", hipFree(&a));
        launch_add(x, x, out, N, nullptr);
        printf("%d\n", hipGetLastError());
    } else {
        hipStream_t stream;
        float **table;
        CHECK(hipStreamCreate(&stream));
        CHECK(hipMalloc((void **)&table, 64));
        launch_add(x, y, out, N, stream);
        printf("%d\n", hipGetLastError());
        CHECK(hipMemcpyAsync(x, out, N * sizeof(float), hipMemcpyDeviceToDevice, stream));
        launch_add(x, y, out, N, stream);
        CHECK(hipStreamSynchronize(stream));
        CHECK(hipMemset(table, 0, 64));
        CHECK(hipMemcpy(table + 3, &out, sizeof out, hipMemcpyHostToDevice));
        launch_follow(table, 7, 7.5f);
        launch_scaled({ x, y, 0.5f, N }, sum);
    }
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(a.data(), out, N * sizeof(float), hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(b.data(), y, N * sizeof(float), hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(list.data(), sum, list.size() * sizeof(float), hipMemcpyDeviceToHost));
    printf("%g %g %g %g %g\n", a[3], a[7], a[N - 1], b[4], list[0]);
}
