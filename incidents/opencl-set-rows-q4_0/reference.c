#include "reference.h"

#include <math.h>
#include <string.h>

static uint32_t round_to_even(uint32_t value, uint32_t shift)
{
    uint32_t kept = value >> shift, rest = value & ((1u << shift) - 1), half = 1u << (shift - 1);
    return kept + (rest > half || (rest == half && (kept & 1)));
}

/* Adding the rounded mantissa to the exponent field lets a carry run into the exponent, as it should. */
static uint16_t half_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, mantissa = bits & 0x7fffff;
    int exponent = (int)(bits >> 23 & 0xff) - 127 + 15;
    if (exponent >= 31)
        return (uint16_t)(sign | 0x7c00);
    if (exponent > 0)
        return (uint16_t)(sign | (((uint32_t)exponent << 10) + round_to_even(mantissa, 13)));
    if (exponent < -10)
        return (uint16_t)sign;
    return (uint16_t)(sign | round_to_even(mantissa | 0x800000, (uint32_t)(14 - exponent)));
}

static void encode_f16(const float *from, uint32_t elements, uint8_t *to)
{
    for (uint32_t i = 0; i < elements; i++) {
        uint16_t half = half_of(from[i]);
        memcpy(to + i * sizeof half, &half, sizeof half);
    }
}

static float block_scale(const float *x)
{
    float extreme = 0.0f;
    for (int k = 0; k < BLOCK_ELEMENTS; k++)
        if (fabsf(x[k]) > fabsf(extreme))
            extreme = x[k];
    return extreme / -8.0f;
}

static int code_of(float x, float inverse)
{
    int code = (int)(x * inverse + 8.5f);
    return code < 15 ? code : 15;
}

static void encode_block(const float *x, uint8_t *block)
{
    float scale = block_scale(x), inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
    uint16_t half = half_of(scale);
    memcpy(block, &half, sizeof half);
    for (int k = 0; k < BLOCK_ELEMENTS / 2; k++)
        block[2 + k] = (uint8_t)(code_of(x[k], inverse) | code_of(x[k + BLOCK_ELEMENTS / 2], inverse) << 4);
}

static void encode_q4_0(const float *from, uint32_t elements, uint8_t *to)
{
    for (uint32_t b = 0; b < elements / BLOCK_ELEMENTS; b++)
        encode_block(from + b * BLOCK_ELEMENTS, to + b * BLOCK_BYTES);
}

void reference_encode(enum element_type type, const float *from, uint32_t elements, void *to)
{
    if (type == TYPE_Q4_0)
        encode_q4_0(from, elements, to);
    else if (type == TYPE_F16)
        encode_f16(from, elements, to);
    else
        memcpy(to, from, elements * sizeof *from);
}

void reference_set_rows(void *cache, const struct tensor *to, const float *values, const struct tensor *rows,
                        const int64_t *slots, const struct tensor *index)
{
    for (uint32_t stream = 0; stream < rows->ne[2]; stream++)
        for (uint32_t row = 0; row < rows->ne[1]; row++) {
            size_t slot = (size_t)slots[stream % index->ne[1] * index->ne[0] + row];
            const float *from = values + ((size_t)stream * rows->ne[1] + row) * rows->ne[0];
            reference_encode(to->type, from, to->ne[0], (uint8_t *)cache + stream * to->nb[2] + slot * to->nb[1]);
        }
}
