/* See nan.h. */
#define _GNU_SOURCE
#include "opencl/nan.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/gave_up.h"
#include "opencl/capture.h"

enum { TYPES = 1 << 10, ROOM = 1 << 20, TEXT = 1024, SOURCE_MOST = 8 << 20 };
#define WORD(x) ((uint64_t)(uintptr_t)(x))

static _Atomic uint64_t scanned, unknown;

/* ---- which arguments point to floating-point numbers ---- */

/* "float4*" -> 4; 0: no such type */
static unsigned float_size(const char *type)
{
    static const struct { const char *name; unsigned size; } known[] = { { "float", 4 }, { "double", 8 }, { "half", 2 } };
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(known[i].name);
        const char *rest = type + length;
        if (strncmp(type, known[i].name, length))
            continue;
        rest += strspn(rest, "0123456789");
        rest += strspn(rest, " *");
        if (!*rest)
            return known[i].size;
    }
    return 0;
}

static bool is_integer(const char *type)
{
    static const char *const known[] = { "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "unsigned", "size_t", "void", "bool" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t length = strlen(known[i]);
        if (!strncmp(type, known[i], length) && !strpbrk(type + length, "abcdefghijklmnopqrstuvwxyz_"))
            return true;
    }
    return !strncmp(type, "unsigned ", 9);
}

/* A name that the source declares: typedef float real; */
static unsigned declared_size(const char *source, const char *type)
{
    static const char *const bases[] = { "float", "double", "half", "float2", "float3", "float4", "float8", "float16", "double2", "double4" };
    char wanted[TEXT], name[TEXT / 2];
    size_t length = strcspn(type, " *");
    if (!source || !length || length >= sizeof name)
        return 0;
    memcpy(name, type, length);
    name[length] = 0;
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        snprintf(wanted, sizeof wanted, "typedef %s %s;", bases[i], name);
        if (strstr(source, wanted))
            return float_size(bases[i]);
    }
    return 0;
}

struct types { uint64_t program, name; uint8_t sizes[GDX_NAN_ARGUMENTS]; uint8_t unknown; };
static struct types known_types[TYPES];  /* with the lock held; a program of 0: free */

static char *source_of(cl_program program, size_t *bytes)
{
    *bytes = 0;
    if (gdx_cl_next.clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, bytes) != CL_SUCCESS || *bytes <= 1 || *bytes > SOURCE_MOST)
        return NULL;
    char *room = mmap(NULL, *bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    if (gdx_cl_next.clGetProgramInfo(program, CL_PROGRAM_SOURCE, *bytes, room, NULL) == CL_SUCCESS)
        return room;
    munmap(room, *bytes + 1);
    return NULL;
}

/* A kernel that its driver describes: the program's own, or one of a build of ours with -cl-kernel-arg-info. */
static cl_kernel described(cl_kernel kernel, cl_program program, const char *name, const char *source, cl_program *ours)
{
    char options[4 * TEXT] = "", type[TEXT];
    size_t bytes = 0;
    cl_device_id device = NULL;
    cl_context context = NULL;
    cl_int status = CL_SUCCESS;
    if (gdx_cl_next.clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_TYPE_NAME, sizeof type, type, &bytes) == CL_SUCCESS && bytes > 1)
        return kernel;
    if (!source || gdx_cl_next.clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof device, &device, NULL) != CL_SUCCESS
        || gdx_cl_next.clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS)
        return NULL;
    gdx_cl_next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof options - 32, options, NULL);
    strcat(options, " -cl-kernel-arg-info");
    *ours = gdx_cl_next.clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &status);
    if (!*ours || gdx_cl_next.clBuildProgram(*ours, 1, &device, options, NULL, NULL) != CL_SUCCESS)
        return NULL;
    return gdx_cl_next.clCreateKernel(*ours, name, &status);
}

static void ask_types(cl_kernel kernel, cl_program program, const char *name, struct types *out)
{
    cl_uint count = 0;
    cl_program ours = NULL;
    size_t source_bytes;
    char *source = source_of(program, &source_bytes), type[TEXT];
    cl_kernel asked = described(kernel, program, name, source, &ours);
    gdx_cl_next.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
    for (cl_uint i = 0; i < count && i < GDX_NAN_ARGUMENTS; i++) {
        size_t bytes = 0;
        if (!asked || gdx_cl_next.clGetKernelArgInfo(asked, i, CL_KERNEL_ARG_TYPE_NAME, sizeof type, type, &bytes) != CL_SUCCESS || bytes <= 1) {
            out->unknown++;
            continue;
        }
        out->sizes[i] = (uint8_t)float_size(type);
        if (!out->sizes[i] && !is_integer(type)) {
            out->sizes[i] = (uint8_t)declared_size(source, type);
            out->unknown += !out->sizes[i] && strchr(type, '*');
        }
    }
    if (asked && asked != kernel)
        gdx_cl_next.clReleaseKernel(asked);
    if (ours)
        gdx_cl_next.clReleaseProgram(ours);
    if (source)
        munmap(source, source_bytes + 1);
}

static void types_of(cl_kernel kernel, const char *name, struct types *out)
{
    struct gdx_calm calm;
    cl_program program = NULL;
    gdx_cl_next.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    *out = (struct types){ .program = WORD(program), .name = gdx_hash_text(name) };
    size_t at = (out->name ^ out->program >> 4) % TYPES;
    gdx_lock(GDX_LOCK_CAPTURE, &calm);
    bool found = known_types[at].program == out->program && known_types[at].name == out->name;
    if (found)
        *out = known_types[at];
    gdx_unlock(GDX_LOCK_CAPTURE, &calm);
    if (found || !program)
        return;
    ask_types(kernel, program, name, out);
    atomic_fetch_add(&unknown, out->unknown);
    gdx_lock(GDX_LOCK_CAPTURE, &calm);
    known_types[at] = *out;
    gdx_unlock(GDX_LOCK_CAPTURE, &calm);
}

