/* Asking for a checked source (core/asking.h), over the socket whose path is in GPUDX_CHECKS: the question consists of texts that
 * each end with a zero byte. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/process.h"
#include "opencl/checks.h"

enum { TEXT = 16384 };

_Atomic int gdx_checks_setting = -1;
static char path[sizeof((struct sockaddr_un *)0)->sun_path];

int gdx_checks_read(void)
{
    if (!environ)
        return 0;  /* before the C library's own constructor; asked again later */
    const char *asked = gdx_directory() ? getenv("GPUDX_CHECKS") : NULL;
    bool fits = asked && *asked && strlen(asked) < sizeof path;
    if (fits && !*path)
        strcpy(path, asked);
    atomic_store(&gdx_checks_setting, fits);
    return fits;
}

static size_t asked(cl_device_id device, cl_device_info what, char *room, size_t bytes)
{
    size_t n = 0;
    if (gdx_cl_next.clGetDeviceInfo(device, what, bytes, room, &n) != CL_SUCCESS || !n || n > bytes || room[n - 1]) {
        room[0] = 0;
        return 1;
    }
    return strlen(room) + 1;
}

/* What the preprocessor has to know about the device. */
static size_t describe(cl_device_id device, char *room, size_t bytes)
{
    enum { OPENCL_C_VERSION = 0x103D };
    cl_uint bits = 64;
    size_t at = 0;
    gdx_cl_next.clGetDeviceInfo(device, CL_DEVICE_ADDRESS_BITS, sizeof bits, &bits, NULL);
    at += asked(device, OPENCL_C_VERSION, room + at, bytes - at);
    at += asked(device, CL_DEVICE_VERSION, room + at, bytes - at);
    at += asked(device, CL_DEVICE_VENDOR, room + at, bytes - at);
    at += asked(device, CL_DEVICE_EXTENSIONS, room + at, bytes - at);
    at += (size_t)snprintf(room + at, bytes - at, "%u", bits) + 1;
    if (!getcwd(room + at, bytes - at))
        room[at] = 0;
    return at + strlen(room + at) + 1;
}

bool gdx_cl_rewrite(cl_device_id device, const char *options, const char *source, size_t bytes, struct gdx_reply *reply,
                    char *why)
{
    char about[TEXT];
    struct gdx_text parts[] = { { options, strlen(options) + 1 }, { about, describe(device, about, sizeof about) }, { source, bytes } };
    return gdx_ask(path, parts, 3, reply, why);
}
