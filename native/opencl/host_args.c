/* Host memory behind the arguments of launches (host_args.h). */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/sources.h"
#include "opencl/host_args.h"

enum { PLACES = 256, ARGUMENTS = 64 };
static struct { uint64_t object, address, size; } places[PLACES];  /* with the lock held; the oldest goes */
static unsigned next_place;
_Atomic int gdx_host_args_setting = -1;
#define WORD(x) ((uint64_t)(uintptr_t)(x))

int gdx_host_args_read(void)
{
    if (!environ)
        return 0;  /* before the C library's own constructor; asked again later */
    const char *asked = gdx_directory() ? getenv("GPUDX_HOST_ARGS") : NULL;
    atomic_store(&gdx_host_args_setting, asked && *asked == '1');
    return asked && *asked == '1';
}

void gdx_cl_host_memory(const void *object, const void *address, size_t size)
{
    struct gdx_calm calm;
    if (!object || !address || !size)
        return;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    unsigned at = 0;
    while (at < PLACES && places[at].object != WORD(object))
        at++;
    at = at < PLACES ? at : next_place++ % PLACES;
    places[at].object = WORD(object);
    places[at].address = WORD(address);
    places[at].size = size;
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
}

static uint64_t find(uint64_t object, uint64_t *size)
{
    struct gdx_calm calm;
    uint64_t address = 0;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    for (unsigned i = 0; object && i < PLACES && !address; i++)
        if (places[i].object == object) {
            address = places[i].address;
            *size = places[i].size;
        }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    return address;
}

void gdx_cl_host_launched(cl_kernel kernel)
{
    struct gdx_argument argument;
    for (cl_uint i = 0; i < ARGUMENTS; i++) {
        uint64_t size = 0;
        bool word = gdx_cl_argument_at(kernel, i, &argument) && argument.size == sizeof argument.value;
        uint64_t address = word ? find(argument.value, &size) : 0;
        if (address)
            gdx_source_given((const void *)(uintptr_t)address, size);
    }
}
