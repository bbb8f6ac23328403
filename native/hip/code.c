/* Device code of HIP programs: where the parameters of kernels lie, from the metadata of code objects.
 *
 *   wrapper       what the compiler registers: a magic number, a version, the address of the fat binary (LLVM,
 *                 clang/lib/CodeGen/CGCUDANV.cpp)
 *   fat binary    an offload bundle: a magic text, then entries with offset, size and target (Clang documentation,
 *                 "Clang Offload Bundler"). A compressed one begins with "CCOB" (unpack.c)
 *   code object   an ELF file; a note of name "AMDGPU" and type 32 has the metadata in MessagePack (LLVM, "User Guide for
 *                 AMDGPU Backend", "Code Object Metadata")
 *
 *   SPIR-V        in place of a code object where the program is compiled for no chip in particular (spirv.c)
 *
 * Nothing is believed: memory is copied as core/program_memory.h says, and every offset is checked. Metadata is searched when
 * a kernel is first launched, not at the start: libraries have tens of thousands of kernels. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "driver/capture.h"
#include "hip/hooks.h"
#include "hip/msgpack.h"
#include "hip/spirv.h"
#include "hip/unpack.h"

enum { PAGE = 4096, ENTRIES_MAX = 256, TARGET_MAX = 256, NOTE_METADATA = 32, MACHINE_AMDGPU = 224 };
static const char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";
static const uint32_t wrapper_magic = 0x48495046;  /* "HIPF" */

struct wrapper { uint32_t magic, version; const char *binary; void *unused; };
struct entry { uint64_t offset, size, target_bytes; };

/* What was found in an image; never changed once it is there. */
struct found {
    const uint8_t *metadata;  /* a copy of ours */
    size_t bytes;
    bool spirv;               /* `metadata` is a whole module of SPIR-V */
    const char *why_not;
    char targets[512];        /* with spaces between them */
    bool cut;                 /* not all of them */
};

struct gdx_hip_image {
    const char *binary;       /* a bundle or a code object of the program's */
    const char *end;          /* NULL: not known */
    _Atomic(const struct found *) found;
    _Atomic uint32_t noted;   /* by generation: a forked child has a trace of its own */
};

/* ---- finding the metadata ---- */

/* What is looked at: the program's memory, or a mapping of ours. Both are only copied from. */
struct look { const char *binary, *end; struct found *found; };
enum { COPIED_MOST = 1 << 28 };

/* Without a lane: binaries are registered before the first GPU call, and that alone is no reason for a trace. */
static size_t copy_some(void *to, const char *from, size_t bytes)
{
    return gdx_read_by_kernel(NULL, to, from, bytes);
}

/* The bytes from an offset on that the image itself names; false: they are not all there. What lies behind a file or an unpacked
 * bundle is somebody else's. */
static bool copy_part(const struct look *look, const char *base, uint64_t offset, void *to, uint64_t bytes)
{
    uintptr_t from = (uintptr_t)base + offset, until = from + bytes;
    if (from < (uintptr_t)base || until < from || (look->end && until > (uintptr_t)look->end))
        return false;
    return copy_some(to, (const char *)from, bytes) == bytes;
}

