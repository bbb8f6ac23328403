/* Environment, names, the roll, and children that are started without us. */
#define _GNU_SOURCE
#include "core/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/recorder.h"
#include "core/sandbox.h"

bool gdx_use_ticks GDX_HOT_DATA = true;

const char *gdx_directory(void)
{
    static char dir[900];
    static bool asked;
    if (!asked && environ) {  /* there is none before the C library's own constructor has run */
        const char *value = getenv("GPUDX_DIR");
        if (value && strlen(value) < sizeof dir)
            strcpy(dir, value);
        asked = true;  /* a program that clears its environment later does not switch us off */
    }
    return dir[0] ? dir : NULL;
}

static uint64_t soft_limit(int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : UINT64_MAX;
}

bool gdx_may_write(uint64_t end)
{
    return end <= soft_limit(RLIMIT_FSIZE);
}

bool gdx_memory_is_limited(void)
{
    return soft_limit(RLIMIT_AS) != UINT64_MAX || soft_limit(RLIMIT_DATA) != UINT64_MAX;
}

uint32_t gdx_ring_chunks(void)
{
    const char *value = getenv("GPUDX_KEEP");
    if (value && !strcmp(value, "all"))
        return 0;
    uint64_t bytes = value ? strtoull(value, NULL, 10) : 0;
    uint64_t most = gdx_memory_is_limited() ? soft_limit(RLIMIT_AS) / GDX_UNIT_BYTES / 256 : GDX_RING_CHUNKS_MAX;
    uint64_t chunks = (bytes ? bytes : 16u << 20) / GDX_UNIT_BYTES;
    if (most > GDX_RING_CHUNKS_MAX)
        most = GDX_RING_CHUNKS_MAX;
    if (chunks > most)
        chunks = most;
    return chunks < 2 ? 2 : (uint32_t)chunks;
}

static size_t read_whole(const char *path, char *room, size_t bytes)
{
    size_t got = 0;
    int fd = gdx_is_shut_in() ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    for (ssize_t n; got < bytes && (n = read(fd, room + got, bytes - got)) > 0;)
        got += (size_t)n;
    close(fd);
    return got;
}

void gdx_describe_process(struct gdx_header *header)
{
    ssize_t n = readlink("/proc/self/exe", header->exe, sizeof header->exe - 1);
    header->exe[n > 0 ? n : 0] = 0;
    header->argv[read_whole("/proc/self/cmdline", header->argv, sizeof header->argv - 1)] = 0;
}

/* ---- the roll: async-signal-safe, because it also runs between fork and exec ---- */

static void copy_path(char *to, size_t room, const char *from)
{
    size_t n = strnlen(from, room - 1);
    memcpy(to, from, n);
    to[n] = 0;
}

/* One record, one write: O_APPEND keeps records of different processes apart. */
static void append(int fd, const struct gdx_roll_record *record)
{
    struct stat now;
    if (fstat(fd, &now) < 0 || !S_ISREG(now.st_mode) || !gdx_may_write((uint64_t)now.st_size + sizeof *record))
        return;
    if (write(fd, record, sizeof *record) < 0)
        return;  /* the roll has one record less; there is nobody to tell */
}

static void write_roll(enum gdx_roll_kind kind, uint32_t number, const char *path)
{
    if (gdx_is_shut_in())
        return;
    struct gdx_roll_record record = { "gpudxrol", kind, (uint32_t)getpid(), (uint32_t)getppid(), number,
                                      gdx_clock_ns(CLOCK_MONOTONIC), { 0 } };
    char file[1000];
    const char *dir = gdx_directory();
    int saved = errno;
    if (!dir)
        return;
    copy_path(file, sizeof file - 8, dir);
    strcat(file, "/roll");
    if (path)
        copy_path(record.path, sizeof record.path, path);
    else if (readlink("/proc/self/exe", record.path, sizeof record.path - 1) < 0)
        record.path[0] = 0;
    int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd >= 0) {
        append(fd, &record);
        close(fd);
    }
    errno = saved;
}

void gdx_roll(enum gdx_roll_kind kind, const char *path)
{
    write_roll(kind, 0, path);
}

void gdx_roll_spawn(const char *path)
{
    write_roll(GDX_ROLL_EXEC_WITHOUT, 1, path);
}

void gdx_roll_end(int status, void *unused)
{
    (void)unused;
    write_roll(GDX_ROLL_ENDED, (uint32_t)status & 255, NULL);
}

void gdx_roll_descriptor(enum gdx_roll_kind kind, int fd)
{
    char link[32] = "/proc/self/fd/", path[480], digits[12];
    size_t n = 0, at = strlen(link);
    int saved = errno;
    for (unsigned rest = (unsigned)fd; n == 0 || rest; rest /= 10)
        digits[n++] = (char)('0' + rest % 10);
    while (n)
        link[at++] = digits[--n];
    link[at] = 0;
    ssize_t got = readlink(link, path, sizeof path - 1);
    path[got > 0 ? got : 0] = 0;
    errno = saved;
    gdx_roll(kind, got > 0 ? path : link);
}

static int look_for_opencl(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    const char *name = strrchr(info->dlpi_name, '/');
    if (!name || strncmp(name + 1, "libOpenCL", 9))
        return 0;
    copy_path(found, 480, info->dlpi_name);
    return 1;
}

void gdx_roll_unentered(void)
{
    char path[480] = "";
    if (dl_iterate_phdr(look_for_opencl, path))
        gdx_roll(GDX_ROLL_NOT_ENTERED, path);
}

/* ---- stacks and maps ---- */

int gdx_backtrace(void **frames, int room)
{
    return backtrace(frames, room);
}

void gdx_warm_backtrace(void)
{
    void *frame;
    backtrace(&frame, 1);  /* glibc loads libgcc_s at the first call */
}

enum { MAPS_MAX = 4 << 20 };

char *gdx_read_maps(size_t *bytes)
{
    char *text = mmap(NULL, MAPS_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (text == MAP_FAILED)
        return NULL;
    *bytes = read_whole("/proc/self/maps", text, MAPS_MAX);
    if (*bytes)
        return text;
    gdx_free_maps(text);
    return NULL;
}

void gdx_free_maps(char *text)
{
    munmap(text, MAPS_MAX);
}
