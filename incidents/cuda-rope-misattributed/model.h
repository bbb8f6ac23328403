/* What a model is made of: its dimensions, which stand at the head of its file, and its weights. */
#pragma once

#include <stddef.h>

#include <vector>

/* The defaults are those of the model that this program was first written for. */
struct Config {
    int dim = 64;
    int heads = 4;
    int hidden = 11008;
    int layers = 2;
    float rope_base = 10000.0f;

    int head_dim() const { return dim / heads; }
};

/* Row-major matrices, inputs x outputs. */
struct LayerWeights {
    std::vector<float> query, key, value, output, up, down;
};

Config read_config();
std::vector<LayerWeights> read_weights(const Config &config);
std::vector<float> random_values(size_t count, float scale, unsigned seed);
