/* Calls of two threads, one after the other, where the recorder got no key for thread-specific data. */
#include "gpu.h"

#include <pthread.h>

static void *calls(void *unused)
{
    gpu_calls(0, 100);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_key_t key;
    gpu_open();
    for (int i = 0; i < 20; i++) {
        pthread_create(&thread, NULL, calls, NULL);
        pthread_join(thread, NULL);
    }
    calls(NULL);
    printf("keys %d\n", pthread_key_create(&key, NULL) == 0);
    return 0;
}
