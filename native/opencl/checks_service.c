/* Asking the process that rewrites kernels (src/gpudx/lab/rewriting_service.py), over a socket whose path is in GPUDX_CHECKS.
 *
 * A question is a count of bytes, then texts that each end with a zero byte. The answer is a count of bytes, then "ok" or "no"
 * and lines, a zero byte, and the source. Whatever goes wrong, the program's own kernels run. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/process.h"
#include "opencl/checks.h"

enum { TEXT = 16384, REPLY_MOST = 64 << 20, PATIENCE_MS = 30000 };

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

static int connected(void)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(to.sun_path, path, sizeof path);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool ready(int fd, short events, uint64_t until)
{
    for (;;) {
        uint64_t now = gdx_clock_ns(CLOCK_MONOTONIC);
        struct pollfd one = { .fd = fd, .events = events };
        int n = now < until ? poll(&one, 1, (int)((until - now) / 1000000) + 1) : 0;
        if (n > 0)
            return true;
        if (n == 0 || errno != EINTR)
            return false;
    }
}

static bool send_all(int fd, const char *data, size_t bytes, uint64_t until)
{
    while (bytes) {
        ssize_t n = ready(fd, POLLOUT, until) ? send(fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) : -1;
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (n < 0 && gdx_clock_ns(CLOCK_MONOTONIC) >= until)
            return false;
        data += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool receive_all(int fd, char *data, size_t bytes, uint64_t until)
{
    while (bytes) {
        ssize_t n = ready(fd, POLLIN, until) ? recv(fd, data, bytes, MSG_DONTWAIT) : 0;
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
            return false;
        data += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
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

static bool ask(int fd, cl_device_id device, const char *options, const char *source, size_t bytes, uint64_t until)
{
    char device_text[TEXT];
    size_t n = describe(device, device_text, sizeof device_text), m = strlen(options) + 1;
    uint32_t total = (uint32_t)(m + n + bytes);
    return send_all(fd, (char *)&total, sizeof total, until) && send_all(fd, options, m, until)
        && send_all(fd, device_text, n, until) && send_all(fd, source, bytes, until);
}

static bool hear(int fd, struct gdx_cl_reply *reply, uint64_t until)
{
    uint32_t total = 0;
    if (!receive_all(fd, (char *)&total, sizeof total, until) || total < 4 || total > REPLY_MOST)
        return false;
    void *room = mmap(NULL, (size_t)total + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return false;
    *reply = (struct gdx_cl_reply){ .all = room, .bytes = (size_t)total + 1 };
    if (receive_all(fd, room, total, until))
        return true;
    gdx_cl_reply_free(reply);
    return false;
}

static bool understood(struct gdx_cl_reply *reply, char *why)
{
    size_t head = strlen(reply->all);
    if (strncmp(reply->all, "ok ", 3)) {
        snprintf(why, GDX_WHY, "%s", head > 3 ? reply->all + 3 : "it could not be read");
        return false;
    }
    reply->head = reply->all;
    reply->source = head + 1 < reply->bytes ? reply->all + head + 1 : "";
    reply->source_bytes = head + 1 < reply->bytes ? reply->bytes - head - 2 : 0;
    return reply->source_bytes > 0;
}

bool gdx_cl_rewrite(cl_device_id device, const char *options, const char *source, size_t bytes, struct gdx_cl_reply *reply,
                    char *why)
{
    uint64_t until = gdx_clock_ns(CLOCK_MONOTONIC) + PATIENCE_MS * 1000000ull;
    int fd = connected();
    *reply = (struct gdx_cl_reply){ 0 };
    snprintf(why, GDX_WHY, "%s", "the process that rewrites kernels did not answer");
    bool done = fd >= 0 && ask(fd, device, options, source, bytes, until) && hear(fd, reply, until);
    if (fd >= 0)
        close(fd);
    if (done && understood(reply, why))
        return true;
    gdx_cl_reply_free(reply);
    return false;
}

void gdx_cl_reply_free(struct gdx_cl_reply *reply)
{
    if (reply->all)
        munmap(reply->all, reply->bytes);
    *reply = (struct gdx_cl_reply){ 0 };
}
