/* Launches: written down with all of their arguments before the driver sees them. */
#define _GNU_SOURCE
#include "cuda/capture.h"
#include "cuda/crumbs.h"
#include "cuda/hooks.h"
#include "cuda/nan.h"
#include "cuda/sites.h"
#include "cuda/watch.h"

#include "core/perturb.h"

/* A launch on its way. What all launches need is written once and not inlined: between two of them programs and driver use up the
 * caches, so what counts are the pages and lines of code that are fetched again. */
struct launching {
    struct gdx_open open;
    const struct gdx_layout *layout;
    struct gdx_launch_capture *capture;  /* NULL: it is not the one that is captured */
    struct gdx_cu_nan *nan;          /* NULL: nobody looks for a NaN in it */
    unsigned site;
};

GDX_INLINE bool begins(struct launching *at, uint32_t call, CUfunction kernel, CUstream queue, bool own_thread,
                          void *caller)
{
    gdx_perturb();
    if (GDX_UNLIKELY(gdx_serialised()))
        gdx_cu_wait_at(GDX_WAITS_BEFORE, kernel, queue, own_thread);
    at->site = gdx_cu_launch_begins(kernel, queue, own_thread);
    at->layout = gdx_cu_layout_of(kernel);
    at->capture = NULL;
    at->nan = NULL;
    gdx_cu_watch_launch(false);
    gdx_cu_crumbs_ready();
    return gdx_cu_begin(&at->open, call, caller);
}

GDX_INLINE void described(struct launching *at, void **params, void **extra)
{
    gdx_show(&at->open);
    gdx_put_arguments(&at->open, at->layout, params, extra);
    gdx_commit(&at->open);
    gdx_stack_of_work(&at->open);
}

GDX_COLD static void end_rarely(struct launching *at, CUfunction kernel, CUstream queue, bool own_thread, CUresult result)
{
    gdx_cu_watch_submitted(queue, own_thread, result);
    gdx_cu_crumb(&at->open, queue, own_thread, result);
    gdx_cu_end_on(&at->open, queue, own_thread, result);
    gdx_cu_site_ends(at->site, queue, own_thread, result);
    if (at->nan)
        gdx_cu_nan_after(at->nan, queue, result);
    if (at->capture)
        gdx_launch_capture_after(at->capture, (int)result);
    if (!at->layout && result == CUDA_SUCCESS)
        gdx_cu_met_by_launch(kernel);
    if (gdx_serialised() && result == CUDA_SUCCESS)
        gdx_cu_wait_at(GDX_WAITS_AFTER, kernel, queue, own_thread);
    gdx_cu_checked_collect(&at->open);
    gdx_cu_watch_launch(true);
}

GDX_INLINE void ends(struct launching *at, CUfunction kernel, CUstream queue, bool own_thread, CUresult result)
{
    bool usual = result == CUDA_SUCCESS && at->layout && !at->site && !at->capture && !at->nan && !gdx_watching() && !gdx_serialised()
        && atomic_load_explicit(&gdx_cu_captures, memory_order_relaxed) <= 0;
    if (GDX_LIKELY(usual)) {
        gdx_cu_crumb(&at->open, queue, own_thread, result);
        gdx_end(&at->open, result);
    } else {
        end_rarely(at, kernel, queue, own_thread, result);
    }
}

/* Last before the driver: what it waits for must not change any more. */
GDX_INLINE void captures(struct launching *at, CUfunction kernel, struct gdx_shape shape, CUstream queue, bool own_thread,
                         void **params, void **extra)
{
    const int wanted = gdx_capturing();
    if (GDX_LIKELY(!wanted))
        return;
    const struct gdx_cu_wanted launch = { kernel, shape, queue, own_thread, params, extra };
    if (wanted & GDX_CAPTURE_LAUNCH)
        at->capture = gdx_cu_capture_before(&launch, at->layout);
    if (wanted & GDX_CAPTURE_NAN)
        at->nan = gdx_cu_nan_before(&launch, at->layout);
}

/* All that comes before the driver, of launches that are given their shape. */
GDX_INLINE void launch_begins(struct launching *at, uint32_t call, void *caller, CUfunction kernel, struct gdx_shape shape, CUstream queue,
                              bool own_thread, void **params, void **extra)
{
    if (begins(at, call, kernel, queue, own_thread, caller)) {
        gdx_put_shape(&at->open, gdx_cu_queue(queue, own_thread), kernel, shape);
        described(at, params, extra);
    }
    captures(at, kernel, shape, queue, own_thread, params, extra);
}

