/* A layer per device. The bias of the second layer is allocated before its device is chosen. */
#include "small.h"

void launch_layer(const float *weights, const float *bias, float *out, int count, hipStream_t stream);
enum { COUNT = 4096, LAYERS = 2 };
struct Layer { float *weights, *bias, *out; hipStream_t stream; };

static float *zeros(size_t count)
{
    void *made;
    CHECK(hipMalloc(&made, count * sizeof(float)));
    CHECK(hipMemset(made, 0, count * sizeof(float)));
    return (float *)made;
}

int main(int words, char **)
{
    Layer layers[LAYERS];
    for (int device = 0; device < LAYERS; device++) {
        Layer &layer = layers[device];
        if (words > 1)
            CHECK(hipSetDevice(device));
        layer.bias = zeros(COUNT);
        CHECK(hipSetDevice(device));
        layer.weights = zeros(COUNT);
        layer.out = zeros(COUNT);
        CHECK(hipStreamCreate(&layer.stream));
    }
    for (int device = 0; device < LAYERS; device++) {
        const Layer &layer = layers[device];
        CHECK(hipSetDevice(device));
        launch_layer(layer.weights, layer.bias, layer.out, COUNT, layer.stream);
        CHECK(hipStreamSynchronize(layer.stream));
    }
    printf("done\n");
}
