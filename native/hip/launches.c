/* Launches: written down with all of their arguments before the runtime sees them. */
#define _GNU_SOURCE
#include "core/perturb.h"
#include "hip/crumbs.h"
#include "hip/hooks.h"
#include "hip/red.h"
#include "hip/watch.h"

static inline struct gdx_shape shape_of(dim3 grid, dim3 block, uint64_t shared_bytes)
{
    return (struct gdx_shape){ grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes };
}

/* Everything that comes before the runtime is called. */
static inline void begin(struct gdx_open *open, uint32_t call, void *caller, const void *kernel, dim3 grid, dim3 block,
                         uint64_t shared_bytes, hipStream_t queue, bool own_thread, void **params, void **extra)
{
    gdx_perturb();
    if (GDX_UNLIKELY(gdx_serialised()))
        gdx_hip_wait_at(GDX_WAITS_BEFORE, kernel, queue, own_thread);
    gdx_hip_watch_launch(false);
    gdx_hip_crumbs_ready();
    const struct gdx_layout *layout = gdx_hip_layout_of(kernel);
    if (!gdx_hip_begin(open, call, caller))
        return;
    gdx_put_shape(open, gdx_hip_queue(queue, own_thread), kernel, shape_of(grid, block, shared_bytes));
    gdx_show(open);
    gdx_put_arguments(open, layout, params, extra);
    gdx_commit(open);
    gdx_stack_of_work(open);
}

static inline hipError_t end(struct gdx_open *open, const void *kernel, hipStream_t queue, bool own_thread, void **params,
                             void **extra, hipError_t status)
{
    gdx_hip_watch_submitted(queue, own_thread, status);
    gdx_hip_crumb(open, queue, own_thread, status);
    gdx_hip_end_on(open, queue, own_thread, status);
    /* Only behind a launch that succeeded: a wait sets the error that the program may ask for. */
    if (GDX_UNLIKELY(gdx_serialised()) && status == hipSuccess && gdx_hip_wait_at(GDX_WAITS_AFTER, kernel, queue, own_thread))
        gdx_hip_red_launched(kernel, params, extra);
    if (status == hipSuccess)
        gdx_hip_watch_launch(true);
    return status;
}

#define LAUNCH(name, call, own_thread, shared_type)                                                                \
    GDX_HOT hipError_t rec_##name(const void *kernel, dim3 grid, dim3 block, void **params, shared_type shared_bytes,\
                                  hipStream_t queue)                                                               \
    {                                                                                                              \
        struct gdx_open open;                                                                                      \
        begin(&open, GDX_CALL_##call, __builtin_return_address(0), kernel, grid, block, shared_bytes, queue,       \
              own_thread, params, NULL);                                                                           \
        return end(&open, kernel, queue, own_thread, params, NULL,                                                 \
                   gdx_hip_next.name(kernel, grid, block, params, shared_bytes, queue));                           \
    }
LAUNCH(hipLaunchKernel, hipLaunchKernel, false, size_t)
LAUNCH(hipLaunchKernel_spt, hipLaunchKernel, true, size_t)
LAUNCH(hipLaunchCooperativeKernel, hipLaunchCooperativeKernel, false, unsigned int)
LAUNCH(hipLaunchCooperativeKernel_spt, hipLaunchCooperativeKernel, true, unsigned int)

hipError_t rec_hipExtLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **params, size_t shared_bytes,
                                  hipStream_t queue, hipEvent_t start, hipEvent_t stop, int flags)
{
    struct gdx_open open;
    begin(&open, GDX_CALL_hipExtLaunchKernel, __builtin_return_address(0), kernel, grid, block, shared_bytes, queue,
          false, params, NULL);
    return end(&open, kernel, queue, false, params, NULL,
               gdx_hip_next.hipExtLaunchKernel(kernel, grid, block, params, shared_bytes, queue, start, stop, flags));
}

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
        struct gdx_open open;                                                                                        \
        struct type c;                                                                                               \
        const bool good = read_config(&c, config, sizeof c);                                                         \
        begin(&open, GDX_CALL_##name, __builtin_return_address(0), kernel, c.grid, c.block, c.shared_bytes, c.queue, \
              false, params, extra);                                                                                 \
        if (!good && gdx_still_open(&open))                                                                          \
            open.slot->flags |= GDX_FLAG_cut;                                                                        \
        return end(&open, kernel, c.queue, false, params, extra, gdx_hip_next.name(config, kernel, __VA_ARGS__));    \
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
    hipError_t status = gdx_hip_next.hipLaunchByPtr(kernel);
    if (gdx_watching() && status == hipSuccess)
        gdx_watch_stop("a launch whose stream is not known");
    gdx_hip_end(&open, status);
    return status;
}