static void *pages(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static bool find_note(struct found *found, const char *at, uint64_t bytes)
{
    while (bytes >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        memcpy(&note, at, sizeof note);
        uint64_t name = ((uint64_t)note.n_namesz + 3) & ~3ull, whole = sizeof note + name + (((uint64_t)note.n_descsz + 3) & ~3ull);
        if (sizeof note + name + note.n_descsz > bytes)
            return false;
        if (note.n_type == NOTE_METADATA && note.n_namesz == 7 && !memcmp(at + sizeof note, "AMDGPU", 7)) {
            found->metadata = (const uint8_t *)at + sizeof note + name;
            found->bytes = note.n_descsz;
            return true;
        }
        if (whole > bytes)
            return false;
        at += whole;
        bytes -= whole;
    }
    return false;
}

/* The copy stays where the metadata is in it. */
static bool read_notes(struct look *look, const char *at, const Elf64_Phdr *part)
{
    uint64_t bytes = part->p_filesz;
    void *notes = bytes && bytes <= COPIED_MOST ? pages(bytes) : NULL;
    if (!notes)
        return false;
    if (copy_part(look, at, part->p_offset, notes, bytes) && find_note(look->found, notes, bytes))
        return true;
    munmap(notes, bytes);
    return false;
}

static bool read_code_object(struct look *look, const char *at)
{
    Elf64_Ehdr head;
    Elf64_Phdr part;
    if (!copy_part(look, at, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG)
        || head.e_machine != MACHINE_AMDGPU || head.e_phentsize != sizeof part)
        return false;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        if (!copy_part(look, at, head.e_phoff + i * sizeof part, &part, sizeof part))
            return false;
        if (part.p_type == PT_NOTE && read_notes(look, at, &part))
            return true;
    }
    return false;
}

/* "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-" -> "gfx90a:xnack-" */
static void keep_target(struct found *found, const char *id, size_t bytes)
{
    const char *name = memmem(id, bytes, "gfx", 3);
    name = name ? name : memmem(id, bytes, "amdgcnspirv", 11);
    size_t rest = name ? bytes - (size_t)(name - id) : 0, used = strlen(found->targets);
    if (!name && memmem(id, bytes, "-spirv", 6)) {  /* "hip-spirv64-unknown-chipstar--generic" */
        name = "spirv64";
        rest = strlen(name);
    }
    if (!rest || used + rest + 2 > sizeof found->targets) {
        found->cut = true;
        return;
    }
    if (used)
        found->targets[used++] = ' ';
    memcpy(found->targets + used, name, rest);
    found->targets[used + rest] = 0;
}

/* The parameters of its kernels are in the module itself, so a copy of all of it is kept. */
static bool read_spirv(struct look *look, const char *at, uint64_t bytes)
{
    uint32_t first;
    if (bytes > COPIED_MOST || !copy_part(look, at, 0, &first, sizeof first) || !gdx_is_spirv(&first, bytes))
        return false;
    void *module = pages(bytes);
    if (!module)
        return false;
    if (!copy_part(look, at, 0, module, bytes)) {
        munmap(module, bytes);
        return false;
    }
    look->found->metadata = module;
    look->found->bytes = bytes;
    look->found->spirv = true;
    return true;
}

/* A code object by itself says what it is for in its metadata. */
static bool read_single(struct look *look)
{
    struct gdx_item target;
    struct found *found = look->found;
    if (look->end && read_spirv(look, look->binary, (uint64_t)(look->end - look->binary))) {
        strcpy(found->targets, "spirv64");
        return true;
    }
    if (!read_code_object(look, look->binary))
        return false;
    struct gdx_pack at = { found->metadata, found->metadata + found->bytes };
    if (gdx_pack_find(&at, "amdhsa.target") && gdx_pack_next(&at, &target) && target.kind == GDX_ITEM_TEXT)
        keep_target(found, target.text, target.number);
    return true;
}

/* Names of entries begin with what they are for: "host-x86_64-...", "hipv4-amdgcn-amd-amdhsa--gfx90a", and of newer compilers
 * "hip-amdgpu9.42-amd-amdhsa-unknown-gfx942" and "hip-spirv64-...". */
static bool is_for_device(const char *name, uint64_t bytes)
{
    return bytes > 4 && memcmp(name, "host", 4) && (memmem(name, bytes, "amdgcn", 6) || memmem(name, bytes, "-amdgpu", 7)
                                                     || memmem(name, bytes, "-spirv", 6));
}

