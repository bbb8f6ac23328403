/* CUDA launches that are written down whole (driver/capture.h), and the images of their modules. */
#pragma once

#include "cuda/hooks.h"
#include "driver/capture.h"

struct gdx_cu_wanted { CUfunction kernel; struct gdx_shape shape; CUstream queue; bool own_thread; void **params, **extra; };

void gdx_cu_capture_image(const void *image, CUresult status, const void *result);
struct gdx_launch_capture *gdx_cu_capture_before(const struct gdx_cu_wanted *l, const struct gdx_layout *layout);

static inline void gdx_cu_capture_loaded(const void *image, CUresult status, const void *result)
{
    if (GDX_UNLIKELY(gdx_capturing()))
        gdx_cu_capture_image(image, status, result);
}
