/* Streams: a thread each, which does one thing after the other. One lock for all: this is a simulator. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim.h"

struct sim_op {
    struct sim_op *next;
    sim_work *work;
    struct { hipStream_t stream; uint64_t number; } after[16];  /* what it waits for */
    int count;
    char data[];
};
struct ihipStream_t {
    struct ihipStream_t *next;
    int device;
    unsigned flags;
    struct sim_traits traits;
    uint64_t submitted, done;
    struct sim_op *first, *last;
    bool ended;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct ihipStream_t *streams;                   /* all but the default ones; none is ever taken out */
static struct ihipStream_t *defaults[SIM_DEVICES];
static _Thread_local struct ihipStream_t *own[SIM_DEVICES];

static bool ready(const struct sim_op *op)
{
    for (int i = 0; i < op->count; i++)
        if (op->after[i].stream->done < op->after[i].number)
            return false;
    return true;
}

static void be_slow(void)
{
    long delay = 0;
    if (sim_number("GPUDX_HIP_SIM_DELAY_MS", &delay) && delay > 0)
        nanosleep(&(struct timespec){ delay / 1000, delay % 1000 * 1000000 }, NULL);
}

static void do_one(struct ihipStream_t *stream, bool was_idle)
{
    struct sim_op *op = stream->first;
    while (!ready(op))
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    if (was_idle)
        be_slow();
    if (op->work && !atomic_load(&sim_fault))
        sim_guarded(op->work, op->data);
    pthread_mutex_lock(&lock);
    stream->first = op->next;
    stream->done++;
    free(op);
    pthread_cond_broadcast(&changed);
}

static void *serve(void *stream_)
{
    struct ihipStream_t *stream = stream_;
    pthread_mutex_lock(&lock);
    for (bool idle = true;; idle = false) {
        for (; !stream->first && !stream->ended; idle = true)
            pthread_cond_wait(&changed, &lock);
        if (!stream->first)
            break;
        do_one(stream, idle);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static struct ihipStream_t *start(int device, unsigned flags)
{
    struct ihipStream_t *stream = calloc(1, sizeof *stream);
    pthread_t thread;
    stream->device = device;
    stream->flags = flags;
    pthread_create(&thread, NULL, serve, stream);
    pthread_detach(thread);
    return stream;
}

hipStream_t sim_new_stream(unsigned flags)
{
    pthread_mutex_lock(&lock);
    struct ihipStream_t *stream = start(sim_device, flags);
    stream->next = streams;
    streams = stream;
    pthread_mutex_unlock(&lock);
    return stream;
}

hipStream_t sim_stream(hipStream_t given, bool own_thread)
{
    if (given && given != hipStreamPerThread)
        return given;
    if (own_thread || given) {
        if (!own[sim_device])
            own[sim_device] = sim_new_stream(hipStreamDefault);
        return own[sim_device];
    }
    pthread_mutex_lock(&lock);
    if (!defaults[sim_device])
        defaults[sim_device] = start(sim_device, hipStreamDefault);
    pthread_mutex_unlock(&lock);
    return defaults[sim_device];
}

bool sim_is_stream(hipStream_t stream)
{
    bool found = !stream || stream == hipStreamPerThread;
    pthread_mutex_lock(&lock);
    for (struct ihipStream_t *s = streams; s && !found; s = s->next)
        found = s == stream && !s->ended;
    pthread_mutex_unlock(&lock);
    return found;
}

struct sim_traits *sim_traits(hipStream_t stream)
{
    return &stream->traits;
}

int sim_stream_device(hipStream_t stream)
{
    return stream->device;
}

/* ---- work ---- */

static void wait_for(struct sim_op *op, struct ihipStream_t *other)
{
    if (!other || other->done == other->submitted || op->count == (int)(sizeof op->after / sizeof *op->after))
        return;
    op->after[op->count].stream = other;
    op->after[op->count++].number = other->submitted;
}

/* HIP runtime API, "Stream Management": the default stream and blocking streams of a device wait for each other. */
static void wait_for_others(struct sim_op *op, struct ihipStream_t *stream)
{
    struct ihipStream_t *common = defaults[stream->device];
    if (stream != common) {
        if (!(stream->flags & hipStreamNonBlocking))
            wait_for(op, common);
        return;
    }
    for (struct ihipStream_t *s = streams; s; s = s->next)
        if (s->device == stream->device && !(s->flags & hipStreamNonBlocking))
            wait_for(op, s);
}

static uint64_t add(struct ihipStream_t *stream, struct sim_op *op)
{
    if (stream->first)
        stream->last->next = op;
    else
        stream->first = op;
    stream->last = op;
    pthread_cond_broadcast(&changed);
    return ++stream->submitted;
}

uint64_t sim_submit(hipStream_t stream, sim_work *work, const void *data, size_t bytes)
{
    struct sim_op *op = calloc(1, sizeof *op + bytes);
    op->work = work;
    if (bytes)
        memcpy(op->data, data, bytes);
    pthread_mutex_lock(&lock);
    wait_for_others(op, stream);
    uint64_t number = add(stream, op);
    pthread_mutex_unlock(&lock);
    return number;
}

void sim_submit_after(hipStream_t stream, hipStream_t other, uint64_t number)
{
    struct sim_op *op = calloc(1, sizeof *op);
    op->after[0].stream = other;
    op->after[0].number = number;
    op->count = 1;
    pthread_mutex_lock(&lock);
    add(stream, op);
    pthread_mutex_unlock(&lock);
}

void sim_wait(hipStream_t stream, uint64_t number)
{
    pthread_mutex_lock(&lock);
    while (stream->done < number)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

bool sim_done(hipStream_t stream, uint64_t number)
{
    pthread_mutex_lock(&lock);
    bool done = stream->done >= number;
    pthread_mutex_unlock(&lock);
    return done;
}

uint64_t sim_last(hipStream_t stream)
{
    pthread_mutex_lock(&lock);
    uint64_t last = stream->submitted;
    pthread_mutex_unlock(&lock);
    return last;
}

void sim_wait_all(int device)
{
    pthread_mutex_lock(&lock);
    for (struct ihipStream_t *s = streams; s; s = s->next)
        while (s->device == device && s->done < s->submitted)
            pthread_cond_wait(&changed, &lock);
    while (defaults[device] && defaults[device]->done < defaults[device]->submitted)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

void sim_end_stream(hipStream_t stream)
{
    pthread_mutex_lock(&lock);
    stream->ended = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}
