#define _POSIX_C_SOURCE 200809L
#include "gguf.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION = 3, KEYS = 5, TENSORS = 2, U32 = 4, TEXT = 8, F32 = 0, ALIGNMENT = 32 };

/* ---- writing ---- */

static void put(FILE *file, const void *data, size_t size)
{
    fwrite(data, size, 1, file);
}

static void put_u32(FILE *file, uint32_t value)
{
    put(file, &value, sizeof value);
}

static void put_u64(FILE *file, uint64_t value)
{
    put(file, &value, sizeof value);
}

static void put_text(FILE *file, const char *text)
{
    put_u64(file, strlen(text));
    put(file, text, strlen(text));
}

static void put_number(FILE *file, const char *key, uint32_t value)
{
    put_text(file, key);
    put_u32(file, U32);
    put_u32(file, value);
}

static void put_tensor(FILE *file, const char *name, uint64_t columns, uint64_t rows, uint64_t offset)
{
    put_text(file, name);
    put_u32(file, 2);
    put_u64(file, columns);
    put_u64(file, rows);
    put_u32(file, F32);
    put_u64(file, offset);
}

static void put_weights(FILE *file, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++) {
        float value = (float)((i * 7 + seed) % 3) - 1;
        put(file, &value, sizeof value);
    }
}

static void pad(FILE *file)
{
    while (ftell(file) % ALIGNMENT)
        fputc(0, file);
}

int model_write(const char *path, uint32_t n_embd, uint32_t n_ff)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return -1;
    size_t count = (size_t)n_embd * n_ff;
    put(file, "GGUF", 4);
    put_u32(file, VERSION);
    put_u64(file, TENSORS);
    put_u64(file, KEYS);
    put_text(file, "general.architecture");
    put_u32(file, TEXT);
    put_text(file, "llama");
    put_number(file, "llama.block_count", 1);
    put_number(file, "llama.embedding_length", n_embd);
    put_number(file, "llama.feed_forward_length", n_ff);
    put_number(file, "llama.attention.head_count", 2);
    put_tensor(file, "blk.0.ffn_up.weight", n_embd, n_ff, 0);
    put_tensor(file, "blk.0.ffn_down.weight", n_ff, n_embd, count * sizeof(float));
    pad(file);
    put_weights(file, count, 1);
    put_weights(file, count, 2);
    return fclose(file);
}

/* ---- reading ---- */

static const char *at;

static uint32_t get_u32(void)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
}

static uint64_t get_u64(void)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
}

static const char *get_text(uint64_t *size)
{
    *size = get_u64();
    at += *size;
    return at - *size;
}

static void get_key(struct model *model)
{
    uint64_t size, ignored;
    const char *key = get_text(&size);
    if (get_u32() == TEXT) {
        get_text(&ignored);
        return;
    }
    uint32_t value = get_u32();
    if (size == strlen("llama.embedding_length") && memcmp(key, "llama.embedding_length", size) == 0)
        model->n_embd = value;
    if (size == strlen("llama.feed_forward_length") && memcmp(key, "llama.feed_forward_length", size) == 0)
        model->n_ff = value;
}

static uint64_t get_tensor(void)
{
    uint64_t size;
    get_text(&size);
    for (uint32_t dimensions = get_u32(); dimensions; dimensions--)
        get_u64();
    get_u32();
    return get_u64();
}

int model_open(struct model *model, const char *path)
{
    struct stat file;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &file) != 0)
        return -1;
    const char *base = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (base == MAP_FAILED)
        return -1;
    at = base + 8;
    uint64_t tensors = get_u64(), offsets[TENSORS] = {0};
    for (uint64_t keys = get_u64(); keys; keys--)
        get_key(model);
    for (uint64_t i = 0; i < tensors && i < TENSORS; i++)
        offsets[i] = get_tensor();
    size_t data = ((size_t)(at - base) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    model->up = (const float *)(base + data + offsets[0]);
    model->down = (const float *)(base + data + offsets[1]);
    return 0;
}
