/* What the small programs share: each has one fault, and none if it is called with a word. */
#pragma once
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call) checked(call, #call)

static inline void checked(hipError_t status, const char *call)
{
    if (status == hipSuccess)
        return;
    fprintf(stderr, "%s: %s\n", call, hipGetErrorString(status));
    exit(1);
}
