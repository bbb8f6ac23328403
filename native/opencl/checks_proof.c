/* The conditions of src/gpudx/kernel_checks/proofs.py, evaluated for one launch: words in postfix order, conditions parted by
 * commas. What does not fit into 63 bits, or is not known, proves nothing. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/checks.h"

enum { DEEPEST = 32 };

static bool sized(const struct gdx_cl_launch *l, char which, unsigned dimension, int64_t *value)
{
    size_t global = dimension < l->dims ? l->global[dimension] : 1, local = 1;
    if (dimension < l->dims && l->local)
        local = l->local[dimension];
    else if (dimension < l->dims && (which == 'L' || which == 'N'))
        return false;  /* the driver chooses it */
    *value = which == 'G' ? (int64_t)global
        : which == 'L'    ? (int64_t)local
        : which == 'O'    ? (dimension < l->dims && l->offset ? (int64_t)l->offset[dimension] : 0)
                          : (int64_t)(local ? (global + local - 1) / local : 0);
    return *value >= 0;
}

static bool argument(const struct gdx_cl_launch *l, bool bytes, unsigned index, int64_t *value)
{
    struct gdx_argument a;
    if (!gdx_cl_argument_at(l->kernel, index, &a))
        return false;
    if (bytes) {
        uint64_t size = gdx_cl_check_size(&a);
        *value = (int64_t)size;
        return size < INT64_MAX;
    }
    *value = a.size == 4 ? (int32_t)a.value : (int64_t)a.value;
    return a.flags == GDX_ARG_set && (a.size == 4 || a.size == 8);
}

/* Is the buffer of this argument given as another one, or a part of a buffer? Parts may overlap. */
static bool apart(const struct gdx_cl_launch *l, cl_mem mem)
{
    uint64_t values[256];
    uint32_t count = gdx_cl_argument_words(l->kernel, values, 256), same = 0;
    for (uint32_t i = 0; i < count; i++)
        same += values[i] == (uint64_t)(uintptr_t)mem;
    return same == 1 && count < 256 && gdx_cl_check_is_whole_buffer(mem);
}

static bool buffer(const char *proof, const struct gdx_cl_launch *l, char which, unsigned index, int64_t *value)
{
    struct gdx_argument a;
    if (!gdx_cl_argument_at(l->kernel, index, &a) || a.flags != GDX_ARG_set || a.size != sizeof(cl_mem) || !a.value)
        return false;
    cl_mem mem = (cl_mem)(uintptr_t)a.value;
    *value = which == 'd' ? apart(l, mem) : gdx_cl_check_first_written(mem, gdx_cl_check_reach(proof, l, index));
    return true;
}

/* One operand; false: it is not known. */
static bool operand(const char *proof, const struct gdx_cl_launch *l, const char *word, int64_t *value)
{
    if (strchr("GLNO", word[0]))
        return sized(l, word[0], (unsigned)(word[1] - '0'), value);
    if (word[0] == 'a' || word[0] == 'n')
        return argument(l, word[0] == 'n', (unsigned)strtoul(word + 1, NULL, 10), value);
    if (word[0] == 'd' || word[0] == 'w')
        return buffer(proof, l, word[0], (unsigned)strtoul(word + 1, NULL, 10), value);
    char *end;
    *value = strtoll(word, &end, 10);
    return end != word;
}

static bool apply(const char *word, size_t length, int64_t a, int64_t b, int64_t *out)
{
    if (length == 1 && *word == '+')
        return !__builtin_add_overflow(a, b, out);
    if (length == 1 && *word == '-')
        return !__builtin_sub_overflow(a, b, out);
    if (length == 1 && *word == '*')
        return !__builtin_mul_overflow(a, b, out);
    if (length == 1 && *word == '/') {
        *out = b > 0 ? a / b : 0;
        return b > 0;
    }
    if (length == 3 && !strncmp(word, "min", 3)) {
        *out = a < b ? a : b;
        return true;
    }
    *out = a <= b;
    return length == 2 && !strncmp(word, "le", 2);
}

static bool computed(const char *proof, const char *at, const char *end, const struct gdx_cl_launch *l, int64_t *value)
{
    int64_t stack[DEEPEST];
    unsigned depth = 0;
    while (at < end) {
        size_t length = strcspn(at, " ,");
        bool is_operator = strchr("+-*/", *at) || !strncmp(at, "min", 3) || !strncmp(at, "le", 2);
        if (is_operator) {
            if (depth < 2 || !apply(at, length, stack[depth - 2], stack[depth - 1], &stack[depth - 2]))
                return false;
            depth--;
        } else if (depth == DEEPEST || !operand(proof, l, at, &stack[depth++])) {
            return false;
        }
        at += length;
        at += at < end && *at == ' ';
    }
    *value = depth ? stack[0] : 0;
    return depth == 1;
}

/* How many bytes from the start of an argument's buffer the launch may access, by conditions like "G0 4 * n2 le", of which each access
 * has one; all, where there is none. */
size_t gdx_cl_check_reach(const char *proof, const struct gdx_cl_launch *l, unsigned index)
{
    char tail[32];
    int length = snprintf(tail, sizeof tail, " n%u le", index);
    int64_t most = -1;
    for (const char *at = proof; *at;) {
        const char *end = at + strcspn(at, ",");
        if (end - at > length && !strncmp(end - length, tail, (size_t)length)) {
            int64_t bytes = 0;
            if (!computed(proof, at, end - length, l, &bytes) || bytes < 0)
                return SIZE_MAX;
            most = bytes > most ? bytes : most;
        }
        at = *end ? end + 1 : end;
    }
    return most < 0 ? SIZE_MAX : (size_t)most;
}

bool gdx_cl_check_proved(const char *proof, const struct gdx_cl_launch *l)
{
    if (!*proof || !l->global || !l->dims || l->dims > 3)
        return false;
    for (const char *at = proof; *at;) {
        const char *end = at + strcspn(at, ",");
        int64_t holds = 0;
        if (!computed(proof, at, end, l, &holds) || !holds)
            return false;
        at = *end ? end + 1 : end;
    }
    return true;
}
