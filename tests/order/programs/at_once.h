/* Two threads make calls that overlap: the only proof in a trace that nothing on the host orders them. The first makes
 * long calls, and the second comes a moment later, on any number of processors. */
#pragma once
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 8, MEETINGS = 4, MOST_ROUNDS = 400, LONG_BYTES = 32 << 20 };
static pthread_barrier_t both_here;
static int met;  /* rounds in which one call began and ended inside the other; written by the second thread between two barriers */
struct side { void (*call)(void); int late_us; struct timespec began, ended; };

static inline bool before(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec < other->tv_sec : one->tv_nsec < other->tv_nsec;
}

/* On a busy machine the second may come too late each time: they go on until they have met. More than once, since a thread may
 * have been stopped between our clock and its call. */
static inline void *rounds(void *given)
{
    struct side *side = given, *first = side->late_us ? side - 1 : NULL;
    for (int i = 0; i < ROUNDS || (met < MEETINGS && i < MOST_ROUNDS); i++) {
        pthread_barrier_wait(&both_here);
        usleep((useconds_t)side->late_us);
        clock_gettime(CLOCK_MONOTONIC, &side->began);
        side->call();
        clock_gettime(CLOCK_MONOTONIC, &side->ended);
        pthread_barrier_wait(&both_here);
        if (first && before(&first->began, &side->began) && before(&side->ended, &first->ended))
            met++;
        pthread_barrier_wait(&both_here);
    }
    return NULL;
}

static inline void at_once(void (*first)(void), void (*second)(void))
{
    struct side sides[] = { { .call = first }, { .call = second, .late_us = 1000 } };
    pthread_t threads[2];
    pthread_barrier_init(&both_here, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, rounds, &sides[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}
