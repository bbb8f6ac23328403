/* Counted objects of a made-up API, released by several threads while they are watched and looked at. Whoever asks an object
 * that is gone already is seen by AddressSanitizer; the pauses make sure that the others get their chance. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/watch.h"

enum { THREADS = 4, ROUNDS = 50, BYTES = 4096 };

struct object { _Atomic int references; };
static _Atomic int alive;

static struct object *object(const struct gdx_watched *one)
{
    return (struct object *)(uintptr_t)one->handle;
}

static void release(struct object *one)
{
    if (atomic_fetch_sub(&one->references, 1) == 1) {
        free(one);
        atomic_fetch_sub(&alive, 1);
    }
}

static bool idle(bool patient)
{
    (void)patient;
    return true;
}

static const unsigned char *content(const struct gdx_watched *one, uint64_t offset, size_t bytes, unsigned char *room)
{
    (void)one, (void)offset;
    return memset(room, 0, bytes);
}

static bool is_gone(const struct gdx_watched *one)
{
    usleep(200);
    return atomic_load(&object(one)->references) == 1;
}

static void let_go(const struct gdx_watched *one)
{
    release(object(one));
}

static const struct gdx_watch_ways ways = { idle, content, false, is_gone, let_go };

static void *makes_and_releases(void *nothing)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct object *one = malloc(sizeof *one);
        atomic_init(&one->references, 2);  /* the program's, and ours */
        atomic_fetch_add(&alive, 1);
        struct gdx_watched watched = { .handle = (uint64_t)(uintptr_t)one, .bytes = BYTES };
        if (gdx_watch_add(&ways, &watched, true))
            abort();
        gdx_watch_look(&ways, false);
        release(one);
        gdx_watch_drop_if_gone(&ways, watched.handle);
    }
    return nothing;
}

int main(void)
{
    pthread_t threads[THREADS];
    if (!gdx_watching())
        return 2;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, makes_and_releases, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    gdx_watch_look(&ways, true);
    printf("%d\n", atomic_load(&alive));
    return 0;
}
