/* A buffer that the program asks for: between fences, with a red zone, filled with a pattern, or as the driver makes it. */
#define _GNU_SOURCE
#include <errno.h>

#include "core/poison.h"
#include "opencl/own.h"

#define WORD(x) ((uint64_t)(uintptr_t)(x))

cl_mem gdx_cl_ask(const struct gdx_cl_request *r, cl_mem_flags flags, size_t size, void *host_ptr, cl_int *errcode)
{
    if (r->with_properties)
        return gdx_cl_next.clCreateBufferWithProperties(r->context, r->properties, flags, size, host_ptr, errcode);
    return gdx_cl_next.clCreateBuffer(r->context, flags, size, host_ptr, errcode);
}

/* What the driver has to refuse is left to it: no size, or a pointer without the flag for it and the other way round. */
static bool is_sound(const struct gdx_cl_request *r)
{
    bool pointed = r->flags & (CL_MEM_COPY_HOST_PTR | CL_MEM_USE_HOST_PTR);
    return r->size && pointed == (r->host_ptr != NULL);
}

/* Between fences where the device lets us, else with a red zone. */
static cl_mem make_enclosed(const struct gdx_cl_request *r, cl_int *errcode, bool *filled, const char **why)
{
    bool red = gdx_fence_edge() == GDX_EDGE_RED;
    cl_mem made = red ? NULL : gdx_cl_fence_make(r, errcode, why, &red);
    *filled = made;
    return made || !red ? made : gdx_cl_red_make(r, errcode, why);
}

static cl_mem make_plain(const struct gdx_cl_request *r, cl_int *errcode, const char *why)
{
    cl_mem made = gdx_cl_ask(r, r->flags, r->size, r->host_ptr, errcode);
    if (why && made)
        gdx_cl_fence_miss(made, r->size, why);
    return made;
}

/* The fresh buffer with the pattern in it, or another one where that went wrong. */
static cl_mem make_poisoned(const struct gdx_cl_request *r, cl_mem made, bool filled, cl_int *errcode)
{
    const char *why = NULL;
    bool spoiled = false;
    if (filled || gdx_cl_poison_buffer(r->context, made, r->size, &why, &spoiled)) {
        gdx_poison_note(WORD(made), r->size);
        return made;
    }
    if (spoiled) {
        gdx_cl_red_clReleaseMemObject(made);
        made = make_plain(r, errcode, gdx_fence_edge() ? "a buffer that had to be made again" : NULL);
    }
    if (made)
        gdx_poison_note_missing(WORD(made), r->size, why);
    return made;
}

bool gdx_cl_has_properties(const cl_mem_properties *properties)
{
    struct gdx_lane *lane = properties ? gdx_lane() : NULL;
    cl_mem_properties first = 0;
    return properties && (!lane || !gdx_read(&lane->reader, &first, properties, sizeof first) || first);
}

/* Has it no content of the program's? Memory of others comes with properties. */
static bool is_fresh(const struct gdx_cl_request *r)
{
    return !(r->flags & (CL_MEM_COPY_HOST_PTR | CL_MEM_USE_HOST_PTR)) && !gdx_cl_has_properties(r->properties);
}

static cl_mem make(const struct gdx_cl_request *r, cl_int *errcode)
{
    const char *why = NULL;
    bool filled = false, ours = (gdx_fence_edge() || gdx_poisons()) && gdx_on() && is_sound(r);
    if (GDX_LIKELY(!ours))
        return gdx_cl_ask(r, r->flags, r->size, r->host_ptr, errcode);
    int saved = errno;
    cl_mem made = gdx_fence_edge() ? make_enclosed(r, errcode, &filled, &why) : NULL;
    errno = saved;
    if (!made)
        made = make_plain(r, errcode, why);
    saved = errno;
    if (made && gdx_poisons() && is_fresh(r))
        made = make_poisoned(r, made, filled, errcode);
    errno = saved;
    return made;
}

cl_mem gdx_cl_made_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host_ptr, cl_int *errcode)
{
    const struct gdx_cl_request r = { context, NULL, false, flags, size, host_ptr };
    return make(&r, errcode);
}

cl_mem gdx_cl_made_clCreateBufferWithProperties(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
                                                size_t size, void *host_ptr, cl_int *errcode)
{
    const struct gdx_cl_request r = { context, properties, true, flags, size, host_ptr };
    return make(&r, errcode);
}

cl_int gdx_cl_made_clGetMemObjectInfo(cl_mem mem, cl_mem_info what, size_t room, void *value, size_t *value_size)
{
    cl_int result = gdx_cl_next.clGetMemObjectInfo(mem, what, room, value, value_size);
    if (GDX_UNLIKELY(gdx_fence_edge()) && result == CL_SUCCESS && value) {
        gdx_cl_fence_tell(mem, what, value);
        gdx_cl_red_tell(mem, what, value);
    }
    return result;
}

/* ---- notes ---- */

void gdx_cl_fence_miss(const void *object, size_t size, const char *why)
{
    int saved = errno;
    gdx_fence_note_missing(WORD(object), size, why);
    errno = saved;
}

void gdx_cl_poison_miss(const void *object, size_t size, const char *why)
{
    int saved = errno;
    gdx_poison_note_missing(WORD(object), size, why);
    errno = saved;
}

/* Not in a callback: a device cannot be waited for there. */
void gdx_cl_look(void)
{
    gdx_cl_fence_check();
    gdx_cl_red_check(NULL);
}
