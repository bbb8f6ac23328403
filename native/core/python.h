/* The Python frames of the calling thread, without a link to libpython. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gdx_python_answer {
    GDX_PYTHON_NONE = 0,   /* the thread runs no Python, or it must not be asked now */
    GDX_PYTHON_TAKEN = 1,
    GDX_PYTHON_BUSY = 2,   /* the interpreter did not answer in time: there are frames, and they are missing */
};
enum { GDX_PYTHON_FRAMES = 32, GDX_PYTHON_FILE = 1024, GDX_PYTHON_NAME = 256, GDX_PYTHON_TEXT = 8192 };

/* Innermost first; file, line and function of each frame, each ended by a zero byte. */
struct gdx_python {
    enum gdx_python_answer answer;
    size_t bytes;
    char text[GDX_PYTHON_TEXT];
};

void gdx_find_python(void);    /* looks the interpreter's functions up */
bool gdx_runs_python(void);    /* has the calling thread ever run Python code, and can it be asked now? */
void gdx_python_frames(struct gdx_python *python, uint32_t generation);  /* only where gdx_runs_python() */
