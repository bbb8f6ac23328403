/* Compressed offload bundles (Clang documentation, "Clang Offload Bundler", "Compressed Offload Bundle"):
 *
 *   "CCOB", version and method in 2 bytes each; from version 2 on the size of it all; the size before; 8 bytes of a hash; the
 *   stream. Sizes take 4 bytes, with version 3 they take 8. Methods: 0 zlib, 1 zstd (LLVM, llvm/Support/Compression.h)
 *
 * Unpacked by the system's own libz and libzstd, which are loaded for that when a kernel out of such code is first described,
 * unless the process has them; where they are missing, that is said. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#include "driver/driver.h"
#include "hip/unpack.h"

enum { ZLIB = 0, ZSTD = 1, HEAD_MOST = 32, MARGIN = 1 << 16 };
static const uint64_t largest = 1ull << 30;

struct head { char magic[4]; uint16_t version, method; };
struct stream { const char *at; uint64_t bytes, before; int method; };

/* ---- the head ---- */

static bool read_sizes(const char *at, unsigned version, uint64_t *whole, uint64_t *before)
{
    uint32_t narrow[2] = { 0 };
    if (version == 3) {
        memcpy(whole, at, sizeof *whole);
        memcpy(before, at + sizeof *whole, sizeof *before);
        return true;
    }
    memcpy(narrow, at, version == 1 ? sizeof *narrow : sizeof narrow);
    *before = narrow[version == 2];
    *whole = version == 2 ? narrow[0] : 0;
    return version == 1 || version == 2;
}

/* Version 1 does not say where it ends: the stream does, and cannot be much longer than what it unpacks to. */
static bool read_head(const char *packed, struct stream *stream)
{
    static const unsigned sizes[] = { 0, 20, 24, HEAD_MOST };  /* of the head, by version */
    struct head head;
    uint64_t whole = 0;
    memcpy(&head, packed, sizeof head);
    if (!head.version || head.version > 3 || head.method > ZSTD
        || !read_sizes(packed + sizeof head, head.version, &whole, &stream->before))
        return false;
    stream->at = packed + sizes[head.version];
    stream->method = head.method;
    stream->bytes = whole > sizes[head.version] ? whole - sizes[head.version] : 0;
    if (head.version == 1)
        stream->bytes = stream->before + MARGIN;
    return stream->before && stream->before <= largest && stream->bytes;
}

/* ---- libraries ---- */

typedef int inflate(unsigned char *to, unsigned long *room, const unsigned char *from, unsigned long bytes);
typedef size_t zstd_decompress(void *to, size_t room, const void *from, size_t bytes);
typedef size_t zstd_frame_size(const void *from, size_t bytes);

/* It is never let go: whoever else uses it may rely on it by then. */
static void *library(const char *file)
{
    void *found = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (!found)
        dlerror();  /* ours */
    return found;
}

static void *function(const char *file, const char *name)
{
    gdx_find_dlsym();
    void *from = gdx_real_dlsym ? library(file) : NULL;
    return from ? gdx_real_dlsym(from, name) : NULL;
}

static const char *by_zlib(const struct stream *stream, void *plain)
{
    unsigned long made = stream->before;
    inflate *uncompress = (inflate *)function("libz.so.1", "uncompress");
    if (!uncompress)
        return "the device code is compressed with zlib, and libz.so.1 is not there to unpack it";
    return uncompress(plain, &made, (const unsigned char *)stream->at, stream->bytes) == 0 && made == stream->before
        ? NULL : GDX_HIP_DAMAGED;
}

/* zstd.h: a size, or an error in the last values of size_t. The frame may be shorter than what can be read. */
static const char *by_zstd(const struct stream *stream, void *plain)
{
    zstd_decompress *decompress = (zstd_decompress *)function("libzstd.so.1", "ZSTD_decompress");
    zstd_frame_size *frame = (zstd_frame_size *)function("libzstd.so.1", "ZSTD_findFrameCompressedSize");
    if (!decompress || !frame)
        return "the device code is compressed with zstd, and libzstd.so.1 is not there to unpack it";
    size_t bytes = frame(stream->at, stream->bytes);
    return bytes <= stream->bytes && decompress(plain, stream->before, stream->at, bytes) == stream->before
        ? NULL : GDX_HIP_DAMAGED;
}

/* ---- unpacking ---- */

static void *pages(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static const char *unpack(const struct stream *stream, char **plain, size_t *bytes)
{
    void *room = pages(stream->before);
    if (room == MAP_FAILED)
        return GDX_HIP_DAMAGED;
    const char *why = stream->method == ZLIB ? by_zlib(stream, room) : by_zstd(stream, room);
    if (why) {
        munmap(room, stream->before);
        return why;
    }
    *plain = room;
    *bytes = stream->before;
    return NULL;
}

const char *gdx_hip_unpack(const char *packed, const char *end, gdx_copy_some *copy_some, char **plain, size_t *bytes)
{
    struct stream stream = { 0 };
    char head[HEAD_MOST];
    uint64_t most = end ? (uint64_t)(end - packed) : UINT64_MAX;
    if (most < HEAD_MOST || copy_some(head, packed, HEAD_MOST) < HEAD_MOST || !read_head(head, &stream))
        return "the device code is compressed in a way that is not known";
    size_t head_bytes = (size_t)(stream.at - head), room = stream.bytes;
    room = room < most - head_bytes ? room : most - head_bytes;
    char *copy = room && room <= 2 * largest ? pages(room) : MAP_FAILED;
    if (copy == MAP_FAILED)
        return GDX_HIP_DAMAGED;
    stream.at = copy;
    stream.bytes = copy_some(copy, packed + head_bytes, room);
    const char *why = stream.bytes ? unpack(&stream, plain, bytes) : GDX_HIP_DAMAGED;
    munmap(copy, room);
    return why;
}