/* All targets, and the metadata of the first entry that can be read: where parameters lie is the same for all of them. */
static bool read_bundle(struct look *look)
{
    uint64_t count, next = strlen(bundle_magic);
    char target[TARGET_MAX];
    if (!copy_part(look, look->binary, next, &count, sizeof count))
        return false;
    next += sizeof count;
    look->found->cut = count > ENTRIES_MAX;
    for (uint64_t i = 0; i < count && i < ENTRIES_MAX; i++) {
        struct entry entry;
        if (!copy_part(look, look->binary, next, &entry, sizeof entry) || entry.target_bytes > sizeof target
            || !copy_part(look, look->binary, next + sizeof entry, target, entry.target_bytes))
            break;
        next += sizeof entry + entry.target_bytes;
        if (!is_for_device(target, entry.target_bytes))
            continue;
        keep_target(look->found, target, entry.target_bytes);
        const char *code = (const char *)((uintptr_t)look->binary + entry.offset);
        if (!look->found->metadata && code > look->binary && !read_code_object(look, code))
            read_spirv(look, code, entry.size);
    }
    return look->found->metadata;
}

static bool begins(const struct look *look, const char *with)
{
    char head[32];
    size_t bytes = strlen(with);
    return copy_part(look, look->binary, 0, head, bytes) && !memcmp(head, with, bytes);
}

static void look_at_plain(struct look *look)
{
    bool bundled = begins(look, bundle_magic);
    if (bundled ? read_bundle(look) : read_single(look))
        return;
    look->found->why_not = bundled || begins(look, ELFMAG) ? "the device code has no metadata that is understood"
                                                           : "it is no device code";
}

static void look_at_packed(struct look *look)
{
    char *plain = NULL;
    size_t bytes = 0;
    look->found->why_not = gdx_hip_unpack(look->binary, look->end, copy_some, &plain, &bytes);
    if (look->found->why_not)
        return;
    look_at_plain(&(struct look){ plain, plain + bytes, look->found });
    munmap(plain, bytes);
}

/* Threads may look at the same time; what the first of them found is what counts. */
static const struct found *looked_at(const struct gdx_hip_image *given)
{
    struct gdx_hip_image *image = (struct gdx_hip_image *)given;
    const struct found *known = image ? atomic_load(&image->found) : NULL;
    struct found *fresh = image && !known ? gdx_keep(sizeof *fresh) : NULL;
    if (!fresh)
        return known;
    memset(fresh, 0, sizeof *fresh);
    struct look look = { image->binary, image->end, fresh };
    if (begins(&look, "CCOB"))
        look_at_packed(&look);
    else
        look_at_plain(&look);
    return atomic_compare_exchange_strong(&image->found, &known, fresh) ? fresh : known;
}

/* ---- where images come from ---- */

static struct gdx_hip_image *fresh(const char *binary, const char *end)
{
    struct gdx_hip_image *image = gdx_keep(sizeof *image);
    if (image) {
        memset(image, 0, sizeof *image);
        image->binary = binary;
        image->end = end;
    }
    return image;
}

static struct gdx_hip_image *image_of(const void *fat_binary)
{
    struct wrapper wrapper;
    const char *binary = fat_binary;
    if (copy_some(&wrapper, fat_binary, sizeof wrapper) != sizeof wrapper)
        return NULL;
    if (wrapper.magic == wrapper_magic)
        binary = wrapper.binary;
    return fresh(binary, NULL);
}

const struct gdx_hip_image *gdx_hip_image_of(const void *fat_binary)
{
    return image_of(fat_binary);
}

