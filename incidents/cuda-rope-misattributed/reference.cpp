#include "reference.h"

#include "kernels.h"

#include <cmath>

typedef std::vector<float> Rows;

static Rows multiply(const float *a, const Rows &b, int cols, int inner)
{
    Rows out((size_t)SEQUENCE * cols, 0.0f);
    for (int row = 0; row < SEQUENCE; row++)
        for (int k = 0; k < inner; k++)
            for (int col = 0; col < cols; col++)
                out[(size_t)row * cols + col] += a[(size_t)row * inner + k] * b[(size_t)k * cols + col];
    return out;
}

static void rotate_head(float *p, int row, int head_dim, float base)
{
    for (int pair = 0; pair < head_dim / 2; pair++) {
        const float angle = (float)row * std::pow(base, -2.0f * pair / head_dim);
        const float first = p[pair], second = p[pair + head_dim / 2];
        p[pair] = first * std::cos(angle) - second * std::sin(angle);
        p[pair + head_dim / 2] = first * std::sin(angle) + second * std::cos(angle);
    }
}

static void rotate(const Config &c, Rows &x)
{
    for (int row = 0; row < SEQUENCE; row++)
        for (int head = 0; head < c.heads; head++)
            rotate_head(&x[(size_t)row * c.dim + head * c.head_dim()], row, c.head_dim(), c.rope_base);
}

static float score(const float *q, const float *k, int head_dim)
{
    float sum = 0.0f;
    for (int i = 0; i < head_dim; i++)
        sum += q[i] * k[i];
    return std::exp(sum / std::sqrt((float)head_dim));
}

/* One row of one head; the pointers are at the head's first column. */
static void attend_row(const Config &c, float *out, const float *q, const float *k, const float *v, int row)
{
    float total = 0.0f;
    for (int other = 0; other <= row; other++) {
        const float weight = score(q + (size_t)row * c.dim, k + (size_t)other * c.dim, c.head_dim());
        total += weight;
        for (int i = 0; i < c.head_dim(); i++)
            out[(size_t)row * c.dim + i] += weight * v[(size_t)other * c.dim + i];
    }
    for (int i = 0; i < c.head_dim(); i++)
        out[(size_t)row * c.dim + i] /= total;
}

static Rows attention(const Config &c, const Rows &q, const Rows &k, const Rows &v)
{
    Rows out((size_t)SEQUENCE * c.dim, 0.0f);
    for (int first = 0; first < c.dim; first += c.head_dim())
        for (int row = 0; row < SEQUENCE; row++)
            attend_row(c, &out[first], &q[first], &k[first], &v[first], row);
    return out;
}

static void add_to(float *x, const Rows &more)
{
    for (size_t i = 0; i < more.size(); i++)
        x[i] += more[i];
}

static void layer(const Config &c, const LayerWeights &w, float *x)
{
    Rows q = multiply(x, w.query, c.dim, c.dim), k = multiply(x, w.key, c.dim, c.dim);
    rotate(c, q);
    rotate(c, k);
    Rows mixed = attention(c, q, k, multiply(x, w.value, c.dim, c.dim));
    add_to(x, multiply(mixed.data(), w.output, c.dim, c.dim));
    Rows hidden = multiply(x, w.up, c.hidden, c.dim);
    for (float &value : hidden)
        value = value / (1.0f + std::exp(-value));
    add_to(x, multiply(hidden.data(), w.down, c.dim, c.hidden));
}

void reference_forward(const Config &config, const std::vector<LayerWeights> &weights, float *x)
{
    for (const LayerWeights &w : weights)
        layer(config, w, x);
}
