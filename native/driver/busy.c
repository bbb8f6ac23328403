/* See busy.h. */
#define _GNU_SOURCE
#include "driver/busy.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "core/watch.h"

static uint32_t own_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static bool is_same(const struct gdx_streams *streams, const struct gdx_busy *one, const struct gdx_busy *like)
{
    bool at_home = one->home == like->home || (streams->by_handle && like->queue > GDX_OWN_STREAM + 1);
    return at_home && one->queue == like->queue && one->tid == like->tid && !one->last;
}

static struct gdx_busy *place_of(struct gdx_streams *streams, const struct gdx_busy *like)
{
    struct gdx_busy *room = NULL;
    for (int i = 0; i < GDX_STREAMS; i++) {
        struct gdx_busy *one = &streams->all[i];
        if (is_same(streams, one, like))
            return one;
        if (!room && !one->queue)
            room = one;
    }
    if (room)
        *room = *like;
    return room;
}

void gdx_stream_given(struct gdx_streams *streams, uint64_t home, uint64_t queue)
{
    struct gdx_calm calm;
    struct gdx_busy like = { .home = home, .queue = queue + 1, .tid = queue == GDX_OWN_STREAM ? own_tid() : 0 };
    gdx_lock(GDX_LOCK_WATCH, &calm);
    struct gdx_busy *place = place_of(streams, &like);
    if (place)
        place->given++;
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    if (!place)
        gdx_watch_stop("the program has more streams than are followed");
}

/* ---- streams that go ---- */

/* Where the stream still works, its home; else 0. */
static uint64_t working(struct gdx_streams *streams, uint64_t queue)
{
    struct gdx_calm calm;
    uint64_t home = 0;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    for (int i = 0; i < GDX_STREAMS; i++)
        if (streams->all[i].queue == queue && streams->all[i].given != streams->all[i].done)
            home = streams->all[i].home;
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    return home;
}

/* What a stream that goes has still to do is known by an event. */
void gdx_stream_leaves(struct gdx_streams *streams, void *queue)
{
    struct gdx_calm calm;
    uint64_t number = (uint64_t)(uintptr_t)queue + 1, home = working(streams, number);
    void *last = home ? streams->mark(home, queue) : NULL;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    for (int i = 0; i < GDX_STREAMS; i++) {
        struct gdx_busy *one = &streams->all[i];
        if (one->queue == number && !one->last)
            *one = last ? (struct gdx_busy){ one->home, number, 0, last, 1, 0 } : (struct gdx_busy){ 0 };
    }
    gdx_unlock(GDX_LOCK_WATCH, &calm);
}

void gdx_streams_forget(struct gdx_streams *streams, uint64_t home)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    for (int i = 0; i < GDX_STREAMS; i++)
        if (!home || streams->all[i].home == home)
            streams->all[i] = (struct gdx_busy){ 0 };
    gdx_unlock(GDX_LOCK_WATCH, &calm);
}

/* ---- asking ---- */

/* Another thread's own default stream cannot be asked from here: that thread's next wait settles it. */
static enum gdx_answer ask(const struct gdx_streams *streams, const struct gdx_busy *one)
{
    return one->tid && one->tid != own_tid() ? GDX_NOT_YET : streams->ask(one);
}

static void is_done(struct gdx_streams *streams, int i, const struct gdx_busy *was)
{
    struct gdx_calm calm;
    struct gdx_busy *one = &streams->all[i];
    gdx_lock(GDX_LOCK_WATCH, &calm);
    if (one->queue == was->queue && one->last == was->last) {
        one->done = was->given;
        if (was->last)
            *one = (struct gdx_busy){ 0 };
    }
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    if (was->last)
        streams->unmark(was->last);
}

static bool is_idle(struct gdx_streams *streams, int i, bool patient)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_WATCH, &calm);
    struct gdx_busy was = streams->all[i];
    gdx_unlock(GDX_LOCK_WATCH, &calm);
    if (!was.queue || was.given == was.done)
        return true;
    enum gdx_answer answer = ask(streams, &was);
    for (unsigned tries = 0; answer == GDX_NOT_YET && patient && !streams->hasty && tries < GDX_WATCH_PATIENCE; tries++) {
        gdx_wait(tries);
        answer = ask(streams, &was);
    }
    if (answer == GDX_DONE)
        is_done(streams, i, &was);
    else if (answer == GDX_BROKEN)
        gdx_watch_stop("a stream reported an error");
    streams->hasty |= patient && answer == GDX_NOT_YET;
    return answer == GDX_DONE;
}

bool gdx_streams_idle(struct gdx_streams *streams, bool patient)
{
    bool idle = true;
    for (int i = 0; i < GDX_STREAMS && idle; i++)
        idle = is_idle(streams, i, patient);
    return idle;
}
