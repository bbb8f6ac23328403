/* See capture.h. */
#define _GNU_SOURCE
#include "core/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/process.h"
#include "core/sandbox.h"

enum { NAME = 1024, PATH = 900, NAMES = 1 << 12 };
static char wanted[NAME], folder[PATH];
static uint64_t wanted_number = 1, limit = 1ull << 30;
static unsigned every = 1;
static uint64_t from = 1, until = UINT64_MAX;
_Atomic int gdx_capture_setting = -1;

/* "KERNEL" or "KERNEL#N" */
static bool read_wanted(const char *text)
{
    const char *mark = text ? strrchr(text, '#') : NULL;
    size_t length = text ? (mark ? (size_t)(mark - text) : strlen(text)) : 0;
    if (!length || length >= sizeof wanted)
        return false;
    memcpy(wanted, text, length);
    if (mark)
        wanted_number = strtoull(mark + 1, NULL, 10);
    return true;
}

int gdx_capture_read(void)
{
    int setting = 0;
    if (!environ)
        return 0;  /* there is none before the C library's own constructor has run */
    const char *where = getenv("GPUDX_CAPTURE_DIR"), *most = getenv("GPUDX_CAPTURE_LIMIT"), *nan = getenv("GPUDX_NAN");
    if (gdx_directory() && where && strlen(where) < sizeof folder) {
        setting |= read_wanted(getenv("GPUDX_CAPTURE")) ? GDX_CAPTURE_LAUNCH : 0;
        setting |= nan && *nan ? GDX_CAPTURE_NAN : 0;
        setting |= getenv("GPUDX_VALUES") ? GDX_CAPTURE_VALUES : 0;
        if (nan && sscanf(nan, "%u@%" SCNu64 "-%" SCNu64, &every, &from, &until) < 1)
            every = 1;
        limit = most && *most ? strtoull(most, NULL, 10) : limit;
        memmove(folder, where, strlen(where) + 1);
    }
    atomic_store(&gdx_capture_setting, setting);
    return setting;
}

/* ---- how often each kernel was launched, by its name ---- */

static struct { _Atomic uint64_t hash, count; } launches[NAMES];
static _Atomic uint64_t counted;

uint64_t gdx_hash_text(const char *text)
{
    uint64_t h = 14695981039346656037ull;  /* FNV-1a */
    while (*text)
        h = (h ^ (unsigned char)*text++) * 1099511628211ull;
    return h ? h : 1;
}

static uint64_t count_launch(const char *kernel)
{
    uint64_t hash = gdx_hash_text(kernel);
    for (size_t i = 0, at = hash % NAMES; i < NAMES; i++, at = (at + 1) % NAMES) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&launches[at].hash, &none, hash) || none == hash)
            return atomic_fetch_add(&launches[at].count, 1) + 1;
    }
    return 0;
}

uint64_t gdx_count_launch(const char *kernel, uint64_t *of_kernel)
{
    *of_kernel = count_launch(kernel);
    return atomic_fetch_add(&counted, 1) + 1;
}

uint64_t gdx_launches_counted(void)
{
    return atomic_load(&counted);
}

unsigned gdx_nan_every(void)
{
    return every;
}

bool gdx_nan_here(uint64_t launch)
{
    return launch >= from && launch <= until && launch % (every ? every : 1) == 0;
}

/* A C++ name is found in its mangled form, in which its length stands before it: _Z5saxpyifPf. */
static bool is_named(const char *name)
{
    char part[NAME + 32];
    if (!strcmp(name, wanted))
        return true;
    snprintf(part, sizeof part, "%zu%s", strlen(wanted), wanted);
    return !strncmp(name, "_Z", 2) && strstr(name, part);
}

bool gdx_capture_wants(const char *name, uint64_t *number)
{
    static _Atomic uint64_t seen;
    if (!(gdx_capturing() & GDX_CAPTURE_LAUNCH) || !is_named(name))
        return false;
    *number = atomic_fetch_add(&seen, 1) + 1;
    return *number == wanted_number;
}

