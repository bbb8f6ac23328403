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

static bool in_bundle(const char *at)
{
    uint64_t count, entry[3];
    memcpy(&count, at + strlen(magic), sizeof count);
    at += strlen(magic) + sizeof count;
    for (uint64_t i = 0; i < count && i < ENTRIES; i++, at += sizeof entry + entry[2]) {
        memcpy(entry, at, sizeof entry);
        if (entry[2] > NAME)
            return false;
        if (names_it(at + sizeof entry, entry[2]) || memmem(at + sizeof entry, entry[2], "-spirv", 6))
            return true;
    }
    return false;
}

bool sim_has_code(const void *image)
{
    const struct { uint32_t magic, version; const char *binary; } *wrapper = image;
    const char *at = wrapper->magic == WRAPPER ? wrapper->binary : image;
    if (!memcmp(at, magic, strlen(magic)))
        return in_bundle(at);
    return memcmp(at, "\177ELF", 4) || names_it(at, LOOKED_THROUGH);
}
