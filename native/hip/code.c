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
 * Nothing is believed: memory is looked at only where it can be read, and every offset is checked. Metadata is searched when
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

#include "hip/hooks.h"
#include "hip/msgpack.h"
#include "hip/spirv.h"
#include "hip/unpack.h"

enum { PAGE = 4096, ENTRIES_MAX = 256, TARGET_MAX = 256, NOTE_METADATA = 32, MACHINE_AMDGPU = 224 };
static const char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";
static const uint32_t wrapper_magic = 0x48495046;  /* "HIPF" */

struct wrapper { uint32_t magic, version; const char *binary; void *unused; };
struct entry { uint64_t offset, size, target_bytes; };

struct gdx_hip_image {
    const char *binary;       /* a bundle or a code object; NULL: only `metadata` was kept */
    const char *end;          /* NULL: not known */
    const uint8_t *metadata;
    size_t bytes;
    bool spirv;               /* `metadata` is a whole module of SPIR-V */
    const char *why_not;
    char targets[512];        /* with spaces between them */
    bool cut;                 /* not all of them */
    _Atomic uint8_t looked;
    _Atomic uint32_t noted;   /* by generation: a forked child has a trace of its own */
};

/* ---- finding the metadata ---- */

static uint64_t readable_bytes(const char *at, uint64_t bytes)
{
    uintptr_t from = (uintptr_t)at, to = from + bytes, page = from & ~(uintptr_t)(PAGE - 1);
    if (from < PAGE || to < from || bytes > (uint64_t)1 << 32)
        return 0;
    while (page < to && gdx_page_readable(page))
        page += PAGE;
    return page >= to ? bytes : page > from ? page - from : 0;
}

static bool readable(const char *at, uint64_t bytes)
{
    return !bytes || readable_bytes(at, bytes) == bytes;
}

/* The bytes from an offset on that the image itself names; NULL: they are not all there. What lies behind a file or an unpacked
 * bundle is somebody else's, and can go at any time. */
static const char *part_at(const struct gdx_hip_image *image, const char *base, uint64_t offset, uint64_t bytes)
{
    uintptr_t from = (uintptr_t)base + offset, to = from + bytes;
    if (from < (uintptr_t)base || to < from || (image->end && to > (uintptr_t)image->end))
        return NULL;
    return readable((const char *)from, bytes) ? (const char *)from : NULL;
}

static bool find_note(struct gdx_hip_image *image, const char *at, uint64_t bytes)
{
    while (bytes >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        memcpy(&note, at, sizeof note);
        uint64_t name = ((uint64_t)note.n_namesz + 3) & ~3ull, whole = sizeof note + name + (((uint64_t)note.n_descsz + 3) & ~3ull);
        if (sizeof note + name + note.n_descsz > bytes)
            return false;
        if (note.n_type == NOTE_METADATA && note.n_namesz == 7 && !memcmp(at + sizeof note, "AMDGPU", 7)) {
            image->metadata = (const uint8_t *)at + sizeof note + name;
            image->bytes = note.n_descsz;
            return true;
        }
        if (whole > bytes)
            return false;
        at += whole;
        bytes -= whole;
    }
    return false;
}

static bool read_code_object(struct gdx_hip_image *image, const char *at)
{
    Elf64_Ehdr head;
    Elf64_Phdr part;
    if (!part_at(image, at, 0, sizeof head))
        return false;
    memcpy(&head, at, sizeof head);
    const char *parts = part_at(image, at, head.e_phoff, (uint64_t)head.e_phnum * sizeof part), *notes;
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_machine != MACHINE_AMDGPU || head.e_phentsize != sizeof part || !parts)
        return false;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        memcpy(&part, parts + i * sizeof part, sizeof part);
        if (part.p_type == PT_NOTE && (notes = part_at(image, at, part.p_offset, part.p_filesz))
            && find_note(image, notes, part.p_filesz))
            return true;
    }
    return false;
}

