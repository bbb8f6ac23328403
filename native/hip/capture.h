/* HIP launches that are written down whole (driver/capture.h). */
#pragma once

#include "driver/capture.h"
#include "hip/hooks.h"

/* A variable of the program's own code, by the address that the compiler gave it on the host. */
void gdx_hip_capture_registered(void **modules, const void *variable, const char *name, size_t bytes);

/* `l`: without its name. */
struct gdx_launch_capture *gdx_hip_capture_before(const struct gdx_wanted_launch *l, const struct gdx_layout *layout);
