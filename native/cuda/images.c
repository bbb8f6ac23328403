/* What a module or library is made from: the headers that say which devices its code was compiled for.
 *
 * Only headers are copied here; src/gpudx/backends/cuda/images.py knows what they mean. An image's size is not told, so
 * nothing is believed: memory is copied as core/program_memory.h says, files are read by pread, and every size in a header is
 * checked against what is left. The note comes before the driver is called, and so is there if the driver crashes.
 *
 * The wrapper is __fatBinC_Wrapper_t of <fatbinary_section.h>, which the runtime library hands over. The fat binary
 * behind it is a header and entries, each a header and its payload, one after the other (no vendor document; seen in
 * what nvcc 13.0 writes, and the same in every reader of it). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda/hooks.h"

enum { PAGE = 4096, HEAD_BYTES = 2048, ELF_BYTES = 64, ENTRY_WORDS = 8, ENTRY_BYTES = 64, ENTRIES = 60 };
static const uint32_t wrapper_magic = 0x466243b1, fat_magic = 0xba55ed50, elf_magic = 0x464c457f;

struct source { const char *memory; int file; };  /* a file if `memory` is NULL */
struct wrapper { uint32_t magic, version; const char *data; };
struct fat { uint32_t magic; uint16_t version, header_bytes; uint64_t bytes; };
struct entry { uint16_t kind, version; uint32_t header_bytes; uint64_t bytes, rest[6]; };
_Static_assert(sizeof(struct fat) == 16 && sizeof(struct entry) == ENTRY_BYTES, "headers");

/* How many of the bytes could be had, from the first on; with `to_zero` none behind a zero. */
static size_t fetch(const struct source *from, uint64_t offset, void *into, size_t bytes, bool to_zero)
{
    const struct gdx_lane *lane = gdx_lane();
    uintptr_t at = (uintptr_t)from->memory + offset;
    bool whole;
    if (!from->memory) {
        long got = offset > INT64_MAX ? -1 : syscall(SYS_pread64, from->file, into, bytes, (off_t)offset);
        return got < 0 ? 0 : to_zero ? strnlen(into, (size_t)got) : (size_t)got;
    }
    if (!lane || at < offset)
        return 0;
    return to_zero ? gdx_read_text(&lane->reader, into, bytes, (const char *)at, &whole)
                   : gdx_read_some(&lane->reader, into, (const void *)at, bytes);
}

/* The headers of a fat binary's entries; `whole` says that they are all of them. */
static unsigned read_entries(const struct source *from, const struct fat *fat, uint64_t *words, bool *whole)
{
    uint64_t at = fat->header_bytes, end = at + fat->bytes;
    unsigned count = 0;
    if (at < sizeof *fat || end < at)
        return 0;
    while (count < ENTRIES && end - at >= ENTRY_BYTES) {
        struct entry entry;
        if (fetch(from, at, &entry, sizeof entry, false) != sizeof entry || entry.header_bytes < ENTRY_BYTES)
            return count;
        memcpy(words + count++ * ENTRY_WORDS, &entry, sizeof entry);
        if (entry.header_bytes > end - at || entry.bytes > end - at - entry.header_bytes)
            return count;
        at += entry.header_bytes + entry.bytes;
    }
    *whole = at == end;
    return count;
}

/* All of these begin with four bytes that are not zero, so a short text is not read beyond its end. */
static uint32_t magic_of(const struct source *from)
{
    uint32_t magic = 0;
    return fetch(from, 0, &magic, sizeof magic, true) == sizeof magic ? magic : 0;
}

static void note(const struct source *from, uint64_t image)
{
    char head[HEAD_BYTES];
    uint64_t numbers[ENTRIES * ENTRY_WORDS];
    struct fat fat;
    bool whole = false;
    unsigned count = 0;
    uint32_t magic = magic_of(from);
    size_t most = magic == fat_magic ? sizeof fat : magic == elf_magic ? ELF_BYTES : sizeof head;
    size_t bytes = fetch(from, 0, head, most, magic != fat_magic && magic != elf_magic);
    if (magic == fat_magic && bytes == sizeof fat) {
        memcpy(&fat, head, sizeof fat);
        count = read_entries(from, &fat, numbers, &whole);
    }
    const uint64_t words[] = { image, count, whole };
    gdx_note(GDX_CALL_note_image, words, 3, (struct gdx_text){ head, bytes }, (struct gdx_text){ 0 }, numbers,
             count * ENTRY_WORDS);
}

static void note_memory(const void *image)
{
    struct source from = { image, -1 };
    struct wrapper wrapper;
    if (!image || !gdx_on())
        return;
    if (magic_of(&from) == wrapper_magic && fetch(&from, 0, &wrapper, sizeof wrapper, false) == sizeof wrapper)
        from.memory = wrapper.data;
    if (from.memory)
        note(&from, GDX_CU_WORD(image));
}

static bool read_path(char copy[GDX_TEXT_MAX], const char *path)
{
    struct gdx_lane *lane = gdx_lane();
    bool whole = false;
    return path && lane && gdx_read_text(&lane->reader, copy, GDX_TEXT_MAX, path, &whole) && whole;
}

/* Only plain files are opened: opening anything else can wait, or be noticed by someone. System calls are made directly,
 * because a thread that is being cancelled would end inside the library's open. */
static void note_file(const char *given)
{
    char path[GDX_TEXT_MAX];
    struct stat about;
    int saved = errno;
    if (!gdx_on() || !read_path(path, given))
        return;
    bool plain = stat(path, &about) == 0 && S_ISREG(about.st_mode);
    long file = plain ? syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
        note(&(struct source){ NULL, (int)file }, 0);
        syscall(SYS_close, file);
    }
    errno = saved;
}

void gdx_cu_before_cuModuleLoad(CUmodule *result, const char *path)
{
    (void)result;
    note_file(path);
}

void gdx_cu_before_cuModuleLoadData(CUmodule *result, const void *image)
{
    (void)result;
    note_memory(image);
}

void gdx_cu_before_cuModuleLoadDataEx(CUmodule *result, const void *image, unsigned int option_count,
                                      CUjit_option *options, void **values)
{
    (void)result, (void)option_count, (void)options, (void)values;
    note_memory(image);
}

void gdx_cu_before_cuModuleLoadFatBinary(CUmodule *result, const void *image)
{
    (void)result;
    note_memory(image);
}

void gdx_cu_before_cuLibraryLoadData(CUlibrary *result, const void *image, CUjit_option *options, void **values,
                                     unsigned int option_count, CUlibraryOption *library_options,
                                     void **library_values, unsigned int library_option_count)
{
    (void)result, (void)options, (void)values, (void)option_count;
    (void)library_options, (void)library_values, (void)library_option_count;
    note_memory(image);
}

void gdx_cu_before_cuLibraryLoadFromFile(CUlibrary *result, const char *path, CUjit_option *options, void **values,
                                         unsigned int option_count, CUlibraryOption *library_options,
                                         void **library_values, unsigned int library_option_count)
{
    (void)result, (void)options, (void)values, (void)option_count;
    (void)library_options, (void)library_values, (void)library_option_count;
    note_file(path);
}
