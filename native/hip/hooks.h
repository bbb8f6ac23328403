/* The HIP runtime in neutral events. Most wrappers are made from schema/hip.toml; the rest is here, by subject.
 *
 * gdx_hip_driver holds functions of libamdhip64 itself; driver/lookup.c says how a program comes to call a wrapper.
 *
 * Every call of the runtime sets the error that hipGetLastError tells, also to "none" (clr, hip_internal.hpp, HIP_RETURN).
 * So questions of our own are asked only right before a call of the program, which sets it anew, or after one that
 * succeeded; never after one that failed, and never around the calls that tell the error. */
#pragma once

#include <stdatomic.h>

#include "driver/driver.h"
#include "driver/functions.h"
#include "core/crumbs.h"
#include "core/recorder.h"
#include "core/serialise.h"
#include "core/stacks.h"
#include "core/transfers.h"
#include "hip_abi.h"

extern const struct gdx_name gdx_hip_names[GDX_HIP_NAMES];

#define GDX_HIP_WORD(x) ((uint64_t)(uintptr_t)(x))

/* ---- devices.c: the thread's current device, streams that are being captured ---- */

/* A thread begins on device 0 (HIP runtime API, hipSetDevice). `context` is what records carry: the device plus one; 0: a
 * context of the deprecated API was made current. `noted`: the generation in which the device was described. */
struct gdx_hip_thread { uint32_t context, noted; };
extern __thread struct gdx_hip_thread gdx_hip_thread __attribute__((tls_model("initial-exec")));
extern _Atomic int gdx_hip_captures;  /* streams being captured in this process */

void gdx_hip_learn_device(void);
bool gdx_hip_is_captured(hipStream_t queue, bool own_thread);
void gdx_hip_describe(int device, char *text, size_t room);  /* as a capsule has it: name, target, version in lines */

GDX_INLINE bool gdx_hip_begin_late(struct gdx_open *open, uint32_t call, void *caller)
{
    if (!gdx_begin(open, call, caller))
        return false;
    open->slot->context = gdx_hip_thread.context;
    return true;
}

GDX_INLINE bool gdx_hip_begin(struct gdx_open *open, uint32_t call, void *caller)
{
    if (GDX_UNLIKELY(!gdx_hip_thread.noted))
        gdx_hip_learn_device();
    return gdx_hip_begin_late(open, call, caller);
}

/* ---- endings ---- */

/* Reported by whichever call comes next. */
static inline bool gdx_hip_of_earlier_work(hipError_t status)
{
    return status == hipErrorIllegalAddress || status == hipErrorLaunchFailure;
}

static inline void gdx_hip_end(struct gdx_open *open, hipError_t status)
{
    if (GDX_UNLIKELY(gdx_hip_of_earlier_work(status)))
        gdx_crumbs_keep();
    gdx_end(open, status);
    if (GDX_UNLIKELY(gdx_hip_of_earlier_work(status)))
        gdx_note_fault();
}

/* Words, endings and waits that CUDA has in the same shape. */
#include "hip_endings.h"

/* ---- words ---- */

/* Is it HIP 6 or later? Structures grew then (schema/hip.toml, [opaque_since_6]) and hipMemoryType was numbered anew. Told by what is
 * exported, so that nothing has to be asked of a runtime that may not have begun. */
static inline bool gdx_hip_is_later(void)
{
    return gdx_hip_driver.hipGetDevicePropertiesR0600 != NULL;
}

/* The direction of a copy as kinds of memory: 1 host, 2 device, 4 either; that of the destination in the second byte. */
static inline uint64_t gdx_hip_kinds(hipMemcpyKind direction)
{
    static const uint16_t kinds[] = { 0x101, 0x201, 0x102, 0x202, 0x404 };
    return direction < sizeof kinds / sizeof *kinds ? kinds[direction] : 0x404;
}

/* ---- code.c: device code in the program's memory and in files ---- */

struct gdx_hip_image;
const struct gdx_hip_image *gdx_hip_image_of(const void *fat_binary);  /* it stays where it is as long as it is used */
const struct gdx_hip_image *gdx_hip_copy_image(const void *image);     /* it may go: what is needed of it is kept */
const struct gdx_hip_image *gdx_hip_read_image(const char *path);

/* A kernel as the metadata of its code object has it. Sizes of parameters without those that the compiler adds. */
struct gdx_hip_kernel {
    struct gdx_layout *layout;  /* NULL: not known */
    uint64_t most_threads, local_bytes, private_bytes, vector_registers, scalar_registers, wavefront, required[3];
};
bool gdx_hip_find_kernel(const struct gdx_hip_image *image, const char *name, struct gdx_hip_kernel *kernel);
const char *gdx_hip_why_not(const struct gdx_hip_image *image);  /* why nothing is known of its kernels; NULL: it is */
/* "gfx90a gfx1030:xnack-", "" if not known; whole: none is missing */
const char *gdx_hip_targets(const struct gdx_hip_image *image, bool *whole);
/* All of it, unpacked, in memory that the caller unmaps; NULL: its end is not known, or it is too long. */
char *gdx_hip_whole_image(const struct gdx_hip_image *image, size_t *bytes);
bool gdx_hip_noted(const struct gdx_hip_image *image, uint32_t generation);  /* was it, before this? */

/* ---- functions.c ---- */

void gdx_hip_met(const void *function, const void *owner, const struct gdx_hip_image *image, const char *name);
const struct gdx_layout *gdx_hip_layout_of(const void *function);
const struct gdx_hip_image *gdx_hip_image_of_function(const void *function);
const char *gdx_hip_name_of(const void *function);  /* NULL: not known */
