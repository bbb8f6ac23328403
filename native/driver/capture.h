/* A launch of CUDA or HIP that is written down whole (core/capture.h): the code of its module, its parameters, and what is in all device
 * memory that the words in its parameters point into, and further on from there. Addresses stay what they are: a replay puts memory back
 * there. What the two APIs do not share is in a table. */
#pragma once

#include "core/capture.h"
#include "driver/functions.h"

enum { GDX_IMAGE_MOST = 64 << 20, GDX_DEVICE_TEXT = 1024 };

struct gdx_capture_api {
    uint32_t number;                         /* that of GDX_CAPTURE_BEGIN */
    int not_ready;                           /* what `query` answers while a stream works; 0 is success */
    _Atomic int *stream_captures;            /* streams that are being captured into graphs */
    const char *(*why_not)(void);            /* before anything is asked; NULL: nothing is in the way */
    void (*settle)(void);                    /* behind questions that may have failed; NULL: they leave nothing behind */
    void (*device)(char text[GDX_DEVICE_TEXT]);
    const char *(*put_code)(struct gdx_capture *to, uintptr_t kernel, struct gdx_function *row);  /* NULL: it is there; else why not */
    bool (*has_code)(uint64_t owner);        /* NULL: every module has */
    bool (*range)(uint64_t address, uint64_t *base, uint64_t *bytes);
    bool (*read)(void *to, uint64_t from, size_t bytes, uint64_t queue);
    int (*query)(uint64_t queue);
};

struct gdx_wanted_launch {
    const char *name;     /* NULL: not known */
    uintptr_t kernel;
    struct gdx_shape shape;
    uint64_t queue;       /* the handle, or the API's number for a default stream */
    void **params, **extra;
    const char *why_not;  /* launches of this kind cannot be captured; NULL: they can */
};

/* NULL: it is not wanted, or it was refused, and the file says why. */
struct gdx_launch_capture;
struct gdx_launch_capture *gdx_launch_capture_before(const struct gdx_capture_api *api, const struct gdx_wanted_launch *l,
                                                     const struct gdx_layout *layout);
void gdx_launch_capture_after(struct gdx_launch_capture *c, int status);

int gdx_capture_wait(const struct gdx_capture_api *api, uint64_t queue);  /* as `query`, but not_ready only after 20 s */
void gdx_capture_global(uint64_t owner, uint64_t address, uint64_t bytes, const char *name);
void gdx_capture_object(uint64_t handle, const char *what, bool alive);   /* a texture or surface object was made, or went */
size_t gdx_elf_bytes(const struct gdx_reader *me, const char *from);      /* to the end of its last section or header; 0: not known */
