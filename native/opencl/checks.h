/* Checks inside kernels (gpudx run --sanitize): a second program beside the program's own.
 *
 * When a program is built from source, a process of gpudx's rewrites the source so that it checks its own accesses, and the
 * same driver builds that into a program of ours. A launch of a kernel then launches ours with the same arguments and a
 * few more. The program's own objects stay as they are, so whatever it asks of them is answered by the driver itself; where
 * anything of ours fails, its own kernel is launched. See docs/decisions. */
#pragma once

#include "core/asking.h"
#include "opencl/own.h"

extern _Atomic int gdx_checks_setting;  /* -1: not read yet */
int gdx_checks_read(void);
static inline bool gdx_checks(void)
{
    int setting = gdx_checks_setting;
    return GDX_UNLIKELY(setting && (setting > 0 || gdx_checks_read()));
}

/* ---- checks_service.c: the process that rewrites ---- */

bool gdx_cl_rewrite(cl_device_id device, const char *options, const char *source, size_t bytes, struct gdx_reply *reply,
                    char *why);

/* ---- checks.c: programs and kernels ---- */

void gdx_cl_check_source(cl_program program, cl_uint count, const char **strings, const size_t *lengths);
void gdx_cl_check_cannot(cl_program program, const char *why);
void gdx_cl_check_program_released(cl_program program);
void gdx_cl_check_build(cl_program program, cl_uint count, const cl_device_id *devices, const char *options);
void gdx_cl_check_compiled(cl_program program, const char *options, cl_uint count, const cl_program *headers, const char **names);
void gdx_cl_check_kernel(cl_program program, cl_kernel kernel);
void gdx_cl_check_copy(cl_kernel from, cl_kernel to);
void gdx_cl_check_retain(cl_kernel kernel);
void gdx_cl_check_release(cl_kernel kernel);
void gdx_cl_check_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value, bool svm);

/* What one more argument of a kernel of ours is made from. */
enum gdx_cl_extra { GDX_EXTRA_REPORT, GDX_EXTRA_SIZE, GDX_EXTRA_RACES, GDX_EXTRA_WRITTEN, GDX_EXTRA_LOCAL, GDX_EXTRA_UNSEEN, GDX_EXTRA_READ };  /* r n w u l x v */
struct gdx_cl_spec { uint8_t what, grain; uint16_t argument; };
enum { GDX_SPECS = 256, GDX_PROOF = 2048 };
struct gdx_cl_checked {
    cl_kernel kernel;        /* ours; NULL: it is not checked */
    uint32_t number, sites;  /* of the program; how many places are checked */
    uint32_t arguments, spec_count;
    struct gdx_cl_spec specs[GDX_SPECS];
    char proof[GDX_PROOF];   /* conditions under which no check can fail, or a light kernel may run; empty: there are none */
};
bool gdx_cl_checked_kernel(cl_kernel kernel, struct gdx_cl_checked *out);
bool gdx_cl_light_kernel(cl_kernel kernel, struct gdx_cl_checked *out);  /* with fewer checks, where its proof holds */
void gdx_cl_check_gives_up(cl_kernel kernel, const char *why);

/* ---- checks_launch.c ---- */

struct gdx_cl_launch {
    cl_command_queue queue;
    cl_kernel kernel;
    cl_uint dims;
    const size_t *offset, *global, *local;
    cl_uint num_waits;
    const cl_event *waits;
    cl_event *event;
};
/* Launches ours in place of the program's; false: it has to launch its own. */
bool gdx_cl_check_launch(const struct gdx_cl_launch *launch, uint64_t began, cl_int *result);
void gdx_cl_check_collect(bool patient);
void gdx_cl_check_queue_leaves(cl_command_queue queue);

/* ---- checks_proof.c: do the sizes of this launch prove that all accesses are inside? ---- */

bool gdx_cl_check_proved(const char *proof, const struct gdx_cl_launch *launch);
size_t gdx_cl_check_reach(const char *proof, const struct gdx_cl_launch *launch, unsigned index);
uint64_t gdx_cl_check_size(const struct gdx_argument *argument);  /* bytes behind a pointer argument; all ones: not known */

/* ---- checks_svm.c: sizes of shared virtual memory ---- */

void gdx_cl_check_svm_made(const void *memory, size_t bytes);
uint64_t gdx_cl_check_svm_size(const void *memory);  /* all ones: not known */
uint64_t gdx_cl_svm_block(const void *pointer, const void **start);  /* the block that a pointer points into; 0: none */
bool gdx_cl_svm_extent(uint64_t *low, uint64_t *top);  /* all blocks lie between these; false: there are none */

/* ---- checks_written.c: which bytes of buffers somebody wrote ---- */

void gdx_cl_check_blind(void);  /* from now on, somebody can write without a call that we see: all memory counts as written */
void gdx_cl_check_made(cl_mem mem, const cl_mem_properties *properties, cl_mem_flags flags, size_t bytes);
void gdx_cl_check_part(cl_mem of);
void gdx_cl_check_function(const char *name);  /* of an extension: the driver has handed out its address */
void gdx_cl_check_image(const cl_image_desc *desc);  /* was made with this: the driver has read it */
void gdx_cl_check_mem_released(cl_mem mem);
void gdx_cl_check_wrote(cl_mem mem, size_t offset, size_t bytes);
void gdx_cl_check_wrote_all(cl_uint count, const cl_mem *mems);
void gdx_cl_check_wrote_rows(cl_mem mem, const size_t *origin, const size_t *region, size_t row_pitch, size_t slice_pitch);
bool gdx_cl_check_first_written(cl_mem mem, size_t bytes);  /* do so many bytes from its start count as written? */
bool gdx_cl_check_is_whole_buffer(cl_mem mem);  /* made as a buffer in our sight, and no part was ever made of it */
cl_mem gdx_cl_check_written(cl_context context, cl_mem mem);
