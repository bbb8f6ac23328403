// Sets arguments one after another; a refusal is not noticed.
#pragma once
#include <CL/cl.h>

struct Arguments {
    cl_kernel kernel;
    cl_uint next = 0;
    void put(size_t size, const void *value) { clSetKernelArg(kernel, next++, size, value); }
    template <class T> Arguments &arg(const T &value) { put(sizeof value, &value); return *this; }
};