hipError_t rec_hipModuleLaunchKernel(hipFunction_t kernel, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                     unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                     unsigned int shared_bytes, hipStream_t queue, void **params, void **extra)
{
    struct gdx_open open;
    begin(&open, GDX_CALL_hipModuleLaunchKernel, __builtin_return_address(0), kernel, (dim3){ grid_x, grid_y, grid_z },
          (dim3){ block_x, block_y, block_z }, shared_bytes, queue, false, params, extra);
    return end(&open, kernel, queue, false, params, extra,
               gdx_hip_next.hipModuleLaunchKernel(kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                                                  queue, params, extra));
}

hipError_t rec_hipModuleLaunchCooperativeKernel(hipFunction_t kernel, unsigned int grid_x, unsigned int grid_y,
                                                unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                                unsigned int block_z, unsigned int shared_bytes, hipStream_t queue, void **params)
{
    struct gdx_open open;
    begin(&open, GDX_CALL_hipModuleLaunchCooperativeKernel, __builtin_return_address(0), kernel,
          (dim3){ grid_x, grid_y, grid_z }, (dim3){ block_x, block_y, block_z }, shared_bytes, queue, false, params, NULL);
    return end(&open, kernel, queue, false, params, NULL,
               gdx_hip_next.hipModuleLaunchCooperativeKernel(kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                                             shared_bytes, queue, params));
}

/* These are given work-items instead of blocks (hip_ext.h); the last block may be smaller. */
static dim3 blocks(dim3 items, dim3 block)
{
    return (dim3){ block.x ? (uint32_t)(((uint64_t)items.x + block.x - 1) / block.x) : 0,
                   block.y ? (uint32_t)(((uint64_t)items.y + block.y - 1) / block.y) : 0,
                   block.z ? (uint32_t)(((uint64_t)items.z + block.z - 1) / block.z) : 0 };
}

#define BY_ITEMS(name, call, more, ...)                                                                             \
    hipError_t rec_##name(hipFunction_t kernel, uint32_t items_x, uint32_t items_y, uint32_t items_z, uint32_t block_x,\
                          uint32_t block_y, uint32_t block_z, size_t shared_bytes, hipStream_t queue, void **params,  \
                          void **extra, hipEvent_t start, hipEvent_t stop more)                                      \
    {                                                                                                                \
        struct gdx_open open;                                                                                        \
        const dim3 block = { block_x, block_y, block_z };                                                            \
        begin(&open, GDX_CALL_##call, __builtin_return_address(0), kernel,                                           \
              blocks((dim3){ items_x, items_y, items_z }, block), block, shared_bytes, queue, false, params, extra); \
        return end(&open, kernel, queue, false, params, extra,                                                       \
                   gdx_hip_next.name(kernel, items_x, items_y, items_z, block_x, block_y, block_z, shared_bytes,     \
                                     queue, params, extra, __VA_ARGS__));                                            \
    }
#define NOTHING
#define FLAGS , uint32_t flags
BY_ITEMS(hipExtModuleLaunchKernel, hipExtModuleLaunchKernel, FLAGS, start, stop, flags)
BY_ITEMS(_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j,
         hipExtModuleLaunchKernel, FLAGS, start, stop, flags)
BY_ITEMS(hipHccModuleLaunchKernel, hipHccModuleLaunchKernel, NOTHING, start, stop)
BY_ITEMS(_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_,
         hipHccModuleLaunchKernel, NOTHING, start, stop)
