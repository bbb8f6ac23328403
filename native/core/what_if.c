/* See what_if.h. */
#define _GNU_SOURCE
#include "core/what_if.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/process.h"

enum { RANGES = 1024, FRAMES = 8, FILE_NAME = 256, DEPTH = 48 };

_Atomic int gdx_what_if_setting GDX_HOT_DATA;
struct gdx_what_if gdx_asked;
static struct { uint64_t first, last; } ranges[RANGES];
static unsigned num_ranges;
static struct frames {
    struct { char file[FILE_NAME]; uintptr_t bytes; } at[FRAMES];
    unsigned count;
} redirected, exchanged;  /* neither of these nor ranges: all calls */
static _Atomic uint64_t came;

/* ---- which calls ---- */

/* "app+1a2b;app+1c0d" */
static bool read_frames(struct frames *frames, const char *text, const char *end)
{
    while (text < end && frames->count < FRAMES) {
        const char *semicolon = memchr(text, ';', (size_t)(end - text)), *last = semicolon ? semicolon : end;
        const char *plus = memrchr(text, '+', (size_t)(last - text));
        if (!plus || plus - text >= FILE_NAME)
            return false;
        memcpy(frames->at[frames->count].file, text, (size_t)(plus - text));
        frames->at[frames->count++].bytes = strtoull(plus + 1, NULL, 16);
        text = last + (last < end);
    }
    return text == end && frames->count;
}

static bool is_frame(const struct frames *frames, void *at)
{
    Dl_info found;
    if (!dladdr(at, &found) || !found.dli_fname)
        return false;
    const char *slash = strrchr(found.dli_fname, '/'), *file = slash ? slash + 1 : found.dli_fname;
    for (unsigned i = 0; i < frames->count; i++)
        if ((uintptr_t)at - (uintptr_t)found.dli_fbase == frames->at[i].bytes && !strcmp(file, frames->at[i].file))
            return true;
    return false;
}

static bool is_from(const struct frames *frames)
{
    void *stack[DEPTH];
    int count = gdx_backtrace(stack, DEPTH);
    for (int i = 0; i < count; i++)
        if (is_frame(frames, stack[i]))
            return true;
    return false;
}

/* ---- kernels ---- */

/* "NAME:a:b", up to `end`, with as many numbers as there is room for. Read from the end, as the name may hold colons. */
static bool read_named(const char *text, const char *end, char *name, const char **numbers, int count)
{
    size_t length = text ? (size_t)(end - text) : 0;
    for (int i = count - 1; i >= 0; i--) {
        const char *colon = length ? memrchr(text, ':', length) : NULL;
        if (!colon)
            return false;
        numbers[i] = colon + 1;
        length = (size_t)(colon - text);
    }
    if (!length || length >= GDX_WHAT_IF_NAME)
        return false;
    memcpy(name, text, length);
    return true;
}

static bool read_number(const char *text)
{
    const char *at[3];
    char *rest;
    if (!read_named(text, text ? text + strlen(text) : NULL, gdx_asked.number.kernel, at, 3))
        return false;
    gdx_asked.number.index = (uint32_t)strtoul(at[0], &rest, 10);
    gdx_asked.number.at = *rest == '+' ? (uint32_t)strtoul(rest + 1, NULL, 10) : GDX_WHOLE;
    gdx_asked.number.before = strtoull(at[1], NULL, 16);
    gdx_asked.number.after = strtoull(at[2], NULL, 16);
    return true;
}

static bool read_exchange(const char *text)
{
    const char *at[2], *end = text ? text + strlen(text) : NULL, *equals = text ? strchr(text, '=') : NULL;
    char *rest;
    if (equals && !read_frames(&exchanged, equals + 1, end))
        return false;
    if (!read_named(text, equals ? equals : end, gdx_asked.exchange.kernel, at, 2))
        return false;
    gdx_asked.exchange.first = (uint32_t)strtoul(at[0], NULL, 10);
    gdx_asked.exchange.second = (uint32_t)strtoul(at[1], &rest, 10);
    gdx_asked.exchange.grid = *rest == '+';
    return true;
}

