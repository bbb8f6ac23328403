/* What the driver prints about assertions that failed on the device.
 *
 * It is the only place where text, file, line and thread of an assertion are told, and it goes to the program's stderr,
 * which is not ours to read. So the driver's own references to the printing functions of libc are led through functions
 * that print as before and keep the lines that matter. Which of them a driver uses is its own affair (580.159 imports all
 * of these); one that uses none loses the text and nothing else. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/driver.h"
#include "cuda/hooks.h"

enum { LONGEST = 1024, KEPT_MAX = 32 };  /* every thread that fails prints its line */
static const char mark[] = "Assertion `";

/* One line is printed in a dozen pieces (driver 580.159), each by a call of its own, all by one thread. */
static __thread struct { size_t used; char text[LONGEST]; } line __attribute__((tls_model("initial-exec")));

static void keep_line(void)
{
    static _Atomic unsigned kept;
    int saved = errno;
    if (memmem(line.text, line.used, mark, sizeof mark - 1) && atomic_fetch_add(&kept, 1) < KEPT_MAX)
        gdx_note(GDX_CALL_note_driver_said, NULL, 0, (struct gdx_text){ line.text, line.used }, (struct gdx_text){ 0 }, NULL, 0);
    errno = saved;
    line.used = 0;
}

static void listen_to(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '\n')
            keep_line();
        else if (line.used < LONGEST)
            line.text[line.used++] = text[i];
    }
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

static const struct { const char *name; void *real, *own; } printing[] = {
    { "vfprintf", (void *)vfprintf, (void *)own_vfprintf },
    { "fprintf", (void *)fprintf, (void *)own_fprintf },
    { "fputs", (void *)fputs, (void *)own_fputs },
    { "fwrite", (void *)fwrite, (void *)own_fwrite },
};

static void lead_through(const struct gdx_slot_of *slot, void *data)
{
    (void)data;
    for (size_t i = 0; i < sizeof printing / sizeof *printing; i++)
        if (!strcmp(slot->name, printing[i].name) && (slot->unbound || slot->now == printing[i].real))
            gdx_store_slot(slot->place, printing[i].own, slot->extent);
}

static int change_driver(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    struct gdx_object object = gdx_object_in(info);
    if (!gdx_is_adopted(&gdx_cu_api, &object))
        return 0;
    gdx_visit_slots(info, lead_through, NULL);
    return 1;
}

void gdx_cu_listen(void)
{
    static _Atomic uintptr_t heard;
    uintptr_t driver = atomic_load_explicit(&gdx_cu_api.adopted, memory_order_acquire);
    if (GDX_LIKELY(atomic_load_explicit(&heard, memory_order_relaxed) == driver) || !gdx_on())
        return;
    if (atomic_exchange(&heard, driver) != driver)
        dl_iterate_phdr(change_driver, NULL);
}
