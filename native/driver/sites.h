/* Experiments at named calls (core/sites.h) for CUDA and HIP: a host function that sleeps stands in the stream before work that is
 * held, an event of ours behind the first call's work and a wait for it before the second's. None of it is recorded as a call, and
 * none is done while a stream is being captured. */
#pragma once

#include "core/sites.h"

/* What an API does for it. Streams and events are its own handles, as words; 0: no event. */
struct gdx_site_api {
    bool (*captures)(void);                            /* is a stream being captured? */
    bool (*hold)(uint64_t queue, void (*function)(void *));
    uint64_t (*new_event)(void);
    bool (*record)(uint64_t event, uint64_t queue);
    bool (*wait)(uint64_t queue, uint64_t event);
};

/* Before a call: what is done at it, for gdx_site_left. */
unsigned gdx_site_reached(const struct gdx_site_api *api, const char *name, uint64_t queue);
void gdx_site_left(const struct gdx_site_api *api, unsigned at, uint64_t queue, bool succeeded);
