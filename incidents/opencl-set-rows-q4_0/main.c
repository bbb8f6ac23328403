/* A small KV cache: new rows are stored at given slots of three caches, then each cache is read back and compared. */
#include "reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Four streams of 128 cells with 1024 values each: in Q4_0 the cache takes 4 * 128 * 576 = 294912 bytes. Streams share
 * two sets of slots, so the index tensor is smaller than the rows and repeats. */
enum { WIDTH = 1024, CELLS = 128, STREAMS = 4, TOKENS = 24, SLOT_SETS = 2, WEIGHT_ROWS = 64 };

struct input {
    float *values;
    int64_t *slots;
    struct tensor rows, index;
};

static unsigned random_state = 12345;

static unsigned next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

static float random_unit(void)
{
    return (float)next_random() / 16777216.0f;
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return memory;
}

/* Values stay clear of the edges between two codes: a device may divide a little less exactly than the host, and must
 * still arrive at the same codes. */
static void fill_block(float *x)
{
    float scale = 0.01f + 0.1f * random_unit();
    for (int k = 0; k < BLOCK_ELEMENTS; k++) {
        float code = (float)(next_random() % 15 + 1);
        x[k] = scale * (code - 8.0f + 0.6f * random_unit() - 0.3f);
    }
    x[next_random() % BLOCK_ELEMENTS] = scale * -8.0f;
}

static float *random_values(size_t count)
{
    float *values = allocate(count, sizeof *values);
    for (size_t i = 0; i < count; i += BLOCK_ELEMENTS)
        fill_block(values + i);
    return values;
}

/* Seven and 128 have no common factor, so no slot of a set is used twice. */
static int64_t *distinct_slots(void)
{
    int64_t *slots = allocate(SLOT_SETS * TOKENS, sizeof *slots);
    for (int set = 0; set < SLOT_SETS; set++)
        for (int i = 0; i < TOKENS; i++)
            slots[set * TOKENS + i] = (i * 7 + set * 50 + 3) % CELLS;
    return slots;
}

static struct input make_input(struct gpu *gpu)
{
    struct input in = {.values = random_values((size_t)WIDTH * TOKENS * STREAMS), .slots = distinct_slots()};
    const uint32_t rows[4] = {WIDTH, TOKENS, STREAMS, 1}, index[4] = {TOKENS, SLOT_SETS, 1, 1};
    in.rows = tensor_plain(gpu, "new rows", TYPE_F32, rows, in.values);
    in.index = tensor_plain(gpu, "slots", TYPE_I64, index, in.slots);
    return in;
}

static void free_input(struct input *in)
{
    tensor_free(&in->rows);
    tensor_free(&in->index);
    free(in->values);
    free(in->slots);
}

static int compare(const char *name, const uint8_t *got, const uint8_t *wanted, size_t bytes)
{
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++)
        wrong += got[i] != wanted[i];
    if (wrong)
        printf("read back %s: %zu of %zu bytes are wrong\n", name, wrong, bytes);
    else
        printf("read back %s: ok\n", name);
    return wrong != 0;
}

static int read_and_compare(struct gpu *gpu, const struct tensor *tensor, const uint8_t *wanted)
{
    uint8_t *got = allocate(tensor_bytes(tensor), 1);
    tensor_read(gpu, tensor, got);
    int failed = compare(tensor->name, got, wanted, tensor_bytes(tensor));
    free(got);
    return failed;
}

/* Weights never change, so they are kept split; reading them back goes through the restore kernel. */
static int try_weights(struct gpu *gpu)
{
    const uint32_t ne[4] = {WIDTH, WEIGHT_ROWS, 1, 1};
    float *values = random_values((size_t)WIDTH * WEIGHT_ROWS);
    uint8_t *blocks = allocate((size_t)WIDTH * WEIGHT_ROWS / BLOCK_ELEMENTS, BLOCK_BYTES);
    reference_encode(TYPE_Q4_0, values, WIDTH * WEIGHT_ROWS, blocks);
    struct tensor weights = tensor_split(gpu, "weights q4_0", ne, blocks);
    int failed = read_and_compare(gpu, &weights, blocks);
    tensor_free(&weights);
    free(blocks);
    free(values);
    return failed;
}

/* Cells that no row goes to must stay zero, so the whole cache is compared. */
static int try_cache(struct gpu *gpu, const char *name, enum element_type type, struct input *in)
{
    const uint32_t ne[4] = {WIDTH, CELLS, STREAMS, 1};
    uint8_t *wanted = allocate((size_t)WIDTH * CELLS * STREAMS, sizeof(float));
    struct tensor cache = tensor_plain(gpu, name, type, ne, wanted);
    reference_set_rows(wanted, &cache, in->values, &in->rows, in->slots, &in->index);
    tensor_set_rows(gpu, &cache, &in->rows, &in->index);
    int failed = read_and_compare(gpu, &cache, wanted);
    tensor_free(&cache);
    free(wanted);
    return failed;
}

int main(void)
{
    struct gpu gpu;
    setvbuf(stdout, NULL, _IOLBF, 0); /* the log must survive a crash */
    gpu_open(&gpu);
    struct input in = make_input(&gpu);
    int failed = try_weights(&gpu);
    failed += try_cache(&gpu, "state f32", TYPE_F32, &in);
    failed += try_cache(&gpu, "V cache f16", TYPE_F16, &in);
    failed += try_cache(&gpu, "K cache q4_0", TYPE_Q4_0, &in);
    free_input(&in);
    gpu_close(&gpu);
    return failed ? 1 : 0;
}
