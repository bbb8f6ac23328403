/* See asking.h. */
#define _GNU_SOURCE
#include "core/asking.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/sandbox.h"

enum { REPLY_MOST = 64 << 20, PATIENCE_MS = 30000 };

static int connected(const char *path)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int fd = gdx_is_shut_in() ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (strlen(path) < sizeof to.sun_path)
        strcpy(to.sun_path, path);
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

static bool hear(int fd, struct gdx_reply *reply, uint64_t until)
{
    uint32_t total = 0;
    if (!receive_all(fd, (char *)&total, sizeof total, until) || total < 4 || total > REPLY_MOST)
        return false;
    void *room = mmap(NULL, (size_t)total + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return false;
    *reply = (struct gdx_reply){ .all = room, .bytes = (size_t)total + 1 };
    if (receive_all(fd, room, total, until))
        return true;
    gdx_reply_free(reply);
    return false;
}

static bool understood(struct gdx_reply *reply, char *why)
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

static bool ask(int fd, const struct gdx_text *parts, unsigned count, uint64_t until)
{
    uint32_t total = 0;
    for (unsigned i = 0; i < count; i++)
        total += (uint32_t)parts[i].bytes;
    bool sent = send_all(fd, (char *)&total, sizeof total, until);
    for (unsigned i = 0; sent && i < count; i++)
        sent = send_all(fd, parts[i].data, parts[i].bytes, until);
    return sent;
}

bool gdx_ask(const char *path, const struct gdx_text *parts, unsigned count, struct gdx_reply *reply, char *why)
{
    uint64_t until = gdx_clock_ns(CLOCK_MONOTONIC) + PATIENCE_MS * 1000000ull;
    int fd = connected(path);
    *reply = (struct gdx_reply){ 0 };
    snprintf(why, GDX_WHY, "%s", "the process that rewrites kernels did not answer");
    bool done = fd >= 0 && ask(fd, parts, count, until) && hear(fd, reply, until);
    if (fd >= 0)
        close(fd);
    if (done && understood(reply, why))
        return true;
    gdx_reply_free(reply);
    return false;
}

void gdx_reply_free(struct gdx_reply *reply)
{
    if (reply->all)
        munmap(reply->all, reply->bytes);
    *reply = (struct gdx_reply){ 0 };
}
