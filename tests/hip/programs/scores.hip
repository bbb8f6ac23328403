/* Attention scores: every query has a score for every key. The buffer was sized when there was one query. */
#include "small.h"

void launch_scores(const float *q, const float *k, float *scores, int queries, int keys, int width);
enum { QUERIES = 24, KEYS = 500, WIDTH = 16 };

static float *floats(size_t count)
{
    float *made;
    CHECK(hipMalloc((void **)&made, count * sizeof *made));
    CHECK(hipMemset(made, 0, count * sizeof *made));
    return made;
}

int main(int words, char **)
{
    float *q = floats(QUERIES * WIDTH), *k = floats(KEYS * WIDTH);
    float *scores = floats(words > 1 ? QUERIES * KEYS : KEYS);
    launch_scores(q, k, scores, 1, KEYS, WIDTH);
    launch_scores(q, k, scores, QUERIES, KEYS, WIDTH);
    float last;
    CHECK(hipMemcpy(&last, scores + KEYS - 1, sizeof last, hipMemcpyDeviceToHost));
    printf("%.1f\n", last);
}
