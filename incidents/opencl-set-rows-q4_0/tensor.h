/* Tensors on the device. What a tensor keeps on the device hangs behind `extra`: one plain buffer, or, for weights,
 * the codes and the scales in two buffers, which is what fast matrix kernels want. */
#ifndef TENSOR_H
#define TENSOR_H

#include "gpu.h"

#include <stdint.h>

enum { BLOCK_ELEMENTS = 32, BLOCK_BYTES = 18 };
enum element_type { TYPE_F32, TYPE_F16, TYPE_Q4_0, TYPE_I64 };
enum extra_kind { EXTRA_PLAIN, EXTRA_SPLIT };

struct plain_extra {
    cl_mem data;
    size_t offset;
    size_t nbytes;
};

struct split_extra {
    cl_mem q;
    cl_mem q_img;
    cl_mem d;
    cl_mem d_img;
    size_t q_bytes;
    size_t d_bytes;
};

struct tensor {
    const char *name;
    enum element_type type;
    enum extra_kind kind;
    uint32_t ne[4]; /* elements per dimension, innermost first */
    size_t nb[4];   /* bytes from one step to the next in that dimension */
    void *extra;
};

struct tensor tensor_plain(struct gpu *gpu, const char *name, enum element_type type, const uint32_t ne[4],
                           const void *contents);
struct tensor tensor_split(struct gpu *gpu, const char *name, const uint32_t ne[4], const void *blocks);
void tensor_free(struct tensor *tensor);
size_t tensor_bytes(const struct tensor *tensor);
void tensor_set_rows(struct gpu *gpu, struct tensor *to, const struct tensor *rows, const struct tensor *index);
void tensor_read(struct gpu *gpu, const struct tensor *tensor, void *to);

#endif