/* ---- calls ---- */

/* "3,5-9"; up to `end`, or nothing is done. */
static bool read_ranges(const char *text, const char *end)
{
    char *rest;
    if (end - text == 3 && !strncmp(text, "all", 3))
        return true;
    while (text < end && *text >= '0' && *text <= '9' && num_ranges < RANGES) {
        ranges[num_ranges].first = ranges[num_ranges].last = strtoull(text, &rest, 10);
        if (*rest == '-')
            ranges[num_ranges].last = strtoull(rest + 1, &rest, 10);
        num_ranges++;
        text = *rest == ',' ? rest + 1 : rest;
    }
    return text == end && num_ranges;
}

/* "4>7,7>4" */
static bool read_pairs(const char *text)
{
    char *rest = NULL;
    unsigned *count = &gdx_asked.redirect.num_pairs;
    for (*count = 0; *count < GDX_WHAT_IF_PAIRS && *text >= '0' && *text <= '9'; ++*count) {
        gdx_asked.redirect.pairs[*count].old = strtoull(text, &rest, 10);
        if (*rest != '>')
            return false;
        gdx_asked.redirect.pairs[*count].wanted = strtoull(rest + 1, &rest, 10);
        text = *rest == ',' ? rest + 1 : rest;
    }
    return *count && !*text;
}

static bool read_what(const char *text)
{
    static const struct { const char *word; enum gdx_what what; } words[] = {
        { "argument", GDX_OTHER_ARGUMENT }, { "grid", GDX_OTHER_GRID }, { "pitch", GDX_OTHER_PITCH }, { "size", GDX_OTHER_SIZE },
        { "", GDX_OTHER_MEMORY },
    };
    const char *colon = strchr(text, ':');
    if (!strcmp(text, "exchange")) {
        gdx_asked.redirect.what = GDX_EXCHANGED;
        return true;
    }
    for (unsigned i = 0; colon && i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if (strncmp(text, words[i].word, length))
            continue;
        gdx_asked.redirect.what = words[i].what;
        gdx_asked.redirect.which = (unsigned)strtoul(text + length, NULL, 10);
        return read_pairs(colon + 1);
    }
    return false;
}

static bool read_redirect(const char *text)
{
    const char *first = text ? strchr(text, '=') : NULL, *second = first ? strchr(first + 1, '=') : NULL;
    if (!second || first - text >= GDX_WHAT_IF_NAME)
        return false;
    memcpy(gdx_asked.redirect.name, text, (size_t)(first - text));
    bool good = (first[1] == '@' ? read_frames(&redirected, first + 2, second) : read_ranges(first + 1, second)) && read_what(second + 1);
    if (!good)
        gdx_asked.redirect.what = GDX_NO_REDIRECT;
    return good;
}

/* Once in a process. Another thread that comes meanwhile goes on as if it were off. */
bool gdx_read_what_if(void)
{
    static _Atomic bool reading;
    int saved = errno;
    if (!atomic_exchange(&reading, true)) {
        bool number = read_number(getenv("GPUDX_OTHER_NUMBER")), exchange = read_exchange(getenv("GPUDX_EXCHANGE"));
        bool redirect = read_redirect(getenv("GPUDX_REDIRECT"));
        atomic_store(&gdx_what_if_setting, number || exchange || redirect ? 2 : 1);
    }
    errno = saved;
    return atomic_load(&gdx_what_if_setting) == 2;
}

/* ---- asked at each call ---- */

bool gdx_redirect_is_here(void)
{
    if (redirected.count)
        return is_from(&redirected);
    uint64_t number = atomic_fetch_add(&came, 1) + 1;
    for (unsigned i = 0; i < num_ranges; i++)
        if (number >= ranges[i].first && number <= ranges[i].last)
            return true;
    return !num_ranges;
}

bool gdx_exchange_is_here(void)
{
    return !exchanged.count || is_from(&exchanged);
}
