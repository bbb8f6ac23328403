#include "model.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

/* The model file: what it says about itself, with random numbers for weights. */
static const char header[] = "dim 64 heads 4 hidden 14336 layers 2 rope_base 10000";

Config read_config()
{
    Config c;
    int found = sscanf(header, "dim %d heads %d hidden %d layers %d rope_base %f", &c.dim, &c.heads, &c.hidden,
                       &c.layers, &c.rope_base);
    if (found != 5) {
        fprintf(stderr, "the model's header is not understood\n");
        exit(2);
    }
    return c;
}

std::vector<float> random_values(size_t count, float scale, unsigned seed)
{
    std::vector<float> values(count);
    unsigned state = seed * 2654435761u + 12345u;
    for (float &value : values) {
        state = state * 1664525u + 1013904223u;
        value = scale * ((float)(state >> 8) / 8388608.0f - 1.0f);
    }
    return values;
}

/* Scaled by the number of inputs, so that values keep their size from layer to layer. */
static std::vector<float> matrix(int inputs, int outputs, unsigned seed)
{
    return random_values((size_t)inputs * outputs, 1.0f / std::sqrt((float)inputs), seed);
}

std::vector<LayerWeights> read_weights(const Config &c)
{
    std::vector<LayerWeights> layers;
    for (unsigned i = 0; i < (unsigned)c.layers; i++)
        layers.push_back({matrix(c.dim, c.dim, 6 * i + 1), matrix(c.dim, c.dim, 6 * i + 2),
                          matrix(c.dim, c.dim, 6 * i + 3), matrix(c.dim, c.dim, 6 * i + 4),
                          matrix(c.dim, c.hidden, 6 * i + 5), matrix(c.hidden, c.dim, 6 * i + 6)});
    return layers;
}
