/* Heat in rows that are padded on the device, and a sum in tiles. Each word makes one mistake that no rule of the runtime forbids; without
 * one the results are right. "expected": the results are right, and what they are compared with is wrong; "weak": only the
 * total is compared. */
#include "small.h"

#include <cstring>

void launch_step(const float *from, float *to, const float *bias, int width, int height, int pitch, float side, float centre, int blocks);
void launch_tiles(const float *in, float *out, int pitch, int width, int tile, int tiles);

enum { WIDTH = 50, HEIGHT = 24, PITCH = 64, TILE = 3, STEPS = 5 };
enum { TILES = (WIDTH + TILE - 1) / TILE };

static bool is_word(const char *word, const char *wanted)
{
    return word && !strcmp(word, wanted);
}

static void step(std::vector<float> &grid, const std::vector<float> &bias)
{
    std::vector<float> next(grid);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 1; x < WIDTH - 1; x++)
            next[y * WIDTH + x] = 0.25f * grid[y * WIDTH + x - 1] + 0.5f * grid[y * WIDTH + x] + 0.25f * grid[y * WIDTH + x + 1] + bias[y];
    grid = next;
}

static void compare(const char *what, const float *got, const float *want, int count)
{
    for (int i = 0; i < count; i++)
        if (!(got[i] - want[i] < 1e-3f && want[i] - got[i] < 1e-3f)) {
            fprintf(stderr, "FAIL: %s %d is %g, expected %g\n", what, i, got[i], want[i]);
            exit(1);
        }
}

int main(int, char **words)
{
    const char *word = words[1];
    const size_t rows = PITCH * sizeof(float), row = WIDTH * sizeof(float), bytes = HEIGHT * rows;
    std::vector<float> grid(WIDTH * HEIGHT), bias(HEIGHT), old_bias(HEIGHT, 3.0f), result(WIDTH * HEIGHT), sums(TILES), kept(WIDTH * HEIGHT);
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        grid[i] = float(i * 7 % 31);
    for (int y = 0; y < HEIGHT; y++)
        bias[y] = 0.125f * float(y);
    float *a, *b, *first, *device_bias, *device_old, *device_sums;
    CHECK(hipMalloc((void **)&a, bytes));
    CHECK(hipMalloc((void **)&b, bytes));
    CHECK(hipMalloc((void **)&first, bytes));
    CHECK(hipMalloc((void **)&device_bias, HEIGHT * sizeof(float)));
    CHECK(hipMalloc((void **)&device_old, HEIGHT * sizeof(float)));
    CHECK(hipMalloc((void **)&device_sums, TILES * sizeof(float)));
    CHECK(hipMemset(a, 0, bytes));
    CHECK(hipMemset(b, 0, bytes));
    CHECK(hipMemset(first, 0, bytes));
    CHECK(hipMemset(device_sums, 0, TILES * sizeof(float)));
    const size_t sent = is_word(word, "pitch") ? row : rows;
    CHECK(hipMemcpy2D(a, sent, grid.data(), row, is_word(word, "width") ? WIDTH : row, HEIGHT, hipMemcpyHostToDevice));  // the upload
    CHECK(hipMemcpy(device_bias, bias.data(), HEIGHT * sizeof(float), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(device_old, old_bias.data(), HEIGHT * sizeof(float), hipMemcpyHostToDevice));
    for (int y = 0; y < HEIGHT; y++)  // the border of both
        for (int x = 0; x < WIDTH; x += WIDTH - 1)
            CHECK(hipMemcpy(b + y * PITCH + x, &grid[y * WIDTH + x], sizeof(float), hipMemcpyHostToDevice));
    const float *passed = is_word(word, "bias") ? device_old : device_bias;
    float *from = a, *to = b;
    std::vector<float> want(grid), want_first;
    for (int i = 0; i < STEPS; i++) {
        const bool swapped = is_word(word, "swapped");
        const float side = swapped ? 0.5f : 0.25f, centre = swapped ? 0.25f : 0.5f;
        launch_step(from, to, passed, WIDTH, HEIGHT, PITCH, side, centre, is_word(word, "grid") ? WIDTH / 16 : (WIDTH + 15) / 16);  // the launch
        if (i == 0) {
            if (is_word(word, "backwards"))
                CHECK(hipMemcpy(to, first, bytes, hipMemcpyDeviceToDevice));  // the direction
            else
                CHECK(hipMemcpy(first, to, bytes, hipMemcpyDeviceToDevice));
        }
        std::swap(from, to);
        step(want, bias);
        if (i == 0)
            want_first = want;
    }
    const float *read = is_word(word, "stale") ? to : from;
    CHECK(hipMemcpy2D(result.data(), row, read, rows, row, HEIGHT, hipMemcpyDeviceToHost));  // the buffer
    CHECK(hipMemcpy2D(kept.data(), row, first, rows, row, HEIGHT, hipMemcpyDeviceToHost));
    compare("element", result.data(), want.data(), WIDTH * HEIGHT);
    compare("kept element", kept.data(), want_first.data(), WIDTH * HEIGHT);

    if (is_word(word, "expected"))
        want[0] += 1;
    const int tiles = is_word(word, "number") || is_word(word, "weak") ? WIDTH / TILE : TILES;
    for (int turn = 0; turn < 2; turn++) {  // sums are added to what is there
        CHECK(hipMemset(device_sums, 0, is_word(word, "fill") ? TILES : sizeof(float) * TILES));  // the fill
        launch_tiles(from, device_sums, PITCH, WIDTH, TILE, tiles);  // the number
    }
    CHECK(hipMemcpy(sums.data(), device_sums, TILES * sizeof(float), hipMemcpyDeviceToHost));
    std::vector<float> want_sums(TILES);
    for (int x = 0; x < WIDTH; x++)
        want_sums[x / TILE] += want[x];
    if (is_word(word, "weak"))  // larger tiles satisfy this as well as more tiles
        for (int t = 1; t < TILES; t++) {
            sums[0] += sums[t], want_sums[0] += want_sums[t];
            sums[t] = want_sums[t] = 0;
        }
    compare("sum", sums.data(), want_sums.data(), TILES);
    puts("PASS");
}