/* "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-" -> "gfx90a:xnack-" */
static void keep_target(struct gdx_hip_image *image, const char *id, size_t bytes)
{
    const char *found = memmem(id, bytes, "gfx", 3);
    found = found ? found : memmem(id, bytes, "amdgcnspirv", 11);
    size_t rest = found ? bytes - (size_t)(found - id) : 0, used = strlen(image->targets);
    if (!found && memmem(id, bytes, "-spirv", 6)) {  /* "hip-spirv64-unknown-chipstar--generic" */
        found = "spirv64";
        rest = strlen(found);
    }
    if (!rest || used + rest + 2 > sizeof image->targets) {
        image->cut = true;
        return;
    }
    if (used)
        image->targets[used++] = ' ';
    memcpy(image->targets + used, found, rest);
    image->targets[used + rest] = 0;
}

/* The parameters of its kernels are in the module itself, so all of it is metadata. */
static bool read_spirv(struct gdx_hip_image *image, const char *at, uint64_t bytes)
{
    const char *module = part_at(image, at, 0, bytes);
    if (!module || !gdx_is_spirv(module, bytes))
        return false;
    image->metadata = (const uint8_t *)module;
    image->bytes = bytes;
    image->spirv = true;
    return true;
}

/* A code object by itself says what it is for in its metadata. */
static bool read_single(struct gdx_hip_image *image)
{
    struct gdx_item target;
    if (image->end && read_spirv(image, image->binary, (uint64_t)(image->end - image->binary))) {
        strcpy(image->targets, "spirv64");
        return true;
    }
    if (!read_code_object(image, image->binary))
        return false;
    struct gdx_pack at = { image->metadata, image->metadata + image->bytes };
    if (gdx_pack_find(&at, "amdhsa.target") && gdx_pack_next(&at, &target) && target.kind == GDX_ITEM_TEXT)
        keep_target(image, target.text, target.number);
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
static bool read_bundle(struct gdx_hip_image *image, const char *at)
{
    uint64_t count;
    const char *next = at + strlen(bundle_magic);
    if (!part_at(image, next, 0, sizeof count))
        return false;
    memcpy(&count, next, sizeof count);
    next += sizeof count;
    image->cut = count > ENTRIES_MAX;
    for (uint64_t i = 0; i < count && i < ENTRIES_MAX; i++) {
        struct entry entry;
        if (!part_at(image, next, 0, sizeof entry))
            break;
        memcpy(&entry, next, sizeof entry);
        next += sizeof entry;
        if (entry.target_bytes > TARGET_MAX || !part_at(image, next, 0, entry.target_bytes))
            break;
        if (is_for_device(next, entry.target_bytes)) {
            keep_target(image, next, entry.target_bytes);
            const char *code = part_at(image, at, entry.offset, 0);
            if (!image->metadata && code && !read_code_object(image, code))
                read_spirv(image, code, entry.size);
        }
        next += entry.target_bytes;
    }
    return image->metadata;
}

static bool begins(const struct gdx_hip_image *image, const char *with)
{
    return part_at(image, image->binary, 0, strlen(with)) && !memcmp(image->binary, with, strlen(with));
}

static void look_at_plain(struct gdx_hip_image *image)
{
    bool bundled = begins(image, bundle_magic);
    if (bundled ? read_bundle(image, image->binary) : read_single(image))
        return;
    image->why_not = bundled || begins(image, ELFMAG) ? "the device code has no metadata that is understood"
                                                               : "it is no device code";
}

static void *kept_pages(const void *from, size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : memcpy(at, from, bytes);
}

/* Only the metadata is kept. What is found is put into the image at the end: others may be reading it. */
static void look_at_packed(struct gdx_hip_image *image)
{
    struct gdx_hip_image found = { 0 };
    char *plain = NULL;
    size_t bytes = 0;
    const char *why = gdx_hip_unpack(image->binary, image->end, readable_bytes, &plain, &bytes);
    if (!why) {
        found.binary = plain;
        found.end = plain + bytes;
        look_at_plain(&found);
        found.metadata = found.metadata ? kept_pages(found.metadata, found.bytes) : NULL;
        why = found.why_not;
        munmap(plain, bytes);
    }
    memcpy(image->targets, found.targets, sizeof image->targets);
    image->cut = found.cut;
    image->bytes = found.metadata ? found.bytes : 0;
    image->metadata = found.metadata;
    image->spirv = found.spirv;
    image->why_not = why;
}

static void look(struct gdx_hip_image *image)
{
    if (begins(image, "CCOB"))
        look_at_packed(image);
    else
        look_at_plain(image);
}

/* Threads may look at the same time, with the same result; an image that is looked at is not changed any more. */
static const struct gdx_hip_image *looked_at(const struct gdx_hip_image *given)
{
    struct gdx_hip_image *image = (struct gdx_hip_image *)given;
    if (!image || atomic_load_explicit(&image->looked, memory_order_acquire))
        return image;
    look(image);
    atomic_store_explicit(&image->looked, 1, memory_order_release);
    return image;
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

const struct gdx_hip_image *gdx_hip_image_of(const void *fat_binary)
{
    struct wrapper wrapper;
    const char *binary = fat_binary;
    if (!readable(fat_binary, sizeof wrapper))
        return NULL;
    memcpy(&wrapper, fat_binary, sizeof wrapper);
    if (wrapper.magic == wrapper_magic)
        binary = wrapper.binary;
    return fresh(binary, NULL);
}

/* What the metadata says is copied: the image itself is the program's, and may be gone at the first launch. */
static const struct gdx_hip_image *copied(struct gdx_hip_image *image)
{
    if (!looked_at(image))
        return NULL;
    uint8_t *kept = NULL;
    if (image->metadata && image->spirv)
        kept = kept_pages(image->metadata, image->bytes);
    else if (image->metadata && (kept = gdx_keep(image->bytes)))
        memcpy(kept, image->metadata, image->bytes);
    if (!kept)
        image->bytes = 0;
    image->metadata = kept;
    image->binary = NULL;
    return image;
}

const struct gdx_hip_image *gdx_hip_copy_image(const void *image)
{
    return gdx_on() && image ? copied((struct gdx_hip_image *)gdx_hip_image_of(image)) : NULL;
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
    return looked_at(image) ? image->why_not : "the device code was not seen";
}

const char *gdx_hip_targets(const struct gdx_hip_image *image, bool *whole)
{
    *whole = looked_at(image) && !image->cut;
    return image ? image->targets : "";
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

static uint32_t count_arguments(struct gdx_pack list, uint64_t all)
{
    uint32_t count = 0;
    for (uint64_t i = 0; i < all; i++) {
        count += !is_hidden(list);
        if (!gdx_pack_skip(&list))
            return 0;
    }
    return count;
}

static struct gdx_layout *read_layout(struct gdx_pack kernel)
{
    struct gdx_item list = { .kind = GDX_ITEM_LIST };
    if (gdx_pack_find(&kernel, ".args") && (!gdx_pack_next(&kernel, &list) || list.kind != GDX_ITEM_LIST))
        return NULL;
    struct gdx_layout *layout = gdx_layout_begin(count_arguments(kernel, list.number));
    uint32_t index = 0;
    for (uint64_t i = 0; layout && i < list.number; i++) {
        if (!is_hidden(kernel))
            gdx_layout_add(layout, index++, gdx_pack_number(kernel, ".offset"), gdx_pack_number(kernel, ".size"));
        gdx_pack_skip(&kernel);
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
    if (!looked_at(image) || !image->metadata || !name)
        return false;
    if (image->spirv) {
        *kernel = (struct gdx_hip_kernel){ .layout = NULL };
        kernel->layout = gdx_spirv_layout(image->metadata, image->bytes, name, kernel->required);
        return kernel->layout != NULL;
    }
    struct gdx_pack at = { image->metadata, image->metadata + image->bytes };
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
