/* Where the parameters of a kernel lie that is given as SPIR-V: a module has no metadata, but the types of its functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/functions.h"

bool gdx_is_spirv(const void *module, uint64_t bytes);
/* NULL: there is no such kernel, or it is not understood. required: its work-group size, where it demands one. */
struct gdx_layout *gdx_spirv_layout(const void *module, size_t bytes, const char *name, uint64_t required[3]);
