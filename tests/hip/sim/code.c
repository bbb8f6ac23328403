/* Is device code for the devices? Bundles are read as clang writes them ("Clang Offload Bundler"); a code object by itself is
 * looked through for the name of the processor, which its metadata has. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "sim.h"

enum { WRAPPER = 0x48495046, LOOKED_THROUGH = 4096, ENTRIES = 32, NAME = 200 };  /* what is damaged ends soon */
static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";

const char *sim_architecture(void)
{
    const char *given = getenv("GPUDX_HIP_SIM_ARCH");
    return given ? given : "gfx90a:sramecc+:xnack-";
}

static bool names_it(const char *text, size_t bytes)
{
    const char *processor = sim_architecture();
    size_t length = strcspn(processor, ":");
    const char *found = memmem(text, bytes, processor, length);
    size_t behind = found ? (size_t)(found - text) + length : 0;
    return found && (behind >= bytes || !text[behind] || text[behind] == ':' || text[behind] < '0');
}

/* The place of an entry's code in the bundle, and how long it is. */
struct entry { uint64_t offset, bytes, name_bytes; };

static bool in_bundle(const char *bundle, struct entry *entry)
{
    const char *at = bundle + strlen(magic);
    uint64_t count;
    memcpy(&count, at, sizeof count);
    at += sizeof count;
    for (uint64_t i = 0; i < count && i < ENTRIES; i++, at += sizeof *entry + entry->name_bytes) {
        memcpy(entry, at, sizeof *entry);
        if (entry->name_bytes > NAME)
            return false;
        if (names_it(at + sizeof *entry, entry->name_bytes) || memmem(at + sizeof *entry, entry->name_bytes, "-spirv", 6))
            return true;
    }
    return false;
}

static const char *unwrapped(const void *image)
{
    const struct { uint32_t magic, version; const char *binary; } *wrapper = image;
    return wrapper->magic == WRAPPER ? wrapper->binary : image;
}

bool sim_has_code(const void *image)
{
    const char *at = unwrapped(image);
    struct entry entry;
    if (!memcmp(at, magic, strlen(magic)))
        return in_bundle(at, &entry);
    return memcmp(at, "\177ELF", 4) || names_it(at, LOOKED_THROUGH);
}

/* A whole number of msgpack; 0: anything else. */
static unsigned number(const unsigned char *at)
{
    return *at < 0x80 ? *at : *at == 0xcc ? at[1] : *at == 0xcd ? at[1] << 8 | at[2] : 0;
}

/* ".max_flat_workgroup_size" of a kernel in its metadata (AMDGPUUsage, "Code Object V4 Metadata"), whose keys are sorted: ".name" is next. */
unsigned sim_most_threads(const void *image, const char *name)
{
    static const char key[] = ".max_flat_workgroup_size", next[] = "\xa5.name";
    const char *at = unwrapped(image), *end;
    struct entry entry;
    if (memcmp(at, magic, strlen(magic)) || !in_bundle(at, &entry))
        return 0;
    at += entry.offset, end = at + entry.bytes;
    while ((at = memmem(at, end - at, key, strlen(key)))) {
        const char *value = at += strlen(key), *named = memmem(at, end - at < 9 ? end - at : 9, next, strlen(next));
        const char *found = named ? memmem(named, end - named < LOOKED_THROUGH ? end - named : LOOKED_THROUGH, name, strlen(name)) : NULL;
        size_t head = found ? (size_t)(found - named) - strlen(next) : 0;
        if (head && head <= 3)  /* what says how long the text is */
            return number((const unsigned char *)value);
    }
    return 0;
}
