#pragma once
struct Rows { const float *values, *scale; int count, width; };