/* ---- looking ---- */

/* All bits of the exponent set; a NaN has others too. */
static void look_at(const void *data, unsigned size, uint64_t count, uint64_t first, struct gdx_nan_look *out)
{
    static const struct { unsigned size; uint64_t exponent, fraction; } forms[] = {
        { 2, 0x7c00, 0x3ff }, { 4, 0x7f800000, 0x7fffff }, { 8, 0x7ff0000000000000, 0xfffffffffffff },
    };
    const uint64_t exponent = forms[size / 4].exponent, fraction = forms[size / 4].fraction;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t bits = size == 2 ? ((const uint16_t *)data)[i] : size == 4 ? ((const uint32_t *)data)[i] : ((const uint64_t *)data)[i];
        if (__builtin_expect((bits & exponent) != exponent, 1))
            continue;
        bool nan = bits & fraction;
        if (!out->count[nan]++)
            out->first[nan] = first + i;
    }
}

static void look(const struct gdx_cl_launch *l, const struct types *types, struct gdx_nan_look looks[GDX_NAN_ARGUMENTS])
{
    char *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(looks, 0, GDX_NAN_ARGUMENTS * sizeof *looks);
    for (cl_uint i = 0; room != MAP_FAILED && i < GDX_NAN_ARGUMENTS; i++) {
        struct gdx_argument a;
        struct gdx_cl_place place;
        unsigned size = types->sizes[i];
        if (!size || !gdx_cl_argument_at(l->kernel, i, &a))
            continue;
        if (!gdx_cl_capture_place(&a, &place)) {
            if (a.size == size && a.flags == GDX_ARG_set)
                look_at(&a.value, size, 1, 0, &looks[i]);  /* a number */
            continue;
        }
        looks[i].elements = place.bytes / size;
        for (uint64_t offset = 0; offset < place.bytes; offset += ROOM) {
            size_t bytes = place.bytes - offset < ROOM ? (size_t)(place.bytes - offset) : ROOM;
            if (gdx_cl_capture_content(l->queue, &place, offset, bytes, room))
                look_at(room, size, bytes / size, offset / size, &looks[i]);
        }
    }
    if (room != MAP_FAILED)
        munmap(room, ROOM);
}

static uint64_t total(const struct gdx_nan_look looks[GDX_NAN_ARGUMENTS], int nan)
{
    uint64_t sum = 0;
    for (int i = 0; i < GDX_NAN_ARGUMENTS; i++)
        sum += looks[i].count[nan];
    return sum;
}

static _Atomic bool found[2];  /* an infinity, a NaN */
static pid_t owner;

/* Every Nth launch is enough to see that there is one; which launch made it needs a look before, too. */
bool gdx_cl_nan_before(const char *kernel, const struct gdx_cl_launch *l, struct gdx_cl_nan *n)
{
    cl_int status;
    struct types types;
    if (!(gdx_capturing() & GDX_CAPTURE_NAN) || gdx_cl_in_callback())
        return false;
    n->launch = gdx_count_launch(kernel, &n->of_kernel);
    owner = getpid();
    if ((found[0] && found[1]) || !gdx_nan_here(n->launch) || !gdx_cl_capture_may_look())
        return false;
    types_of(l->kernel, kernel, &types);
    memcpy(n->sizes, types.sizes, sizeof n->sizes);
    snprintf(n->kernel, sizeof n->kernel, "%s", kernel);
    n->exact = gdx_nan_every() == 1;
    if (n->exact) {
        uint64_t began = gdx_clock_ns(CLOCK_MONOTONIC);
        struct gdx_nan_look looks[GDX_NAN_ARGUMENTS];
        if (gdx_cl_capture_wait(l, true, &status))
            return false;
        look(l, &types, looks);
        gdx_cl_capture_looked(began);
        n->before[0] = total(looks, 0);
        n->before[1] = total(looks, 1);
    }
    return true;
}

void gdx_cl_nan_after(struct gdx_cl_nan *n, const struct gdx_cl_launch *l, cl_int status)
{
    struct types types = { 0 };
    struct gdx_nan_look looks[GDX_NAN_ARGUMENTS];
    cl_int ended;
    uint64_t began = gdx_clock_ns(CLOCK_MONOTONIC);
    if (status != CL_SUCCESS || gdx_cl_capture_wait(l, false, &ended))
        return;
    memcpy(types.sizes, n->sizes, sizeof types.sizes);
    look(l, &types, looks);
    gdx_cl_capture_looked(began);
    atomic_fetch_add(&scanned, 1);
    for (int nan = 0; nan < 2; nan++) {
        bool clean = !n->exact || !(n->before[nan] || (!nan && n->before[1]));
        if (!total(looks, nan) || !clean || atomic_exchange(&found[nan], true))
            continue;
        for (unsigned i = 0; i < GDX_NAN_ARGUMENTS; i++)
            if (looks[i].count[nan]) {
                const uint64_t words[] = { (uint64_t)nan, looks[i].first[nan], looks[i].count[nan], n->sizes[i], looks[i].elements,
                                           n->exact, 0 };
                gdx_nan_found(n->kernel, words, 7, n->launch, n->of_kernel, i);
                break;
            }
    }
}

__attribute__((destructor)) static void leave(void)
{
    if (owner == getpid() && gdx_on())
        gdx_nan_scanned(atomic_load(&scanned), gdx_launches_counted(), atomic_load(&unknown));
}
