/* For the small GPU programs: say what failed and go on or stop. They print one line each, so that runs can be
 * compared. */
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define MUST(call)                                                                     \
    do {                                                                               \
        cudaError_t status_ = (call);                                                  \
        if (status_ != cudaSuccess) {                                                  \
            std::printf("%s: %s\n", #call, cudaGetErrorName(status_));                 \
            std::exit(1);                                                              \
        }                                                                              \
    } while (0)

/* For programs that are meant to fail: prints where the failure surfaces, and how. */
static inline int told(const char *what, cudaError_t status)
{
    std::printf("%s: %s\n", what, cudaGetErrorName(status));
    return status == cudaSuccess ? 0 : 1;
}