GDX_INLINE void launch_ends(struct launching *at, CUfunction kernel, CUstream queue, bool own_thread, void **params, void **extra,
                            CUresult status)
{
    (void)params, (void)extra;
    ends(at, kernel, queue, own_thread, status);
}

#include "cu_launches.h"

/* The program's configuration, as far as it can be read; else zeros. */
GDX_HOT static bool read_config(CUlaunchConfig *copy, const CUlaunchConfig *config)
{
    struct gdx_lane *lane = config ? gdx_lane() : NULL;
    if (GDX_LIKELY(lane && gdx_read(&lane->reader, copy, config, sizeof *copy)))
        return true;
    *copy = (CUlaunchConfig){ 0 };
    return false;
}

static inline struct gdx_shape shape_of(const CUlaunchConfig *config)
{
    return (struct gdx_shape){ config->grid_x,  config->grid_y,  config->grid_z,      config->block_x,
                               config->block_y, config->block_z, config->shared_bytes };
}

/* What a configuration says; its attributes are part 0 of the blob. */
GDX_HOT static void put_config(struct gdx_open *open, const CUlaunchConfig *config, CUfunction kernel, bool own_thread, bool good)
{
    if (!good)
        open->slot->flags |= GDX_FLAG_cut;
    gdx_put_shape(open, good ? gdx_cu_queue(config->queue, own_thread) : 0, kernel, shape_of(config));
    gdx_show(open);
    if (config->attribute_count)
        gdx_put_array(open, 0, config->attributes, config->attribute_count, sizeof *config->attributes);
}

#define LAUNCH_EX(name, own_thread)                                                                              \
    GDX_HOT CUresult rec_##name(const CUlaunchConfig *config, CUfunction kernel, void **params, void **extra)    \
    {                                                                                                            \
        struct launching at;                                                                                     \
        CUlaunchConfig copy;                                                                                     \
        const bool good = read_config(&copy, config);                                                            \
        if (begins(&at, GDX_CALL_cuLaunchKernelEx, kernel, copy.queue, own_thread, __builtin_return_address(0))) { \
            put_config(&at.open, &copy, kernel, own_thread, good);                                               \
            described(&at, params, extra);                                                                       \
        }                                                                                                        \
        captures(&at, kernel, shape_of(&copy), copy.queue, own_thread, params, extra);                           \
        CUresult result = gdx_cu_launch.name(config, kernel, params, extra);                                     \
        ends(&at, kernel, copy.queue, own_thread, result);                                                       \
        return result;                                                                                           \
    }
LAUNCH_EX(cuLaunchKernelEx, false)
LAUNCH_EX(cuLaunchKernelEx_ptsz, true)

/* The oldest form: block and parameters were set on the function by calls before. */
static void begin_old(struct gdx_open *open, uint32_t call, CUfunction kernel, int x, int y, CUstream queue,
                      void *caller)
{
    if (!gdx_cu_begin(open, call, caller))
        return;
    gdx_put_shape(open, gdx_cu_queue(queue, false), kernel, (struct gdx_shape){ (unsigned)x, (unsigned)y, 1, 0, 0, 0, 0 });
    open->slot->flags |= GDX_FLAG_cut;
    gdx_commit(open);
    gdx_stack_of_work(open);
}

CUresult rec_cuLaunch(CUfunction kernel)
{
    struct gdx_open open;
    begin_old(&open, GDX_CALL_cuLaunch, kernel, 1, 1, NULL, __builtin_return_address(0));
    CUresult result = gdx_cu_next.cuLaunch(kernel);
    gdx_cu_watch_submitted(NULL, false, result);
    gdx_cu_end(&open, result);
    return result;
}

CUresult rec_cuLaunchGrid(CUfunction kernel, int grid_x, int grid_y)
{
    struct gdx_open open;
    begin_old(&open, GDX_CALL_cuLaunchGrid, kernel, grid_x, grid_y, NULL, __builtin_return_address(0));
    CUresult result = gdx_cu_next.cuLaunchGrid(kernel, grid_x, grid_y);
    gdx_cu_watch_submitted(NULL, false, result);
    gdx_cu_end(&open, result);
    return result;
}

CUresult rec_cuLaunchGridAsync(CUfunction kernel, int grid_x, int grid_y, CUstream queue)
{
    struct gdx_open open;
    begin_old(&open, GDX_CALL_cuLaunchGridAsync, kernel, grid_x, grid_y, queue, __builtin_return_address(0));
    CUresult result = gdx_cu_next.cuLaunchGridAsync(kernel, grid_x, grid_y, queue);
    gdx_cu_watch_submitted(queue, false, result);
    gdx_cu_end_on(&open, queue, false, result);
    return result;
}