/* A bundle ends behind its last entry, a file at its end. 0: not known. */
static uint64_t bytes_of(const struct look *look)
{
    static const struct gdx_reader anybody;
    uint64_t count, next = strlen(bundle_magic), end = 0;
    if (begins(look, ELFMAG))
        return gdx_elf_bytes(&anybody, look->binary);
    if (!begins(look, bundle_magic))
        return look->end ? (uint64_t)(look->end - look->binary) : 0;
    if (!copy_part(look, look->binary, next, &count, sizeof count) || count > ENTRIES_MAX)
        return 0;
    next += sizeof count;
    for (uint64_t i = 0; i < count; i++) {
        struct entry entry;
        if (!copy_part(look, look->binary, next, &entry, sizeof entry) || entry.offset > GDX_IMAGE_MOST || entry.size > GDX_IMAGE_MOST)
            return 0;
        end = entry.offset + entry.size > end ? entry.offset + entry.size : end;
        next += sizeof entry + entry.target_bytes;
    }
    return end;
}

char *gdx_hip_whole_image(const struct gdx_hip_image *image, size_t *bytes)
{
    char *copy = NULL;
    struct look look = { image ? image->binary : NULL, image ? image->end : NULL, NULL };
    if (!look.binary)
        return NULL;
    if (begins(&look, "CCOB"))
        gdx_hip_unpack(look.binary, look.end, copy_some, &copy, bytes);
    else if ((*bytes = bytes_of(&look)) && *bytes <= GDX_IMAGE_MOST && (copy = pages(*bytes)) && !copy_part(&look, look.binary, 0, copy, *bytes)) {
        munmap(copy, *bytes);
        copy = NULL;
    }
    if (copy && *bytes > GDX_IMAGE_MOST) {
        munmap(copy, *bytes);
        copy = NULL;
    }
    return copy;
}

/* Looked at now: the image itself is the program's, and may be gone at the first launch. Where a launch is captured, all of it is kept. */
static const struct gdx_hip_image *copied(struct gdx_hip_image *image)
{
    size_t bytes = 0;
    if (!looked_at(image))
        return NULL;
    if (GDX_UNLIKELY(gdx_capturing() & GDX_CAPTURE_LAUNCH)) {
        image->binary = gdx_hip_whole_image(image, &bytes);
        image->end = image->binary ? image->binary + bytes : NULL;
    }
    return image;
}

const struct gdx_hip_image *gdx_hip_copy_image(const void *image)
{
    return gdx_on() && image ? copied(image_of(image)) : NULL;
}

/* Only plain files are opened: opening anything else can wait, or be noticed by someone. */
const struct gdx_hip_image *gdx_hip_read_image(const char *path)
{
    struct stat about;
    const struct gdx_hip_image *found = NULL;
    int saved = errno;
    if (!gdx_on() || !path || stat(path, &about) || !S_ISREG(about.st_mode) || about.st_size < PAGE / 64)
        goto out;
    long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    void *at = file < 0 ? MAP_FAILED : mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, (int)file, 0);
    if (file >= 0)
        syscall(SYS_close, file);
    if (at != MAP_FAILED) {
        found = copied(fresh(at, (const char *)at + about.st_size));
        munmap(at, (size_t)about.st_size);
    }
out:
    errno = saved;
    return found;
}

const char *gdx_hip_why_not(const struct gdx_hip_image *image)
{
    const struct found *found = looked_at(image);
    return found ? found->why_not : "the device code was not seen";
}

const char *gdx_hip_targets(const struct gdx_hip_image *image, bool *whole)
{
    const struct found *found = looked_at(image);
    *whole = found && !found->cut;
    return found ? found->targets : "";
}

bool gdx_hip_noted(const struct gdx_hip_image *image, uint32_t generation)
{
    struct gdx_hip_image *own = (struct gdx_hip_image *)image;
    return own && atomic_exchange(&own->noted, generation) == generation;
}

/* ---- kernels ---- */

/* Parameters that the compiler adds are no arguments of the launch. */
static bool is_hidden(struct gdx_pack argument)
{
    struct gdx_item kind;
    return gdx_pack_find(&argument, ".value_kind") && gdx_pack_next(&argument, &kind) && kind.kind == GDX_ITEM_TEXT
        && kind.number >= 7 && !memcmp(kind.text, "hidden_", 7);
}

