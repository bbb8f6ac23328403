/* Threads that call from the destructors of their thread-local values, are cancelled inside calls, or end the process. */
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

int main(void)
{
    pthread_t thread;
    gpu_open();
    pthread_key_create(&key, last_call);
    for (int i = 0; i < 50; i++) {
        pthread_create(&thread, NULL, ends, &key);
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < 50; i++) {
        pthread_create(&thread, NULL, cancelled, NULL);
        usleep(1000);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    gpu_calls(3, 10);
    pthread_create(&thread, NULL, cancelled, NULL);
    usleep(1000);
    puts("done");
    return 0;
}
