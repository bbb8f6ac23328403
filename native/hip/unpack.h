/* Compressed device code (unpack.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GDX_HIP_DAMAGED "the compressed device code is damaged"

/* Copies the bytes that can be read, from the first on, and says how many those are. */
typedef size_t gdx_copy_some(void *to, const char *from, size_t bytes);

/* NULL: `plain` is a mapping of `bytes` bytes that the caller unmaps; else why not. `end` of what is packed, NULL: not known. */
const char *gdx_hip_unpack(const char *packed, const char *end, gdx_copy_some *copy_some, char **plain, size_t *bytes);