static int new_file(const char *what)
{
    char path[PATH + 64];
    snprintf(path, sizeof path, "%s/%s-%d.raw", folder, what, (int)getpid());
    return gdx_is_shut_in() ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

bool gdx_capture_open(struct gdx_capture *to, uint32_t api, uint64_t number, const char *name)
{
    *to = (struct gdx_capture){ new_file("launch"), limit };
    if (to->fd >= 0)
        gdx_capture_put(to, GDX_CAPTURE_BEGIN, api, number, 0, name, strlen(name));
    return to->fd >= 0;
}

static bool write_all(int fd, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes) {
        ssize_t n = write(fd, at, bytes);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* What cannot be written ends the capture: the file is then cut off, and its reader says so. */
void gdx_capture_put(struct gdx_capture *to, enum gdx_capture_kind kind, uint64_t a, uint64_t b, uint64_t c, const void *data, size_t bytes)
{
    struct { char magic[4]; uint32_t kind; uint64_t a, b, c, bytes; } head = { "gdxc", kind, a, b, c, bytes };
    if (to->fd < 0)
        return;
    off_t now = lseek(to->fd, 0, SEEK_END);
    bool may = now >= 0 && gdx_may_write((uint64_t)now + sizeof head + bytes);
    if (!may || !write_all(to->fd, &head, sizeof head) || !write_all(to->fd, data, bytes))
        gdx_capture_close(to);
}

void gdx_capture_text(struct gdx_capture *to, enum gdx_capture_kind kind, uint64_t a, const char *text)
{
    gdx_capture_put(to, kind, a, 0, 0, text, strlen(text));
}

static bool all_zero(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    return !bytes || (!at[0] && !memcmp(at, at + 1, bytes - 1));
}

void gdx_capture_piece(struct gdx_capture *to, enum gdx_capture_kind kind, uint64_t buffer, uint64_t offset, const void *data, size_t bytes)
{
    if (!all_zero(data, bytes))
        gdx_capture_put(to, kind, buffer, offset, 0, data, bytes);
}

bool gdx_capture_room(struct gdx_capture *to, uint64_t bytes)
{
    if (bytes <= to->left) {
        to->left -= bytes;
        return true;
    }
    gdx_capture_text(to, GDX_CAPTURE_REFUSED, 0, "the launch reaches more memory than --capture-limit allows");
    return false;
}

void gdx_capture_close(struct gdx_capture *to)
{
    if (to->fd >= 0)
        close(to->fd);
    to->fd = -1;
}

void gdx_nan_found(const char *kernel, const uint64_t *words, unsigned count, uint64_t launch, uint64_t of_kernel, uint64_t argument)
{
    struct gdx_capture to = { new_file("nan"), 0 };
    char room[NAME * 2];
    size_t numbers = count * sizeof *words, length = strnlen(kernel, NAME - 1);
    memcpy(room, words, numbers);
    memcpy(room + numbers, kernel, length);
    gdx_capture_put(&to, GDX_CAPTURE_NONFINITE, launch, of_kernel, argument, room, numbers + length);
    gdx_capture_close(&to);
}

void gdx_nan_scanned(uint64_t scanned, uint64_t seen, uint64_t unknown)
{
    struct gdx_capture to = { new_file("nan"), 0 };
    gdx_capture_put(&to, GDX_CAPTURE_SCANNED, scanned, seen, unknown, NULL, 0);
    gdx_capture_close(&to);
}

void gdx_values_put(const char *kernel, uint64_t launch, uint64_t of_kernel, bool after, const uint64_t *words, unsigned count)
{
    struct gdx_capture to = { new_file("values"), 0 };
    char room[NAME * 3];
    size_t numbers = count * sizeof *words, length = strnlen(kernel, NAME - 1);
    if (numbers + length <= sizeof room) {
        memcpy(room, words, numbers);
        memcpy(room + numbers, kernel, length);
        gdx_capture_put(&to, GDX_CAPTURE_HASHES, launch, of_kernel, after, room, numbers + length);
    }
    gdx_capture_close(&to);
}
