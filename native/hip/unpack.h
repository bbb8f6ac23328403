/* Compressed device code (unpack.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GDX_HIP_DAMAGED "the compressed device code is damaged"

/* How many of these bytes can be read, from the first on. */
typedef uint64_t gdx_readable_bytes(const char *at, uint64_t bytes);

/* NULL: `plain` is a mapping of `bytes` bytes that the caller unmaps; else why not. `end` of what is packed, NULL: not known. */
const char *gdx_hip_unpack(const char *packed, const char *end, gdx_readable_bytes *readable, char **plain, size_t *bytes);
