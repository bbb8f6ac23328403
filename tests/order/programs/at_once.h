/* Two threads make calls that overlap: the only proof in a trace that nothing on the host orders them. The first makes
 * long calls, and the second comes a moment later, on any number of processors. */
#pragma once
#include <pthread.h>
#include <unistd.h>

enum { ROUNDS = 8, LONG_BYTES = 32 << 20 };
static pthread_barrier_t both_here;
struct side { void (*call)(void); int late_us; };

static inline void *rounds(void *given)
{
    const struct side *side = given;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&both_here);
        usleep((useconds_t)side->late_us);
        side->call();
    }
    return NULL;
}

static inline void at_once(void (*first)(void), void (*second)(void))
{
    struct side sides[] = { { first, 0 }, { second, 1000 } };
    pthread_t threads[2];
    pthread_barrier_init(&both_here, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, rounds, &sides[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}
