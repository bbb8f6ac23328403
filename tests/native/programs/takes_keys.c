/* A library that takes all keys for thread-specific data before the recorder starts. */
#include <pthread.h>

__attribute__((constructor)) static void take_all(void)
{
    pthread_key_t key;
    while (!pthread_key_create(&key, NULL))
        continue;
}