/* False: the list ends before it should, so none of it is believed. */
static bool count_arguments(struct gdx_pack list, uint64_t all, uint32_t *count)
{
    *count = 0;
    for (uint64_t i = 0; i < all; i++) {
        *count += !is_hidden(list);
        if (!gdx_pack_skip(&list))
            return false;
    }
    return true;
}

static struct gdx_layout *read_layout(struct gdx_pack kernel)
{
    struct gdx_item list = { .kind = GDX_ITEM_LIST };
    if (gdx_pack_find(&kernel, ".args") && (!gdx_pack_next(&kernel, &list) || list.kind != GDX_ITEM_LIST))
        return NULL;
    uint32_t count = 0, index = 0;
    if (!count_arguments(kernel, list.number, &count))
        return NULL;
    struct gdx_layout *layout = gdx_layout_begin(count);
    for (uint64_t i = 0; layout && i < list.number; i++) {
        if (!is_hidden(kernel))
            gdx_layout_add(layout, index++, gdx_pack_number(kernel, ".offset"), gdx_pack_number(kernel, ".size"));
        if (!gdx_pack_skip(&kernel))
            return NULL;
    }
    return layout;
}

static void read_required(struct gdx_pack kernel, uint64_t *required)
{
    struct gdx_item list, item;
    if (!gdx_pack_find(&kernel, ".reqd_workgroup_size") || !gdx_pack_next(&kernel, &list) || list.kind != GDX_ITEM_LIST)
        return;
    for (uint64_t i = 0; i < list.number && i < 3 && gdx_pack_next(&kernel, &item); i++)
        required[i] = item.number;
}

static void read_kernel(struct gdx_pack at, struct gdx_hip_kernel *kernel)
{
    *kernel = (struct gdx_hip_kernel){
        .layout = read_layout(at),
        .most_threads = gdx_pack_number(at, ".max_flat_workgroup_size"),
        .local_bytes = gdx_pack_number(at, ".group_segment_fixed_size"),
        .private_bytes = gdx_pack_number(at, ".private_segment_fixed_size"),
        .vector_registers = gdx_pack_number(at, ".vgpr_count"),
        .scalar_registers = gdx_pack_number(at, ".sgpr_count"),
        .wavefront = gdx_pack_number(at, ".wavefront_size"),
    };
    read_required(at, kernel->required);
}

/* The descriptor of a kernel has the kernel's name with ".kd" behind it. */
static bool is_named(struct gdx_pack kernel, const char *name, size_t bytes)
{
    struct gdx_item symbol;
    return gdx_pack_find(&kernel, ".symbol") && gdx_pack_next(&kernel, &symbol) && symbol.kind == GDX_ITEM_TEXT
        && symbol.number == bytes + 3 && !memcmp(symbol.text, name, bytes) && !memcmp(symbol.text + bytes, ".kd", 3);
}

bool gdx_hip_find_kernel(const struct gdx_hip_image *image, const char *name, struct gdx_hip_kernel *kernel)
{
    struct gdx_item list;
    const struct found *found = looked_at(image);
    if (!found || !found->metadata || !name)
        return false;
    if (found->spirv) {
        *kernel = (struct gdx_hip_kernel){ .layout = NULL };
        kernel->layout = gdx_spirv_layout(found->metadata, found->bytes, name, kernel->required);
        return kernel->layout != NULL;
    }
    struct gdx_pack at = { found->metadata, found->metadata + found->bytes };
    if (!gdx_pack_find(&at, "amdhsa.kernels") || !gdx_pack_next(&at, &list) || list.kind != GDX_ITEM_LIST)
        return false;
    for (uint64_t i = 0; i < list.number; i++) {
        if (is_named(at, name, strlen(name))) {
            read_kernel(at, kernel);
            return kernel->layout != NULL;
        }
        if (!gdx_pack_skip(&at))
            return false;
    }
    return false;
}
