#pragma once
struct View { const float *values; float *out; float scale; int count; };
