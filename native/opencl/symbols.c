/* The other way in, for loaders without layers: the OpenCL functions themselves as symbols of a preloaded library.
 *
 * A library of its own (libgpudx-opencl.so, same code as libgpudx.so plus these symbols), because exported cl* names
 * can collide with a program's own; it is preloaded only where the loader has no layers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sched.h>

#include "opencl/hooks.h"

static _Atomic int ready;
static atomic_flag resolving = ATOMIC_FLAG_INIT;
static char self;

static bool ours(const void *at)
{
    Dl_info theirs, mine;
    return dladdr(at, &theirs) && dladdr(&self, &mine) && theirs.dli_fbase == mine.dli_fbase;
}

/* The real function as the caller would have got it: what the caller's own libraries provide (a Python extension may
 * bring its own loader, invisible to the global scope), else the next one after us. */
static void *resolve(struct link_map *caller, const char *name)
{
    void *at = caller && caller->l_name && *caller->l_name ? dlsym(caller, name) : NULL;
    if (!at || ours(at))
        at = dlsym(RTLD_NEXT, name);
    return at && !ours(at) ? at : NULL;
}

static struct link_map *object_of(void *caller)
{
    Dl_info info;
    struct link_map *map = NULL;
    return dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

static struct cl_dispatch table;

static void resolve_all(void *caller)
{
    struct link_map *map = object_of(caller);
    void *const *recording = (void *const *)&gdx_cl_recording;
    for (const struct gdx_cl_name *n = gdx_cl_names; n->name; n++) {
        void *real = resolve(map, n->name);
        *(void **)((char *)&gdx_cl_next + n->offset) = real;
        *(void **)((char *)&table + n->offset) = real ? recording[n->offset / sizeof(void *)] : NULL;
    }
    gdx_entered(GDX_ENTRY_CL_SYMBOLS);
}

const struct cl_dispatch *gdx_cl_entry(void *caller)
{
    if (GDX_UNLIKELY(!atomic_load_explicit(&ready, memory_order_acquire))) {
        while (atomic_flag_test_and_set(&resolving))
            sched_yield();
        if (!atomic_load(&ready))
            resolve_all(caller);
        atomic_store(&ready, 1);
        atomic_flag_clear(&resolving);
    }
    return &table;
}
