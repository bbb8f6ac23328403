/* The CUDA driver API in neutral events. Most wrappers are made from schema/cuda.toml; the rest is here, by subject.
 *
 * One rule keeps this safe: gdx_cu_driver holds functions of libcuda itself and nothing else, and a wrapper only ever
 * stands in front of the function of its own name (entry.c says how a program comes to call it). gdx_cu_next is what
 * wrappers call: the same functions, but for those that fence.c stands in for when it is asked to. All questions of ours
 * go to one of the two, never through a wrapper. */
#pragma once

#include <stdatomic.h>

#include "driver/driver.h"
#include "driver/functions.h"
#include "core/crumbs.h"
#include "core/recorder.h"
#include "core/serialise.h"
#include "core/stacks.h"
#include "core/transfers.h"
#include "cu_abi.h"

extern const struct gdx_name gdx_cu_names[GDX_CU_NAMES];

/* ---- contexts.c: which context the thread is in, devices, streams that are being captured ---- */

struct gdx_cu_thread { uint32_t generation, context; };
extern __thread struct gdx_cu_thread gdx_cu_thread __attribute__((tls_model("initial-exec")));
/* Again the functions of gdx_cu_next that launch, in the page of data that each launch needs anyway. */
struct gdx_cu_launch {
    __typeof__(gdx_cu_next.cuLaunchKernel) cuLaunchKernel, cuLaunchKernel_ptsz;
    __typeof__(gdx_cu_next.cuLaunchKernelEx) cuLaunchKernelEx, cuLaunchKernelEx_ptsz;
};
extern struct gdx_cu_launch gdx_cu_launch;
extern _Atomic int gdx_cu_captures;  /* streams being captured in this process */

void gdx_cu_learn_context(void);
bool gdx_cu_is_captured(CUstream queue, bool own_thread);
int gdx_cu_current_device(void);     /* -1: no context */

/* Like gdx_begin, for calls that are made in the thread's current context. */
GDX_INLINE bool gdx_cu_begin(struct gdx_open *open, uint32_t call, void *caller)
{
    if (GDX_UNLIKELY(!gdx_cu_thread.context))
        gdx_cu_learn_context();
    if (!gdx_begin(open, call, caller))
        return false;
    if (GDX_LIKELY(gdx_cu_thread.generation == open->generation))
        open->slot->context = gdx_cu_thread.context;
    return true;
}

/* For calls that are written down after the driver has answered. */
GDX_INLINE bool gdx_cu_begin_late(struct gdx_open *open, uint32_t call, void *caller)
{
    return gdx_cu_begin(open, call, caller);
}

/* ---- dump.c: a core dump of the device is on its way; the process's end waits for it ---- */

void gdx_cu_expect_dump(void);

/* ---- endings ---- */

/* Failures of work that ran earlier are reported by whichever call comes next, queries included. */
static inline bool gdx_cu_of_earlier_work(CUresult status)
{
    return status == CUDA_ERROR_ECC_UNCORRECTABLE || status == CUDA_ERROR_NVLINK_UNCORRECTABLE
        || status == CUDA_ERROR_CONTAINED || status == CUDA_ERROR_UNKNOWN
        || (status >= CUDA_ERROR_ILLEGAL_ADDRESS && status <= CUDA_ERROR_TENSOR_MEMORY_LEAK);
}

static inline void gdx_cu_look_at(CUresult status)
{
    if (GDX_UNLIKELY(status != CUDA_SUCCESS) && gdx_cu_of_earlier_work(status)) {
        gdx_crumbs_keep();
        gdx_note_fault();
        gdx_cu_expect_dump();
    }
}

static inline void gdx_cu_end(struct gdx_open *open, CUresult status)
{
    gdx_end(open, status);
    gdx_cu_look_at(status);
}

/* Words, endings and waits that HIP has in the same shape. */
#include "cu_endings.h"

/* ---- words ---- */

#define GDX_CU_WORD(x) ((uint64_t)(uintptr_t)(x))

/* ---- functions.c: the functions a program can launch, and where their parameters lie ---- */

const char *gdx_cu_name_of(CUfunction function);  /* NULL: not known */

const struct gdx_layout *gdx_cu_layout_of(CUfunction function);
void gdx_cu_met_by_launch(CUfunction function);  /* an unknown handle that the driver accepted */

/* ---- ptx_checks.c: kernels that check themselves, and what they report ---- */

struct gdx_cu_checked { const void *image; uint32_t program; const char *kernel; };  /* program: its number, 0 if it is the program's own code */
struct gdx_cu_checked gdx_cu_checked_image(const void *image);
/* Is it loaded, and does it compile? If not, nothing of it is left, and it is tried without optimization, then as the program gave it. */
bool gdx_cu_checked_loaded(const struct gdx_cu_checked *checked, CUresult status, void *result, bool library);
void gdx_cu_checked_refused(const struct gdx_cu_checked *checked);
extern CUjit_option gdx_cu_checked_option[1];
extern void *gdx_cu_checked_level[1];
void gdx_cu_checked_collect_now(const struct gdx_open *launch);
extern _Atomic unsigned gdx_cu_checked_modules;
static inline void gdx_cu_checked_collect(const struct gdx_open *launch)
{
    if (GDX_UNLIKELY(gdx_cu_checked_modules))
        gdx_cu_checked_collect_now(launch);
}

/* ---- copies.c ---- */

struct gdx_cu_box { uint64_t src, dst, src_pitch, dst_pitch, width, height, depth, kinds; };
struct gdx_cu_box gdx_cu_box3(const CUDA_MEMCPY3D *copy);
