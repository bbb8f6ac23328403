/* Just enough of GGUF (version 3, little-endian) for one layer. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct model {
    uint32_t n_embd, n_ff;
    const float *up;   /* n_ff rows of n_embd */
    const float *down; /* n_embd rows of n_ff */
};

/* Writes a model of these dimensions; 0 on success. */
int model_write(const char *path, uint32_t n_embd, uint32_t n_ff);

/* Maps a model, which stays mapped; 0 on success. */
int model_open(struct model *model, const char *path);
