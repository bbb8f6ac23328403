/* A launch that is written down whole (core/capture.h): the image of its module, its parameters, and what is in all device memory that
 * the words in its parameters point into, and further on from there. Addresses stay what they are: a replay puts memory back there. */
#pragma once

#include "core/capture.h"
#include "cuda/hooks.h"

struct gdx_cu_capture;
struct gdx_cu_wanted { CUfunction kernel; struct gdx_shape shape; CUstream queue; bool own_thread; void **params, **extra; };

void gdx_cu_capture_image(const void *image, CUresult status, const void *result);
struct gdx_cu_capture *gdx_cu_capture_before(const struct gdx_cu_wanted *l, const struct gdx_layout *layout);
void gdx_cu_capture_after(struct gdx_cu_capture *c, CUresult status);

static inline void gdx_cu_capture_loaded(const void *image, CUresult status, const void *result)
{
    if (GDX_UNLIKELY(gdx_capturing()))
        gdx_cu_capture_image(image, status, result);
}
