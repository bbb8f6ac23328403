/* See scope.h. Only gpudx's own Python code calls these, by name (ctypes); without the recorder there are none. */
#include "core/scope.h"

#include <errno.h>
#include <stdatomic.h>

#include "core/recorder.h"
#include "core/stacks.h"

/* Not in the memory that is set aside for each thread (initial-exec): it is large, and few programs need it. `used`: only then is
 * there anything to look at. */
enum { ROOM = 512 };
static __thread char scope[ROOM];
static _Atomic bool used;

GDX_EXPORT void gpudx_scope(const char *text);
GDX_EXPORT void gpudx_number_launches(void *function);
GDX_EXPORT void gpudx_tell(const char *kind, const char *text);

const char *gdx_scope(void)
{
    return atomic_load_explicit(&used, memory_order_relaxed) ? scope : "";
}

static uint64_t (*_Atomic peek)(void);

uint64_t gdx_sequence(void)
{
    uint64_t (*ask)(void) = atomic_load_explicit(&peek, memory_order_acquire);
    return ask ? ask() : 0;
}

/* The function belongs to a library that is never unloaded, takes no lock and only reads a number of the thread's own. */
GDX_EXPORT void gpudx_number_launches(void *function)
{
    atomic_store_explicit(&peek, *(uint64_t (**)(void))&function, memory_order_release);
}

/* From now on, for this thread. */
GDX_EXPORT void gpudx_scope(const char *text)
{
    size_t bytes = text ? strnlen(text, ROOM - 1) : 0;
    memcpy(scope, text ? text : "", bytes);
    scope[bytes] = 0;
    atomic_store_explicit(&used, true, memory_order_relaxed);
}

/* Written at once, with the stack that it was told from. */
GDX_EXPORT void gpudx_tell(const char *kind, const char *text)
{
    struct gdx_open note;
    int saved = errno;
    if (kind && text && gdx_on() && gdx_begin(&note, GDX_CALL_note_told, NULL)) {
        gdx_put(&note, GDX_PART_text, kind, strnlen(kind, GDX_TEXT_MAX));
        gdx_put(&note, GDX_PART_text2, text, strnlen(text, GDX_TEXT_MAX));
        gdx_commit(&note);
        if (gdx_stacks_on)
            gdx_take_stack(&note);
        gdx_end_quiet(&note, 0);
    }
    errno = saved;
}
