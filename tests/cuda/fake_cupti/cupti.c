/* Stands in for libcupti: one subscriber, called back at the begin and the end of each "runtime call" of a test program. */
#include <stdint.h>
#include <stddef.h>

#define API __attribute__((visibility("default")))

struct callback {
    int site;
    const char *function;
    const void *parameters;
    const int *result;
    const char *kernel;
    void *context;
    uint32_t context_number;
    uint64_t *kept;
    uint32_t number;
};

typedef void callback_function(void *data, int domain, uint32_t call, const void *info);

static callback_function *subscribed;
static int enabled;

API int cuptiSubscribe(void **subscriber, callback_function *function, void *data)
{
    (void)data;
    *subscriber = &subscribed;
    subscribed = function;
    return 0;
}

API int cuptiEnableDomain(uint32_t on, void *subscriber, int domain)
{
    enabled = on && subscriber == &subscribed && domain == 2;
    return 0;
}

API void fake_runtime_call(const char *function, const void *parameters, int result, const char *kernel)
{
    uint64_t kept = 0;
    struct callback info = { 0, function, parameters, NULL, kernel, NULL, 1, &kept, 1 };
    if (!enabled)
        return;
    subscribed(NULL, 2, 1, &info);
    info.site = 1;
    info.result = &result;
    subscribed(NULL, 2, 1, &info);
}
