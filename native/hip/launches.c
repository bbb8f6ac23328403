/* Launches: written down with all of their arguments before the runtime sees them. */
#define _GNU_SOURCE
#include "core/perturb.h"
#include "hip/capture.h"
#include "hip/crumbs.h"
#include "hip/hooks.h"
#include "hip/red.h"
#include "hip/sites.h"
#include "hip/watch.h"

struct launching {
    struct gdx_open open;
    struct gdx_launch_capture *capture;  /* NULL: it is not the one that is captured */
    unsigned site;
    bool uneven;                         /* its last blocks are smaller */
};

/* Last before the runtime: what it waits for must not change any more. */
static inline void captures(struct launching *at, const void *kernel, struct gdx_shape shape, hipStream_t queue, bool own_thread,
                            void **params, void **extra, const struct gdx_layout *layout)
{
    if (GDX_LIKELY(!(gdx_capturing() & GDX_CAPTURE_LAUNCH)))
        return;
    const struct gdx_wanted_launch launch = {
        .kernel = (uintptr_t)kernel, .shape = shape, .queue = own_thread && !queue ? hipStreamPerThread : GDX_HIP_WORD(queue),
        .params = params, .extra = extra, .why_not = at->uneven ? "its last blocks are smaller than the others" : NULL,
    };
    at->capture = gdx_hip_capture_before(&launch, layout);
}

/* Everything that comes before the runtime is called. */
GDX_INLINE void launch_begins(struct launching *at, uint32_t call, void *caller, const void *kernel, struct gdx_shape shape,
                                 hipStream_t queue, bool own_thread, void **params, void **extra)
{
    gdx_perturb();
    if (GDX_UNLIKELY(gdx_serialised()))
        gdx_hip_wait_at(GDX_WAITS_BEFORE, kernel, queue, own_thread);
    at->site = gdx_hip_launch_begins(kernel, queue, own_thread);
    gdx_hip_watch_launch(false);
    gdx_hip_crumbs_ready();
    const struct gdx_layout *layout = gdx_hip_layout_of(kernel);
    struct gdx_open *open = &at->open;
    at->capture = NULL;
    if (gdx_hip_begin(open, call, caller)) {
        gdx_put_shape(open, gdx_hip_queue(queue, own_thread), kernel, shape);
        gdx_show(open);
        gdx_put_arguments(open, layout, params, extra);
        gdx_commit(open);
        gdx_stack_of_work(open);
    }
    captures(at, kernel, shape, queue, own_thread, params, extra, layout);
}

GDX_INLINE void launch_ends(struct launching *at, const void *kernel, hipStream_t queue, bool own_thread, void **params,
                               void **extra, hipError_t status)
{
    struct gdx_open *open = &at->open;
    gdx_hip_watch_submitted(queue, own_thread, status);
    gdx_hip_crumb(open, queue, own_thread, status);
    gdx_hip_end_on(open, queue, own_thread, status);
    gdx_hip_site_ends(at->site, queue, own_thread, status);
    if (GDX_UNLIKELY(at->capture != NULL))
        gdx_launch_capture_after(at->capture, (int)status);
    /* Only behind a launch that succeeded: a wait sets the error that the program may ask for. */
    if (GDX_UNLIKELY(gdx_serialised()) && status == hipSuccess && gdx_hip_wait_at(GDX_WAITS_AFTER, kernel, queue, own_thread))
        gdx_hip_red_launched(kernel, params, extra);
    if (status == hipSuccess)
        gdx_hip_watch_launch(true);
}

/* Some are given work-items instead of blocks (hip_ext.h); the last block may be smaller. */
static inline uint32_t groups(uint32_t items, uint32_t block)
{
    return block ? (uint32_t)(((uint64_t)items + block - 1) / block) : 0;
}

static inline bool is_cut(uint32_t items, uint32_t block)
{
    return block && items % block;
}

#include "hip_launches.h"

/* ---- launches by a configuration, since HIP 7 ---- */

/* hip_runtime_api.h of HIP 7, hipLaunchConfig_t and HIP_LAUNCH_CONFIG, as far as they are read. */
struct config { dim3 grid, block; size_t shared_bytes; hipStream_t queue; };
struct driver_config { dim3 grid, block; unsigned int shared_bytes; hipStream_t queue; };

static bool read_config(void *to, const void *config, size_t bytes)
{
    struct gdx_lane *lane = config ? gdx_lane() : NULL;
    if (lane && gdx_read(&lane->reader, to, config, bytes))
        return true;
    memset(to, 0, bytes);
    return false;
}

/* What cannot be read is written down without a shape. */
#define BY_CONFIG(name, type, kernel_type, more, extra, ...)                                                         \
    hipError_t rec_##name(const void *config, kernel_type kernel, void **params more)                               \
    {                                                                                                                \
        struct launching at = { .uneven = false };                                                                   \
        struct type c;                                                                                               \
        const bool good = read_config(&c, config, sizeof c);                                                         \
        const struct gdx_shape shape = { c.grid.x,  c.grid.y,  c.grid.z,      c.block.x,                              \
                                         c.block.y, c.block.z, c.shared_bytes };                                     \
        launch_begins(&at, GDX_CALL_##name, __builtin_return_address(0), kernel, shape, c.queue, false, params, extra); \
        if (!good && gdx_still_open(&at.open))                                                                       \
            at.open.slot->flags |= GDX_FLAG_cut;                                                                     \
        hipError_t status = gdx_hip_next.name(config, kernel, __VA_ARGS__);                                          \
        launch_ends(&at, kernel, c.queue, false, params, extra, status);                                             \
        return status;                                                                                               \
    }
#define EXTRA , void **extra
BY_CONFIG(hipLaunchKernelExC, config, const void *, , NULL, params)
BY_CONFIG(hipDrvLaunchKernelEx, driver_config, hipFunction_t, EXTRA, extra, params, extra)

/* The oldest form: shape and arguments were given by calls before. */
hipError_t rec_hipLaunchByPtr(const void *kernel)
{
    struct gdx_open open;
    if (gdx_hip_begin(&open, GDX_CALL_hipLaunchByPtr, __builtin_return_address(0))) {
        gdx_put_shape(&open, 0, kernel, (struct gdx_shape){ 0 });
        open.slot->flags |= GDX_FLAG_cut;
        gdx_commit(&open);
        gdx_stack_of_work(&open);
    }
    if (GDX_UNLIKELY(gdx_capturing() & GDX_CAPTURE_LAUNCH)) {
        const struct gdx_wanted_launch launch = { .kernel = (uintptr_t)kernel, .why_not = "calls before hipLaunchByPtr gave its arguments" };
        gdx_hip_capture_before(&launch, NULL);
    }
    hipError_t status = gdx_hip_next.hipLaunchByPtr(kernel);
    if (gdx_watching() && status == hipSuccess)
        gdx_watch_stop("a launch whose stream is not known");
    gdx_hip_end(&open, status);
    return status;
}
