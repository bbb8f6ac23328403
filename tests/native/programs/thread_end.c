/* Threads that call from the destructors of their thread-local values, are cancelled inside calls, or are still at it
 * when the process ends. */
#include "gpu.h"

#include <pthread.h>

static pthread_key_t key;

static void last_call(void *value)
{
    (void)value;
    gpu_calls(1, 1);
}

static void *ends(void *value)
{
    gpu_calls(0, 1);
    pthread_setspecific(key, value);
    return NULL;
}

static void *cancelled(void *unused)
{
    (void)unused;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        gpu_calls(2, 1000);
    return NULL;
}

static void start_and_end(void *(*body)(void *), int how_many, int cancel)
{
    for (int i = 0; i < how_many; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, body, &key);
        if (cancel) {
            usleep(40 * (unsigned)i);  /* also in the first calls, in which the recorder makes room */
            pthread_cancel(thread);
        }
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    gpu_open();
    pthread_key_create(&key, last_call);
    if (is(argc, argv, "destructors"))
        start_and_end(ends, 50, 0);
    if (is(argc, argv, "cancelled"))
        start_and_end(cancelled, 50, 1);
    gpu_calls(3, 10);
    if (is(argc, argv, "exit")) {
        pthread_t thread;
        pthread_create(&thread, NULL, cancelled, NULL);
        usleep(1000);
    }
    puts("done");
    return 0;
}
