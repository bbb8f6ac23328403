#pragma once

struct Pair {
    long first, second, third;
};
void launch_mixed(float *out, const int *in, int count, double factor, Pair pair, char flag);
void launch_twice(float *x, int count, hipStream_t stream);
const void *address_of_twice();
