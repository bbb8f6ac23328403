/* See graphs.h. */
#define _GNU_SOURCE
#include "driver/graphs.h"

#include <string.h>
#include <sys/mman.h>

enum { NODES_MAX = 4096, NESTING_MAX = 4 };

static uint64_t word(const void *handle)
{
    return (uint64_t)(uintptr_t)handle;
}

/* ---- nodes ---- */

void gdx_put_graph_kernel(struct gdx_open *open, const void *exec, const void *node, const struct gdx_graph_kernel *kernel)
{
    const struct gdx_shape *shape = &kernel->shape;
    const uint64_t words[GDX_WORDS] = { word(exec), word(node), word(kernel->function), shape->grid_x, shape->grid_y,
                                        shape->grid_z, shape->block_x, shape->block_y, shape->block_z };
    for (unsigned i = 0; i < GDX_WORDS; i++)
        open->slot->w[i] = words[i];
    uint64_t *shared = gdx_part(open, GDX_PART_numbers, sizeof *shared);
    if (shared)
        *shared = shape->shared_bytes;
}

bool gdx_note_graph_kernel(const struct gdx_graph_walk *walk, const void *node, const struct gdx_graph_kernel *kernel,
                           const struct gdx_layout *layout)
{
    struct gdx_open open;
    if (!gdx_begin(&open, GDX_CALL_note_graph_kernel, NULL))
        return false;
    gdx_put_graph_kernel(&open, (const void *)(uintptr_t)walk->exec, node, kernel);
    gdx_put_arguments(&open, layout, kernel->params, kernel->extra);
    gdx_commit(&open);
    gdx_end_quiet(&open, 0);
    return true;
}

static void note(uint32_t number, const uint64_t *words, unsigned count, const uint64_t *numbers, unsigned more)
{
    gdx_note(number, words, count, (struct gdx_text){ 0 }, (struct gdx_text){ 0 }, numbers, more);
}

/* What a slot has no room for is written as numbers. */
bool gdx_note_graph_node(uint32_t number, const struct gdx_graph_walk *walk, const void *node, const uint64_t *words, unsigned count)
{
    uint64_t all[GDX_WORDS] = { walk->exec, word(node) };
    unsigned here = count < GDX_WORDS - 2 ? count : GDX_WORDS - 2;
    memcpy(all + 2, words, here * sizeof *words);
    note(number, all, here + 2, words + here, count - here);
    return true;
}

/* ---- the walk ---- */

void gdx_graph_describe(struct gdx_graph_walk *walk, void *graph, int depth)
{
    size_t count = 0;
    if (depth > NESTING_MAX || !walk->api->nodes(graph, NULL, &count) || !count)
        return;
    walk->nodes += count;
    size_t bytes = count * sizeof(void *);
    void **nodes = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (nodes == MAP_FAILED)
        return;
    if (walk->api->nodes(graph, nodes, &count))
        for (size_t i = 0; i < count && walk->described < NODES_MAX; i++)
            walk->described += walk->api->describe(walk, nodes[i], depth);
    munmap(nodes, bytes);
}

void gdx_graph_ready(const struct gdx_graph_api *api, const void *exec, void *graph)
{
    struct gdx_graph_walk walk = { .api = api, .exec = word(exec) };
    if (!exec || !graph || !gdx_on())
        return;
    gdx_graph_describe(&walk, graph, 0);
    const uint64_t words[] = { walk.exec, word(graph), walk.nodes, walk.described };
    note(GDX_CALL_note_graph, words, 4, NULL, 0);
}

void gdx_graph_unknown(const void *exec)
{
    const uint64_t words[] = { word(exec), 0, 0, 0 };
    if (exec && gdx_on())
        note(GDX_CALL_note_graph, words, 4, NULL, 0);
}
