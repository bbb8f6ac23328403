/* The other way in, for loaders without layers: the OpenCL functions themselves as symbols of a preloaded library.
 *
 * A library of its own (libgpudx-opencl.so, same code as libgpudx.so plus these symbols), because exported cl* names
 * can collide with a program's own; it is preloaded only where the loader has no layers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "opencl/own.h"
#include "opencl/hooks.h"

static _Atomic int ready, installing;
static char self;
static struct cl_dispatch table;

static bool ours(const void *at)
{
    Dl_info theirs, mine;
    return dladdr(at, &theirs) && dladdr(&self, &mine) && theirs.dli_fbase == mine.dli_fbase;
}

/* The real function as the caller would have got it: what the caller's own libraries provide (a Python extension may
 * bring its own loader, invisible to the global scope), else the next one after us. */
static void *resolve(void *caller, const char *name)
{
    void *at = caller ? dlsym(caller, name) : NULL;
    if (!at || ours(at))
        at = dlsym(RTLD_NEXT, name);
    return at && !ours(at) ? at : NULL;
}

/* A handle of the library that makes the call, NULL if it is the program itself. Its link map will not do: for objects
 * that were loaded at the start, dlsym works only with what dlopen returns (glibc sets up their scope there). */
static void *object_of(void *caller)
{
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) || !map->l_name || !*map->l_name)
        return NULL;
    return dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
}

static void resolve_all(void *caller, struct cl_dispatch *real)
{
    void *object = object_of(caller);
    for (const struct gdx_cl_name *n = gdx_cl_names; n->name; n++)
        *(void **)((char *)real + n->offset) = resolve(object, n->name);
    if (object)
        dlclose(object);
}

/* Ours where there is a real one. A handler that calls in the middle of this would wait for itself, so none may. */
static void install(const struct cl_dispatch *real, bool record)
{
    void *const *recording = (void *const *)&gdx_cl_recording, *const *theirs = (void *const *)real;
    void **next = (void **)&gdx_cl_next, **out = (void **)&table;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!atomic_exchange(&installing, 1)) {
        for (size_t i = 0; i < CL_DISPATCH_ENTRIES; i++) {
            next[i] = theirs[i];
            out[i] = theirs[i] && record ? recording[i] : theirs[i];
        }
        atomic_store(&ready, 1);
    }
    for (unsigned tries = 0; !atomic_load(&ready); tries++)
        gdx_wait(tries);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* No lock is held while symbols are looked up: the loader has one of its own, and whoever holds that (a constructor
 * run by dlopen) may call us. Threads that come at the same time look up twice; the first to finish decides. */
const struct cl_dispatch *gdx_cl_entry(void *caller)
{
    if (GDX_UNLIKELY(!atomic_load_explicit(&ready, memory_order_acquire))) {
        int saved = errno;
        struct cl_dispatch real = { 0 };
        resolve_all(caller, &real);
        install(&real, !gdx_cl_is_beneath_hip());  /* see layer.c */
        gdx_entered(GDX_ENTRY_CL_SYMBOLS);
        errno = saved;
    }
    return &table;
}
