/* Graphs: what an instantiated graph will do is noted when it is made or updated, because a launch of it names nothing. Shared
 * by the APIs whose graphs can be walked node by node.
 *
 * The nodes are read from the graph while the program still waits for its own call to return, so nobody else may be
 * changing it. */
#pragma once

#include "driver/functions.h"

struct gdx_graph_walk { const struct gdx_graph_api *api; uint64_t exec, nodes, described; };

struct gdx_graph_api {
    bool (*nodes)(void *graph, void **nodes, size_t *count);  /* `nodes` NULL: only how many there are */
    bool (*describe)(struct gdx_graph_walk *walk, void *node, int depth);  /* notes one; false: nothing is known of it */
};

/* The program's call succeeded: `exec` does from now on what `graph` says. */
void gdx_graph_ready(const struct gdx_graph_api *api, const void *exec, void *graph);
void gdx_graph_unknown(const void *exec);  /* it was changed in a way that cannot be read: from now on nothing is known of it */
void gdx_graph_describe(struct gdx_graph_walk *walk, void *graph, int depth);  /* one more: a child of another */

/* A kernel node, as words of note_graph_kernel and of calls that change such a node (schema/events.toml). */
struct gdx_graph_kernel { const void *function; struct gdx_shape shape; void **params, **extra; };
void gdx_put_graph_kernel(struct gdx_open *open, const void *exec, const void *node, const struct gdx_graph_kernel *kernel);
bool gdx_note_graph_kernel(const struct gdx_graph_walk *walk, const void *node, const struct gdx_graph_kernel *kernel,
                           const struct gdx_layout *layout);
/* `words` of a note, after those that name graph and node. */
bool gdx_note_graph_node(uint32_t note, const struct gdx_graph_walk *walk, const void *node, const uint64_t *words, unsigned count);
