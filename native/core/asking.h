/* Asking a process of gpudx's that rewrites kernels, over a socket (src/gpudx/lab/rewriting_service.py).
 *
 * A question is a count of bytes, then the bytes. The answer is a count of bytes, then "ok" or "no" and lines, a zero byte, and the
 * new code. Whatever goes wrong, the program's own kernels run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/recorder.h"

struct gdx_reply {
    char *all;           /* mapped; NULL: there is none */
    size_t bytes;
    const char *head;    /* lines about the program and its kernels */
    const char *source;  /* what to compile; a zero byte is behind it */
    size_t source_bytes;
};
enum { GDX_WHY = 400 };
/* `why` (of GDX_WHY bytes) says what is missing where there is no reply. */
bool gdx_ask(const char *path, const struct gdx_text *parts, unsigned count, struct gdx_reply *reply, char *why);
void gdx_reply_free(struct gdx_reply *reply);
