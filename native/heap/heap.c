/* The program's heap as a log: which block was allocated and freed, when, and from where. A library of its own, preloaded only into runs
 * of the experiment host-heap, because it stands in front of malloc. Blocks stay where the C library puts them; only the log is new.
 *
 * The log is a shared file of fixed size in GPUDX_DIR, "heap-PID": entries of 40 bytes, in no strict order (ticks say when). It ends at
 * the first entry without ticks, or when it is full. Small blocks are left out: compilers make millions of them. */
#define _GNU_SOURCE
#include <errno.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/clock.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

enum { ALLOCATED = 1, FREED = 2, SMALLEST = 64 };
enum { ENTRIES = 3 << 20 };

struct entry { uint64_t ticks, address, size, caller, what; };

bool gdx_use_ticks;
static struct entry *_Atomic entries;  /* NULL: nothing is logged */
static _Atomic uint32_t used;

/* glibc's own functions, which its malloc.h does not declare: what is behind malloc where nobody replaces it. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

static void note(uint64_t what, const void *block, size_t size, const void *caller)
{
    struct entry *log = atomic_load_explicit(&entries, memory_order_acquire);
    if (!log || !block || size < SMALLEST)
        return;
    uint32_t at = atomic_fetch_add_explicit(&used, 1, memory_order_relaxed);
    if (at >= ENTRIES) {
        atomic_store(&entries, NULL);
        return;
    }
    log[at] = (struct entry){ 0, (uintptr_t)block, size, (uintptr_t)caller, what };
    log[at].ticks = gdx_ticks();
}

static void note_free(void *block, const void *caller)
{
    if (block && atomic_load_explicit(&entries, memory_order_relaxed))
        note(FREED, block, malloc_usable_size(block), caller);
}

static void forget(void)  /* a child of fork has a record of its own only after exec */
{
    atomic_store(&entries, NULL);
}

__attribute__((constructor)) static void begin(void)
{
    int saved = errno;
    const char *folder = getenv("GPUDX_DIR");
    char path[1024];
    gdx_use_ticks = gdx_constant_ticks();
    if (!folder || snprintf(path, sizeof path, "%s/heap-%d", folder, (int)getpid()) >= (int)sizeof path)
        return;
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0) {
        size_t bytes = (size_t)ENTRIES * sizeof(struct entry);
        void *log = ftruncate(file, (off_t)bytes) == 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
        close(file);
        if (log != MAP_FAILED && pthread_atfork(NULL, NULL, forget) == 0)
            atomic_store_explicit(&entries, log, memory_order_release);
    }
    errno = saved;
}

EXPORT void *malloc(size_t size)
{
    void *block = __libc_malloc(size);
    note(ALLOCATED, block, size, CALLER);
    return block;
}

EXPORT void *calloc(size_t count, size_t size)
{
    void *block = __libc_calloc(count, size);
    note(ALLOCATED, block, count * size, CALLER);
    return block;
}

EXPORT void free(void *block)
{
    note_free(block, CALLER);
    __libc_free(block);
}

/* A block that grows in place is the same block; one that moves is freed, in the log before its address can be given to others. */
static void *moved(void *old, size_t size, const void *caller)
{
    size_t before = old ? malloc_usable_size(old) : 0;
    void *block = __libc_realloc(old, size);
    if (old && (block != old) && (block || !size))
        note(FREED, old, before, caller);
    note(ALLOCATED, block, size, caller);
    return block;
}

EXPORT void *realloc(void *old, size_t size)
{
    return moved(old, size, CALLER);
}

EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return moved(old, bytes, CALLER);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    void *block = __libc_memalign(alignment, size);
    note(ALLOCATED, block, size, CALLER);
    return block;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    void *block = __libc_memalign(alignment, size);
    note(ALLOCATED, block, size, CALLER);
    return block;
}

EXPORT int posix_memalign(void **into, size_t alignment, size_t size)
{
    if (alignment % sizeof(void *) || (alignment & (alignment - 1)) || !alignment)
        return EINVAL;
    int saved = errno;
    void *block = __libc_memalign(alignment, size);
    errno = saved;
    if (!block)
        return ENOMEM;
    note(ALLOCATED, block, size, CALLER);
    *into = block;
    return 0;
}

/* operator new and delete, so that the caller is the program's and not libstdc++'s. Where there is no memory, the real one throws. */
static void *made(size_t size, const char *real, const void *caller)
{
    void *block = __libc_malloc(size ? size : 1);
    if (!block) {
        void *(*next)(size_t) = (void *(*)(size_t))dlsym(RTLD_NEXT, real);
        return next ? next(size) : NULL;
    }
    note(ALLOCATED, block, size, caller);
    return block;
}

EXPORT void *_Znwm(size_t size) { return made(size, "_Znwm", CALLER); }
EXPORT void *_Znam(size_t size) { return made(size, "_Znam", CALLER); }

static void given_back(void *block, const void *caller)
{
    note_free(block, caller);
    __libc_free(block);
}

EXPORT void _ZdlPv(void *block) { given_back(block, CALLER); }
EXPORT void _ZdaPv(void *block) { given_back(block, CALLER); }
EXPORT void _ZdlPvm(void *block, size_t size) { (void)size; given_back(block, CALLER); }
EXPORT void _ZdaPvm(void *block, size_t size) { (void)size; given_back(block, CALLER); }
