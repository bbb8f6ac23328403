/* Streams that were given work, and whether all of it is done: for watching memory (core/watch.h) of drivers whose streams can
 * be asked without waiting. Whoever submits work says so before the end of its call is recorded. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GDX_STREAMS = 256, GDX_OWN_STREAM = 2 /* the handle of a thread's own default stream, in CUDA and in HIP */ };

struct gdx_busy {
    uint64_t home;   /* context or device, as the API likes; never 0 */
    uint64_t queue;  /* the stream's handle plus 1; 0 in a free place */
    uint32_t tid;    /* of a thread's own default stream */
    void *last;      /* of a stream that is gone: an event behind its last work */
    uint64_t given, done;
};

enum gdx_answer { GDX_DONE, GDX_NOT_YET, GDX_BROKEN };

struct gdx_streams {
    enum gdx_answer (*ask)(const struct gdx_busy *one);
    void *(*mark)(uint64_t home, void *queue);  /* an event behind all that a stream has still to do; NULL: nothing */
    void (*unmark)(void *last);
    bool by_handle;  /* a handle names its stream, whatever is current */
    bool hasty;      /* a stream waits for the program: patience does not help */
    struct gdx_busy all[GDX_STREAMS];  /* with the lock held */
};

void gdx_stream_given(struct gdx_streams *streams, uint64_t home, uint64_t queue);
void gdx_stream_leaves(struct gdx_streams *streams, void *queue);
/* Is all work done? patient: waits for it, about two seconds at most. A stream that reports an error ends the looks. */
bool gdx_streams_idle(struct gdx_streams *streams, bool patient);
void gdx_streams_forget(struct gdx_streams *streams, uint64_t home);  /* 0: all of them */
