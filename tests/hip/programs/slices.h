#pragma once

struct Slices { const float *in; float *out; int width, slice, slices; float scale; };
