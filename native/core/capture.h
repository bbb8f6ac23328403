/* Launches that are written down whole (gpudx run --capture, --nan): which launch is wanted, and the file it goes to.
 *
 * The file is a row of records: a head of 40 bytes, then its bytes. src/gpudx/capsule/raw.py reads it and makes the capsule from it,
 * so nothing is compressed here. A launch that ends the process leaves a file without the records of its end. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/recorder.h"

/* GPUDX_CAPTURE=KERNEL#N, GPUDX_NAN=EVERY, GPUDX_VALUES=1, GPUDX_CAPTURE_DIR, GPUDX_CAPTURE_LIMIT. Bits of the setting; -1: not read yet. */
enum { GDX_CAPTURE_LAUNCH = 1, GDX_CAPTURE_NAN = 2, GDX_CAPTURE_VALUES = 4 };
extern _Atomic int gdx_capture_setting;
int gdx_capture_read(void);
static inline int gdx_capturing(void)
{
    int known = atomic_load_explicit(&gdx_capture_setting, memory_order_relaxed);
    return GDX_LIKELY(known >= 0) ? known : gdx_capture_read();
}

/* The numbers of records are those in src/gpudx/capsule/raw.py; numbers are never used again for something else. */
enum gdx_capture_kind {
    GDX_CAPTURE_BEGIN = 1,      /* a: the API (0 OpenCL, 1 CUDA, 2 HIP), b: the number of this launch of the kernel; its name */
    GDX_CAPTURE_DEVICE = 2,     /* lines: name, version, driver, platform or architecture */
    GDX_CAPTURE_CODE = 3,       /* a: 1 source, 2 IL, 3 binary, 4 PTX, 5 cubin, 6 fat binary, 7 code object or bundle of them */
    GDX_CAPTURE_OPTIONS = 4,    /* of the build */
    GDX_CAPTURE_GEOMETRY = 5,   /* words: OpenCL dims, offset, global, local (0: left to the driver); CUDA, HIP grid, block, shared */
    GDX_CAPTURE_ARGUMENT = 6,   /* a: index, b: 1 value, 2 buffer, 3 local, 4 SVM, 5 null, 6 not supported, 7 never set;
                                   c: buffer, bytes of local memory, or address; the value, or why it is not supported */
    GDX_CAPTURE_TYPE = 7,       /* a: index, b: space (1 global, 2 local, 3 constant, 4 private, 0 not known); lines: type, name */
    GDX_CAPTURE_BUFFER = 8,     /* a: number, b: bytes, c: flags; words: parent + 1 (0: none), offset in it, address, is SVM */
    GDX_CAPTURE_BEFORE = 9,     /* a: buffer, b: offset; content. Pieces that are all zero are left out */
    GDX_CAPTURE_LAUNCHED = 10,  /* a: status */
    GDX_CAPTURE_AFTER = 11,     /* as before */
    GDX_CAPTURE_ENDED = 12,     /* a: status of the work */
    GDX_CAPTURE_REFUSED = 13,   /* why there is no capture, or no more of it */
    GDX_CAPTURE_NONFINITE = 14, /* a: number of the launch, b: of this kernel, c: argument; words: 0 infinity or 1 NaN, first
                                   element, count, bytes of an element, elements, was it looked at before, was some there before; then the kernel */
    GDX_CAPTURE_SYMBOL = 16,    /* a: buffer; the name of the module's variable that it is */
    GDX_CAPTURE_HASHES = 17,    /* a: number of the launch, b: of this kernel, c: 0 before it, 1 after it; words: how many pairs, then argument
                                   and hash of its value or content; then the kernel */
    GDX_CAPTURE_OBJECT = 18,    /* a: argument that has the value of a texture or surface object; what it is */
    GDX_CAPTURE_SCANNED = 15,   /* a: launches scanned, b: launches seen, c: arguments of unknown type */
};
enum { GDX_CODE_SOURCE = 1, GDX_CODE_IL, GDX_CODE_BINARY, GDX_CODE_PTX, GDX_CODE_CUBIN, GDX_CODE_FATBIN, GDX_CODE_OBJECT };
enum { GDX_GIVEN_VALUE = 1, GDX_GIVEN_BUFFER, GDX_GIVEN_LOCAL, GDX_GIVEN_SVM, GDX_GIVEN_NULL, GDX_GIVEN_OTHER, GDX_GIVEN_UNSET };
enum { GDX_CAPTURE_PIECE = 256 << 10 };

struct gdx_capture {
    int fd;         /* -1: nothing is captured */
    uint64_t left;  /* bytes of memory that may still be read */
};

/* Is this launch of a kernel of this name the wanted one? Counts. `name`: as the driver has it, mangled or not. */
bool gdx_capture_wants(const char *name, uint64_t *number);
bool gdx_capture_open(struct gdx_capture *to, uint32_t api, uint64_t number, const char *name);
void gdx_capture_put(struct gdx_capture *to, enum gdx_capture_kind kind, uint64_t a, uint64_t b, uint64_t c, const void *data, size_t bytes);
void gdx_capture_text(struct gdx_capture *to, enum gdx_capture_kind kind, uint64_t a, const char *text);
void gdx_capture_piece(struct gdx_capture *to, enum gdx_capture_kind kind, uint64_t buffer, uint64_t offset, const void *data, size_t bytes);
bool gdx_capture_room(struct gdx_capture *to, uint64_t bytes);  /* false: over the limit, which is noted */
void gdx_capture_close(struct gdx_capture *to);

/* The number of a launch, and that among those of its kernel; how many there were. */
uint64_t gdx_count_launch(const char *kernel, uint64_t *of_kernel);
uint64_t gdx_launches_counted(void);
uint64_t gdx_hash_text(const char *text);

/* GPUDX_NAN=EVERY or EVERY@FROM-TO: every how many launches are looked at, and between which. */
unsigned gdx_nan_every(void);
bool gdx_nan_here(uint64_t launch);
void gdx_nan_found(const char *kernel, const uint64_t *words, unsigned count, uint64_t launch, uint64_t of_kernel, uint64_t argument);
void gdx_values_put(const char *kernel, uint64_t launch, uint64_t of_kernel, bool after, const uint64_t *words, unsigned count);
void gdx_nan_scanned(uint64_t scanned, uint64_t seen, uint64_t unknown);
