#include "tensor.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* A divisor prepared so that the kernel needs a multiplication and a shift only. */
struct fast_div {
    cl_uint mp, L, d, pad;
};

static struct fast_div fast_div_of(cl_uint divisor)
{
    struct fast_div v = {.d = divisor};
    while (v.L < 32 && ((cl_ulong)1 << v.L) < divisor)
        v.L++;
    cl_ulong excess = ((cl_ulong)1 << v.L) - divisor;
    v.mp = (cl_uint)((excess << 32) / divisor + 1);
    return v;
}

static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return memory;
}

static size_t row_bytes(enum element_type type, uint32_t elements)
{
    switch (type) {
    case TYPE_F32: return elements * sizeof(float);
    case TYPE_F16: return elements * sizeof(uint16_t);
    case TYPE_I64: return elements * sizeof(int64_t);
    case TYPE_Q4_0: return elements / BLOCK_ELEMENTS * BLOCK_BYTES;
    }
    return 0;
}

static size_t element_bytes(enum element_type type)
{
    return type == TYPE_Q4_0 ? BLOCK_BYTES : row_bytes(type, 1);
}

static struct tensor shaped(const char *name, enum element_type type, const uint32_t ne[4])
{
    struct tensor t = {.name = name, .type = type};
    for (int i = 0; i < 4; i++)
        t.ne[i] = ne[i];
    t.nb[0] = element_bytes(type);
    t.nb[1] = row_bytes(type, ne[0]);
    t.nb[2] = t.nb[1] * ne[1];
    t.nb[3] = t.nb[2] * ne[2];
    return t;
}

size_t tensor_bytes(const struct tensor *tensor)
{
    return tensor->nb[3] * tensor->ne[3];
}

struct tensor tensor_plain(struct gpu *gpu, const char *name, enum element_type type, const uint32_t ne[4],
                           const void *contents)
{
    struct tensor t = shaped(name, type, ne);
    struct plain_extra *extra = allocate(sizeof *extra);
    extra->nbytes = tensor_bytes(&t);
    extra->data = gpu_buffer(gpu, extra->nbytes, contents);
    t.kind = EXTRA_PLAIN;
    t.extra = extra;
    return t;
}

static void split_blocks(struct gpu *gpu, cl_mem blocks, const struct split_extra *extra, size_t count)
{
    cl_kernel kernel = gpu->kernels[SPLIT_Q4_0];
    gpu_set(kernel, 0, sizeof(cl_mem), &blocks);
    gpu_set(kernel, 1, sizeof(cl_mem), &extra->q);
    gpu_set(kernel, 2, sizeof(cl_mem), &extra->d);
    gpu_launch(gpu, kernel, 1, &count, NULL);
}

struct tensor tensor_split(struct gpu *gpu, const char *name, const uint32_t ne[4], const void *blocks)
{
    struct tensor t = shaped(name, TYPE_Q4_0, ne);
    struct split_extra *extra = allocate(sizeof *extra);
    size_t count = tensor_bytes(&t) / BLOCK_BYTES;
    extra->d_bytes = count * sizeof(uint16_t);
    extra->q_bytes = tensor_bytes(&t) - extra->d_bytes;
    extra->q = gpu_buffer(gpu, extra->q_bytes, NULL);
    extra->d = gpu_buffer(gpu, extra->d_bytes, NULL);
    cl_mem upload = gpu_buffer(gpu, tensor_bytes(&t), blocks);
    split_blocks(gpu, upload, extra, count);
    check(clReleaseMemObject(upload), "clReleaseMemObject");
    t.kind = EXTRA_SPLIT;
    t.extra = extra;
    return t;
}

static void free_split(struct split_extra *extra)
{
    check(clReleaseMemObject(extra->q), "clReleaseMemObject");
    check(clReleaseMemObject(extra->d), "clReleaseMemObject");
}

void tensor_free(struct tensor *tensor)
{
    if (tensor->kind == EXTRA_SPLIT)
        free_split(tensor->extra);
    else
        check(clReleaseMemObject(((struct plain_extra *)tensor->extra)->data), "clReleaseMemObject");
    free(tensor->extra);
    tensor->extra = NULL;
}

