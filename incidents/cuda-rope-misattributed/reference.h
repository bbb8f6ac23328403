#pragma once

#include "model.h"

/* The same forward pass on the host, for the SEQUENCE rows of one sequence; x is changed in place. */
void reference_forward(const Config &config, const std::vector<LayerWeights> &weights, float *x);
