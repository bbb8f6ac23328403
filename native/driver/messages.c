/* What a driver prints about faults of the device: assertions of CUDA kernels, the address of a fault in HIP.
 *
 * It is the only place where these are told, and it goes to the program's stderr, which is not ours to read. So the driver's
 * own references to the printing functions of libc are led through functions that print as before and keep the lines that
 * matter. Which of them a driver uses is its own affair (NVIDIA's 580.159 and ROCm's libhsa-runtime64 5.2.3 use some of
 * these); one that uses none loses the text and nothing else. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "driver/driver.h"
#include "core/recorder.h"

enum { LONGEST = 1024, KEPT_MAX = 32, LINES = 32 };  /* every thread that fails prints its line */

/* One line is printed in a dozen pieces (driver 580.159), each by a call of its own, all by one thread. Lines are lent to threads
 * and not kept in thread-local storage: what a preloaded library takes of that, libraries that the program loads may lack. */
struct line { _Atomic uint32_t tid; size_t used; char text[LONGEST]; };
static struct line lines[LINES];

static struct line *own_line(void)
{
    uint32_t me = (uint32_t)syscall(SYS_gettid);
    for (int i = 0; i < LINES; i++)
        if (atomic_load_explicit(&lines[i].tid, memory_order_relaxed) == me)
            return &lines[i];
    for (int i = 0; i < LINES; i++) {
        uint32_t nobody = 0;
        if (atomic_compare_exchange_strong(&lines[i].tid, &nobody, me)) {
            lines[i].used = 0;
            return &lines[i];
        }
    }
    return NULL;  /* more threads print at once than are followed */
}

static bool has(const struct line *line, const char *mark)
{
    return mark && memmem(line->text, line->used, mark, strlen(mark));
}

static bool matters(const struct line *line)
{
    bool found = false;
    for (int i = 0; i < GDX_DRIVERS && !found; i++)
        found = has(line, gdx_drivers[i]->mark) || has(line, gdx_drivers[i]->second_mark);
    return found;
}

static void keep_line(struct line *line)
{
    static _Atomic unsigned kept;
    int saved = errno;
    if (matters(line) && atomic_fetch_add(&kept, 1) < KEPT_MAX)
        gdx_note(GDX_CALL_note_driver_said, NULL, 0, (struct gdx_text){ line->text, line->used }, (struct gdx_text){ 0 }, NULL, 0);
    errno = saved;
    line->used = 0;
}

static void listen_to(const char *text, size_t bytes)
{
    struct line *line = bytes ? own_line() : NULL;
    for (size_t i = 0; line && i < bytes; i++) {
        if (text[i] == '\n')
            keep_line(line);
        else if (line->used < LONGEST)
            line->text[line->used++] = text[i];
    }
    if (line && !line->used)
        atomic_store_explicit(&line->tid, 0, memory_order_release);
}

static int own_vfprintf(FILE *file, const char *format, va_list values)
{
    char text[LONGEST];
    va_list again;
    va_copy(again, values);
    int bytes = vsnprintf(text, sizeof text, format, again);
    va_end(again);
    if (bytes > 0)
        listen_to(text, (size_t)bytes < sizeof text ? (size_t)bytes : sizeof text - 1);
    return vfprintf(file, format, values);
}

static int own_fprintf(FILE *file, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int printed = own_vfprintf(file, format, values);
    va_end(values);
    return printed;
}

static int own_fputs(const char *text, FILE *file)
{
    listen_to(text, strnlen(text, LONGEST));
    return fputs(text, file);
}

static size_t own_fwrite(const void *data, size_t size, size_t count, FILE *file)
{
    listen_to(data, size * count < LONGEST ? size * count : LONGEST);
    return fwrite(data, size, count, file);
}

/* What the compiler makes of these with _FORTIFY_SOURCE: the flag asks for checks of the format, which is not ours. */
static int own_vfprintf_chk(FILE *file, int flag, const char *format, va_list values)
{
    (void)flag;
    return own_vfprintf(file, format, values);
}

static int own_fprintf_chk(FILE *file, int flag, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int printed = own_vfprintf_chk(file, flag, format, values);
    va_end(values);
    return printed;
}

extern int __vfprintf_chk(FILE *, int, const char *, va_list), __fprintf_chk(FILE *, int, const char *, ...);
static const struct { const char *name; void *real, *own; } printing[] = {
    { "vfprintf", (void *)vfprintf, (void *)own_vfprintf },
    { "fprintf", (void *)fprintf, (void *)own_fprintf },
    { "fputs", (void *)fputs, (void *)own_fputs },
    { "fwrite", (void *)fwrite, (void *)own_fwrite },
    { "__vfprintf_chk", (void *)__vfprintf_chk, (void *)own_vfprintf_chk },
    { "__fprintf_chk", (void *)__fprintf_chk, (void *)own_fprintf_chk },
};

static void lead_through(const struct gdx_slot_of *slot, void *data)
{
    (void)data;
    for (size_t i = 0; i < sizeof printing / sizeof *printing; i++)
        if (!strcmp(slot->name, printing[i].name) && (slot->unbound || slot->now == printing[i].real))
            gdx_store_slot(slot->place, printing[i].own, slot->extent);
}

static int change_one(struct dl_phdr_info *info, size_t size, void *api_)
{
    (void)size;
    const struct gdx_driver *api = api_;
    struct gdx_object object = gdx_object_in(info);
    bool speaks = gdx_is_adopted(api, &object) || (api->speaker && gdx_file_begins(&object, api->speaker));
    if (speaks)
        gdx_visit_slots(info, lead_through, NULL);
    return 0;
}

void gdx_listen(struct gdx_driver *api)
{
    uintptr_t driver = atomic_load_explicit(&api->adopted, memory_order_acquire);
    if (GDX_LIKELY(atomic_load_explicit(&api->heard, memory_order_relaxed) == driver) || !gdx_on())
        return;
    if (atomic_exchange(&api->heard, driver) != driver)
        dl_iterate_phdr(change_one, api);
}