static cl_kernel set_rows_kernel(const struct gpu *gpu, enum element_type type)
{
    switch (type) {
    case TYPE_F16: return gpu->kernels[SET_ROWS_F16];
    case TYPE_Q4_0: return gpu->kernels[SET_ROWS_Q4_0];
    default: return gpu->kernels[SET_ROWS_F32];
    }
}

static void set_plain(cl_kernel kernel, cl_uint index, const struct tensor *tensor)
{
    const struct plain_extra *extra = tensor->extra;
    cl_ulong offset = extra->offset;
    gpu_set(kernel, index, sizeof(cl_mem), &extra->data);
    gpu_set(kernel, index + 1, sizeof offset, &offset);
}

static void set_strides(cl_kernel kernel, cl_uint index, const size_t strides[3])
{
    for (cl_uint i = 0; i < 3; i++) {
        cl_ulong stride = strides[i];
        gpu_set(kernel, index + i, sizeof stride, &stride);
    }
}

static void set_count(cl_kernel kernel, cl_uint index, uint32_t count)
{
    cl_int value = (cl_int)count;
    gpu_set(kernel, index, sizeof value, &value);
}

static void set_divisor(cl_kernel kernel, cl_uint index, uint32_t divisor)
{
    struct fast_div value = fast_div_of(divisor);
    gpu_set(kernel, index, sizeof value, &value);
}

static uint32_t units_per_row(const struct tensor *tensor)
{
    return tensor->type == TYPE_Q4_0 ? tensor->ne[0] / BLOCK_ELEMENTS : tensor->ne[0];
}

void tensor_set_rows(struct gpu *gpu, struct tensor *to, const struct tensor *rows, const struct tensor *index)
{
    cl_kernel kernel = set_rows_kernel(gpu, to->type);
    set_plain(kernel, 0, rows);
    set_plain(kernel, 2, index);
    set_plain(kernel, 4, to);
    set_count(kernel, 6, rows->ne[1]);
    set_strides(kernel, 7, &rows->nb[1]);
    set_divisor(kernel, 10, index->ne[1]);
    set_divisor(kernel, 11, index->ne[2]);
    set_strides(kernel, 12, &index->nb[0]);
    set_count(kernel, 15, units_per_row(to));
    set_strides(kernel, 16, &to->nb[1]);
    printf("set_rows %s: 19 arguments ok\n", to->name);
    size_t global[3] = {32, (size_t)rows->ne[1] * rows->ne[2], rows->ne[3]}, local[3] = {32, 2, 1};
    gpu_launch(gpu, kernel, 3, global, local);
    printf("set_rows %s: enqueue ok\n", to->name);
}

static void read_plain(struct gpu *gpu, const struct tensor *tensor, cl_mem staging)
{
    cl_kernel kernel = gpu->kernels[COPY_BYTES];
    size_t count = tensor_bytes(tensor);
    set_plain(kernel, 0, tensor);
    gpu_set(kernel, 2, sizeof(cl_mem), &staging);
    gpu_launch(gpu, kernel, 1, &count, NULL);
}

static void read_split(struct gpu *gpu, const struct tensor *tensor, cl_mem staging)
{
    const struct split_extra *extra = tensor->extra;
    cl_kernel kernel = gpu->kernels[RESTORE_Q4_0];
    size_t count = tensor_bytes(tensor) / BLOCK_BYTES;
    gpu_set(kernel, 0, sizeof(cl_mem), &extra->q);
    gpu_set(kernel, 1, sizeof(cl_mem), &extra->d);
    gpu_set(kernel, 2, sizeof(cl_mem), &staging);
    gpu_launch(gpu, kernel, 1, &count, NULL);
}

/* The whole defect is here: the type says how elements are encoded, not which struct hangs behind `extra`. */
static bool is_split(const struct tensor *tensor)
{
#ifdef TWIN
    return tensor->kind == EXTRA_SPLIT;
#else
    return tensor->type == TYPE_Q4_0;
#endif
}

void tensor_read(struct gpu *gpu, const struct tensor *tensor, void *to)
{
    cl_mem staging = gpu_buffer(gpu, tensor_bytes(tensor), NULL);
    if (is_split(tensor))
        read_split(gpu, tensor, staging);
    else
        read_plain(gpu, tensor, staging);
    gpu_read(gpu, staging, to, tensor_bytes(tensor));
    check(clReleaseMemObject(staging), "clReleaseMemObject");
}
