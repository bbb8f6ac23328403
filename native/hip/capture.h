/* HIP launches that are written down whole (driver/capture.h). */
#pragma once

#include "driver/capture.h"
#include "hip/hooks.h"

/* `l`: without its name. */
struct gdx_launch_capture *gdx_hip_capture_before(const struct gdx_wanted_launch *l, const struct gdx_layout *layout);
