/* See scope.h. Only gpudx's own Python code calls these, by name (ctypes); without the recorder there are none. */
#include "core/scope.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "core/recorder.h"
#include "core/stacks.h"

/* In a page of the thread's own, found by a key: the memory that is set aside for each thread is small, and few programs need this. */
enum { ROOM = 512 };
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic bool ready;

static void go(void *page)
{
    munmap(page, ROOM);
}

static void make_key(void)
{
    atomic_store(&ready, pthread_key_create(&key, go) == 0);
}

/* The thread's page; NULL: there is none to be had. */
static char *page_of_thread(void)
{
    pthread_once(&once, make_key);
    char *page = atomic_load(&ready) ? pthread_getspecific(key) : NULL;
    if (page || !atomic_load(&ready))
        return page;
    page = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    if (pthread_setspecific(key, page)) {
        munmap(page, ROOM);
        return NULL;
    }
    return page;
}

GDX_EXPORT void gpudx_scope(const char *text);
GDX_EXPORT void gpudx_number_launches(void *function);
GDX_EXPORT void gpudx_tell(const char *kind, const char *text);

const char *gdx_scope(void)
{
    const char *page = atomic_load(&ready) ? pthread_getspecific(key) : NULL;
    return page ? page : "";
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
    int saved = errno;
    size_t bytes = text ? strnlen(text, ROOM - 1) : 0;
    char *page = page_of_thread();
    if (page) {
        memcpy(page, text ? text : "", bytes);
        page[bytes] = 0;
    }
    errno = saved;
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
        if (gdx_stacks == GDX_STACKS_ALL)
            gdx_take_stack(&note);
        gdx_end_quiet(&note, 0);
    }
    errno = saved;
}
