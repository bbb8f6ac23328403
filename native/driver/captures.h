/* Streams that are being captured: while there are any, nothing of ours may wait or submit work. They are followed by handle,
 * because a capture also ends when its stream is destroyed, or with an error. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum { GDX_CAPTURES = 64 };
struct gdx_captures {
    _Atomic int *count;                       /* of all, also of those that found no place here */
    struct { _Atomic uint64_t stream, home; } all[GDX_CAPTURES];
};

/* `stream`: its handle, 0 for a thread's own default stream. `home`: its context or device. */
void gdx_capture_begun(struct gdx_captures *captures, uint64_t stream, uint64_t home);
void gdx_capture_over(struct gdx_captures *captures, uint64_t stream, int known_to_end);  /* 0: only if it was followed */
void gdx_captures_forget(struct gdx_captures *captures, uint64_t home);
