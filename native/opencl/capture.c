/* See capture.h. */
#define _GNU_SOURCE
#include "opencl/capture.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "core/clock.h"
#include "core/gave_up.h"

enum { TABLE = 1 << 16, LONG_VALUES = 1 << 10, REACHED = 512, TEXT = 4096, CODE_MOST = 64 << 20, DEVICES = 64 };
#define WORD(x) ((uint64_t)(uintptr_t)(x))

/* ---- which values are handles of memory: the driver must not be asked about numbers that look like one ---- */

static cl_mem known[TABLE];  /* with the lock held */

static size_t home(cl_mem mem)
{
    return (size_t)((WORD(mem) >> 4) * 0x9e3779b97f4a7c15ull >> 40) & (TABLE - 1);
}

/* Its place; NULL: there is none. */
static cl_mem *place_of(cl_mem mem)
{
    for (size_t i = 0, at = home(mem); i < TABLE; i++, at = (at + 1) & (TABLE - 1)) {
        if (known[at] == mem)
            return &known[at];
        if (!known[at])
            return NULL;
    }
    return NULL;
}

void gdx_cl_capture_memory(cl_mem mem)
{
    struct gdx_calm calm;
    if (!gdx_on())
        return;
    gdx_lock(GDX_LOCK_CAPTURE, &calm);
    for (size_t i = 0, at = home(mem); i < TABLE && !place_of(mem); i++, at = (at + 1) & (TABLE - 1))
        if (!known[at] || known[at] == (cl_mem)1)
            known[at] = mem;
    gdx_unlock(GDX_LOCK_CAPTURE, &calm);
}

void gdx_cl_capture_let_go(cl_mem mem)
{
    struct gdx_calm calm;
    cl_uint references = 0;
    if (!gdx_on() || !gdx_cl_capture_knows(mem)
        || gdx_cl_next.clGetMemObjectInfo(mem, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL) != CL_SUCCESS
        || references > 1)
        return;
    gdx_lock(GDX_LOCK_CAPTURE, &calm);
    cl_mem *at = place_of(mem);
    if (at)
        *at = (cl_mem)1;  /* used before: others may lie behind it */
    gdx_unlock(GDX_LOCK_CAPTURE, &calm);
}

bool gdx_cl_capture_knows(cl_mem mem)
{
    struct gdx_calm calm;
    if (WORD(mem) <= 1 || !gdx_on())
        return false;
    gdx_lock(GDX_LOCK_CAPTURE, &calm);
    bool found = place_of(mem);
    gdx_unlock(GDX_LOCK_CAPTURE, &calm);
    return found;
}

/* ---- values that are too long for the record ---- */

static struct { cl_kernel kernel; cl_uint index; size_t size; char *bytes; } values[LONG_VALUES];  /* with the lock held */

void gdx_cl_capture_value(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    struct gdx_calm calm;
    int saved = errno;
    struct gdx_lane *lane = gdx_on() ? gdx_lane() : NULL;
    char *room = lane ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED, *old = NULL;
    size_t old_size = 0;
    if (room == MAP_FAILED)
        return;
    if (!gdx_read(&lane->reader, room, value, size)) {
        munmap(room, size);
        return;
    }
    gdx_lock(GDX_LOCK_CAPTURE, &calm);
    int at = -1;
    for (int i = 0; i < LONG_VALUES; i++) {
        if (values[i].kernel == kernel && values[i].index == index) {
            at = i;
            break;
        }
        at = at < 0 && !values[i].kernel ? i : at;
    }
    if (at >= 0) {
        old = values[at].bytes;
        old_size = values[at].size;
        values[at].kernel = kernel;
        values[at].index = index;
        values[at].size = size;
        values[at].bytes = room;
    }
    gdx_unlock(GDX_LOCK_CAPTURE, &calm);
    if (at < 0)
        munmap(room, size);
    if (old)
        munmap(old, old_size);
    errno = saved;
}

static const char *long_value(cl_kernel kernel, cl_uint index, size_t size)
{
    struct gdx_calm calm;
    const char *found = NULL;
    gdx_lock(GDX_LOCK_CAPTURE, &calm);
    for (int i = 0; i < LONG_VALUES && !found; i++)
        if (values[i].kernel == kernel && values[i].index == index && values[i].size == size)
            found = values[i].bytes;
    gdx_unlock(GDX_LOCK_CAPTURE, &calm);
    return found;
}

/* ---- how long looking at contents may take ---- */

static _Atomic uint64_t first_look, spent;  /* ns */

/* For the first half minute without a limit, then for nine tenths of the time: of a long chain of short launches, only some are looked at. */
bool gdx_cl_capture_may_look(void)
{
    static const uint64_t FREE_NS = 30000000000ull;
    enum { TENTHS = 9 };
    uint64_t now = gdx_clock_ns(CLOCK_MONOTONIC), none = 0;
    atomic_compare_exchange_strong(&first_look, &none, now);
    uint64_t used = atomic_load(&spent), since = now - atomic_load(&first_look);
    if (used < FREE_NS || used < since / 10 * TENTHS)
        return true;
    gdx_gave_up("A launch was not looked at (--nan, --values): looking at others had taken 30 s and nine tenths of the time since");
    return false;
}

void gdx_cl_capture_looked(uint64_t since)
{
    atomic_fetch_add(&spent, gdx_clock_ns(CLOCK_MONOTONIC) - since);
}

/* ---- waiting and reading ---- */

static const char *await_marker(cl_command_queue queue, cl_uint count, const cl_event *waits, cl_int *status)
{
    cl_event marker;
    const char *not = gdx_cl_awaits_not();
    if (not)  /* before the marker: each one waits for all commands that are held, so many of them take quadratic time */
        return not;
    if (!gdx_cl_next.clEnqueueMarkerWithWaitList
        || gdx_cl_next.clEnqueueMarkerWithWaitList(queue, count, count ? waits : NULL, &marker) != CL_SUCCESS)
        return "the driver took no marker";
    const char *why = gdx_cl_await(queue, marker);
    *status = CL_COMPLETE;
    if (!why)
        gdx_cl_next.clGetEventInfo(marker, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *status, status, NULL);
    gdx_cl_next.clReleaseEvent(marker);
    return why;
}

const char *gdx_cl_capture_wait(const struct gdx_cl_launch *l, bool before, cl_int *status)
{
    const char *why = await_marker(l->queue, 0, NULL, status);
    return !why && before && l->num_waits ? await_marker(l->queue, l->num_waits, l->waits, status) : why;
}

/* A buffer that the host may not read is copied to one of ours first. */
static bool read_by_copy(cl_command_queue queue, cl_mem from, uint64_t offset, size_t bytes, void *room)
{
    cl_context context = NULL;
    cl_int status = gdx_cl_next.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    cl_mem copy = status == CL_SUCCESS ? gdx_cl_next.clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status) : NULL;
    if (!copy)
        return false;
    status = gdx_cl_next.clEnqueueCopyBuffer(queue, from, copy, offset, 0, bytes, 0, NULL, NULL);
    if (status == CL_SUCCESS)
        status = gdx_cl_next.clFinish(queue);
    if (status == CL_SUCCESS)
        status = gdx_cl_next.clEnqueueReadBuffer(queue, copy, CL_TRUE, 0, bytes, room, 0, NULL, NULL);
    gdx_cl_next.clReleaseMemObject(copy);
    return status == CL_SUCCESS;
}

bool gdx_cl_capture_content(cl_command_queue queue, const struct gdx_cl_place *from, uint64_t offset, size_t bytes, void *room)
{
    if (from->svm)
        return gdx_cl_next.clEnqueueSVMMemcpy
            && gdx_cl_next.clEnqueueSVMMemcpy(queue, CL_TRUE, room, from->svm + offset, bytes, 0, NULL, NULL) == CL_SUCCESS;
    cl_int status = gdx_cl_next.clEnqueueReadBuffer(queue, from->mem, CL_TRUE, offset, bytes, room, 0, NULL, NULL);
    return status == CL_SUCCESS || (status == CL_INVALID_OPERATION && read_by_copy(queue, from->mem, offset, bytes, room));
}

static uint64_t mem_number(cl_mem mem, cl_mem_info what)
{
    uint64_t value = 0;
    return gdx_cl_next.clGetMemObjectInfo(mem, what, sizeof value, &value, NULL) == CL_SUCCESS ? value : 0;
}

static bool is_buffer(cl_mem mem)
{
    return mem_number(mem, CL_MEM_TYPE) == CL_MEM_OBJECT_BUFFER;
}

bool gdx_cl_capture_place(const struct gdx_argument *a, struct gdx_cl_place *place)
{
    const void *start = NULL;
    *place = (struct gdx_cl_place){ 0 };
    if (a->flags == (GDX_ARG_set | GDX_ARG_svm)) {
        place->bytes = gdx_cl_svm_block((const void *)(uintptr_t)a->value, &start);
        place->svm = start;
        return start;
    }
    cl_mem mem = a->flags == GDX_ARG_set && a->size == sizeof(cl_mem) ? (cl_mem)(uintptr_t)a->value : NULL;
    if (!gdx_cl_capture_knows(mem) || !is_buffer(mem))
        return false;
    *place = (struct gdx_cl_place){ .mem = mem, .bytes = mem_number(mem, CL_MEM_SIZE) };
    return place->bytes;
}

/* ---- the memory that a launch can reach ---- */

struct gdx_cl_reach {
    uint32_t count;
    struct gdx_cl_place places[REACHED];
    char room[GDX_CAPTURE_PIECE];
};

static int number_of(const struct gdx_cl_reach *r, const struct gdx_cl_place *place)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (r->places[i].mem == place->mem && r->places[i].svm == place->svm)
            return (int)i;
    return -1;
}

/* The number of a buffer; the whole of which it is a part comes first. -1: there are too many. */
static int add_place(struct gdx_cl_capture *c, const struct gdx_cl_place *place)
{
    struct gdx_cl_reach *r = c->reach;
    int at = number_of(r, place), parent = -1;
    if (at >= 0)
        return at;
    cl_mem whole = place->mem ? (cl_mem)(uintptr_t)mem_number(place->mem, CL_MEM_ASSOCIATED_MEMOBJECT) : NULL;
    if (whole) {
        struct gdx_cl_place of = { .mem = whole, .bytes = mem_number(whole, CL_MEM_SIZE) };
        parent = add_place(c, &of);
    }
    if (r->count == REACHED || (!whole && !gdx_capture_room(&c->file, place->bytes)))
        return -1;
    uint64_t words[] = { (uint64_t)(parent + 1), whole ? mem_number(place->mem, CL_MEM_OFFSET) : 0, WORD(place->svm), !!place->svm };
    gdx_capture_put(&c->file, GDX_CAPTURE_BUFFER, r->count, place->bytes, place->mem ? mem_number(place->mem, CL_MEM_FLAGS) : 0, words,
                    sizeof words);
    r->places[r->count] = *place;
    return (int)r->count++;
}

/* Words of SVM that are addresses of other SVM: the kernel can follow them. */
static void follow(struct gdx_cl_capture *c, const char *piece, size_t bytes, uint64_t low, uint64_t top)
{
    for (size_t at = 0; at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) {
        uint64_t word;
        const void *start = NULL;
        memcpy(&word, piece + at, sizeof word);
        uint64_t size = word >= low && word < top ? gdx_cl_svm_block((const void *)(uintptr_t)word, &start) : 0;
        if (start)
            add_place(c, &(struct gdx_cl_place){ .svm = start, .bytes = size });
    }
}

static const char *put_content(struct gdx_cl_capture *c, cl_command_queue queue, enum gdx_capture_kind kind, uint32_t number)
{
    struct gdx_cl_reach *r = c->reach;
    const struct gdx_cl_place place = r->places[number];
    uint64_t low = 0, top = 0;
    bool pointers = kind == GDX_CAPTURE_BEFORE && gdx_cl_svm_extent(&low, &top);
    if (place.mem && mem_number(place.mem, CL_MEM_ASSOCIATED_MEMOBJECT))
        return NULL;  /* it is in the whole */
    for (uint64_t offset = 0; offset < place.bytes; offset += sizeof r->room) {
        size_t bytes = place.bytes - offset < sizeof r->room ? (size_t)(place.bytes - offset) : sizeof r->room;
        if (!gdx_cl_capture_content(queue, &place, offset, bytes, r->room))
            return "the driver does not read one of its buffers";
        gdx_capture_piece(&c->file, kind, number, offset, r->room, bytes);
        if (pointers)
            follow(c, r->room, bytes, low, top);
    }
    return NULL;
}

/* `count` grows while pointers are followed. */
static const char *put_contents(struct gdx_cl_capture *c, cl_command_queue queue, enum gdx_capture_kind kind)
{
    const char *why = NULL;
    for (uint32_t i = 0; !why && i < c->reach->count; i++)
        why = put_content(c, queue, kind, i);
    return why;
}

/* ---- arguments ---- */

static void put_argument(struct gdx_cl_capture *c, cl_kernel kernel, cl_uint index)
{
    struct gdx_argument a;
    struct gdx_cl_place place;
    char bytes[TEXT];
    struct gdx_capture *to = &c->file;
    if (!gdx_cl_argument_at(kernel, index, &a)) {
        gdx_capture_put(to, GDX_CAPTURE_ARGUMENT, index, GDX_GIVEN_UNSET, 0, NULL, 0);
    } else if (a.flags & GDX_ARG_local) {
        /* NULL with the size of a handle can also be memory that is not there: the types tell, later. */
        gdx_capture_put(to, GDX_CAPTURE_ARGUMENT, index, GDX_GIVEN_LOCAL, a.size, NULL, 0);
    } else if (gdx_cl_capture_place(&a, &place)) {
        int number = add_place(c, &place);
        uint64_t offset = place.svm ? a.value - WORD(place.svm) : 0;
        if (number < 0)
            gdx_capture_text(to, GDX_CAPTURE_REFUSED, 0, "the launch reaches more memory than can be captured");
        else
            gdx_capture_put(to, GDX_CAPTURE_ARGUMENT, index, place.svm ? GDX_GIVEN_SVM : GDX_GIVEN_BUFFER, (uint64_t)number, &offset,
                            sizeof offset);
    } else if (a.flags & GDX_ARG_svm) {
        gdx_capture_put(to, GDX_CAPTURE_ARGUMENT, index, a.value ? GDX_GIVEN_OTHER : GDX_GIVEN_NULL, a.value,
                        "a pointer that no clSVMAlloc returned", a.value ? 37 : 0);
    } else if (a.size == sizeof(cl_mem) && gdx_cl_capture_knows((cl_mem)(uintptr_t)a.value)) {
        static const char text[] = "an image or a pipe";
        gdx_capture_put(to, GDX_CAPTURE_ARGUMENT, index, GDX_GIVEN_OTHER, a.value, text, sizeof text - 1);
    } else if (a.size <= sizeof a.value && !(a.flags & GDX_ARG_unreadable)) {
        gdx_capture_put(to, GDX_CAPTURE_ARGUMENT, index, GDX_GIVEN_VALUE, 0, &a.value, a.size);
    } else {
        const char *value = long_value(kernel, index, a.size);
        if (!value && a.size <= sizeof bytes && gdx_cl_argument_bytes(kernel, index, bytes))
            value = bytes;
        static const char lost[] = "a value that was not seen whole";
        gdx_capture_put(to, GDX_CAPTURE_ARGUMENT, index, value ? GDX_GIVEN_VALUE : GDX_GIVEN_OTHER, 0, value ? value : lost,
                        value ? a.size : sizeof lost - 1);
    }
}

static void put_type(struct gdx_cl_capture *c, cl_kernel kernel, cl_uint index)
{
    char text[TEXT];
    size_t type = 0, name = 0;
    if (gdx_cl_next.clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, TEXT / 2, text, &type) != CL_SUCCESS || !type)
        return;
    text[type - 1] = '\n';
    if (gdx_cl_next.clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_NAME, TEXT / 2, text + type, &name) != CL_SUCCESS || !name)
        name = 1;
    cl_uint space = 0;
    gdx_cl_next.clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL);
    gdx_capture_put(&c->file, GDX_CAPTURE_TYPE, index, space ? space - (CL_KERNEL_ARG_ADDRESS_GLOBAL - 1) : 0, 0, text, type + name - 1);
}

static void put_arguments(struct gdx_cl_capture *c, cl_kernel kernel, cl_program program)
{
    cl_uint count = 0;
    gdx_cl_next.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
    bool types = gdx_cl_has_arg_info(program);
    for (cl_uint i = 0; i < count; i++) {
        put_argument(c, kernel, i);
        if (types)
            put_type(c, kernel, i);
    }
}

/* ---- code and device ---- */

static void put_program_text(struct gdx_cl_capture *c, cl_program program, cl_program_info what, uint64_t kind)
{
    size_t bytes = 0;
    if (gdx_cl_next.clGetProgramInfo(program, what, 0, NULL, &bytes) != CL_SUCCESS || bytes <= 1 || bytes > CODE_MOST)
        return;
    char *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return;
    if (gdx_cl_next.clGetProgramInfo(program, what, bytes, room, NULL) == CL_SUCCESS)
        gdx_capture_put(&c->file, GDX_CAPTURE_CODE, kind, 0, 0, room, kind == GDX_CODE_SOURCE ? strnlen(room, bytes) : bytes);
    munmap(room, bytes);
}

/* The binary for one device; the others are asked for by no pointer (OpenCL 1.2 specification, 5.6.7). */
static void put_binary(struct gdx_cl_capture *c, cl_program program, cl_device_id device)
{
    cl_device_id devices[DEVICES];
    size_t sizes[DEVICES] = { 0 }, bytes = 0, at = 0;
    unsigned char *places[DEVICES] = { NULL };
    if (gdx_cl_next.clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof devices, devices, &bytes) != CL_SUCCESS
        || gdx_cl_next.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, NULL) != CL_SUCCESS)
        return;
    while (at < bytes / sizeof *devices && devices[at] != device)
        at++;
    if (at == bytes / sizeof *devices || !sizes[at] || sizes[at] > CODE_MOST)
        return;
    places[at] = mmap(NULL, sizes[at], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (places[at] == MAP_FAILED)
        return;
    if (gdx_cl_next.clGetProgramInfo(program, CL_PROGRAM_BINARIES, bytes / sizeof *devices * sizeof *places, places, NULL) == CL_SUCCESS)
        gdx_capture_put(&c->file, GDX_CAPTURE_CODE, GDX_CODE_BINARY, 0, 0, places[at], sizes[at]);
    munmap(places[at], sizes[at]);
}

static void put_code(struct gdx_cl_capture *c, cl_program program, cl_device_id device)
{
    char options[4 * TEXT];
    size_t bytes = 0;
    put_program_text(c, program, CL_PROGRAM_SOURCE, GDX_CODE_SOURCE);
    put_program_text(c, program, CL_PROGRAM_IL, GDX_CODE_IL);
    put_binary(c, program, device);
    if (gdx_cl_next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof options, options, &bytes) == CL_SUCCESS && bytes > 1)
        gdx_capture_put(&c->file, GDX_CAPTURE_OPTIONS, 0, 0, 0, options, strnlen(options, bytes));
}

static void put_device(struct gdx_cl_capture *c, cl_device_id device)
{
    static const cl_device_info asked[] = { CL_DEVICE_NAME, CL_DEVICE_VERSION, CL_DRIVER_VERSION };
    char text[TEXT] = "", *at = text;
    for (int i = 0; i < 3; i++) {
        size_t bytes = 0;
        if (gdx_cl_next.clGetDeviceInfo(device, asked[i], TEXT / 8, at, &bytes) == CL_SUCCESS && bytes)
            at += strnlen(at, bytes);
        *at++ = '\n';
    }
    cl_platform_id platform = NULL;
    size_t bytes = 0;
    if (gdx_cl_next.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) == CL_SUCCESS
        && gdx_cl_next.clGetPlatformInfo(platform, CL_PLATFORM_NAME, TEXT / 8, at, &bytes) == CL_SUCCESS && bytes)
        at += strnlen(at, bytes);
    gdx_capture_put(&c->file, GDX_CAPTURE_DEVICE, 0, 0, 0, text, (size_t)(at - text));
}

static void put_geometry(struct gdx_cl_capture *c, const struct gdx_cl_launch *l)
{
    uint64_t words[10] = { l->dims };
    for (cl_uint i = 0; i < l->dims && i < 3; i++) {
        words[1 + i] = l->offset ? l->offset[i] : 0;
        words[4 + i] = l->global ? l->global[i] : 0;
        words[7 + i] = l->local ? l->local[i] : 0;
    }
    gdx_capture_put(&c->file, GDX_CAPTURE_GEOMETRY, 0, 0, 0, words, sizeof words);
}

/* ---- hashes of all that a launch is given (gpudx run --values) ---- */

static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
    const char *at = data;
    uint64_t word;
    for (; bytes >= sizeof word; at += sizeof word, bytes -= sizeof word) {
        memcpy(&word, at, sizeof word);
        h = (h ^ word) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 32;
    }
    for (; bytes; at++, bytes--)
        h = (h ^ (unsigned char)*at) * 1099511628211ull;
    return h;
}

/* Of a value or of a content; false: there is nothing to compare. */
static bool hash_argument(const struct gdx_cl_launch *l, cl_uint index, char *room, size_t most, uint64_t *h)
{
    struct gdx_argument a;
    struct gdx_cl_place place;
    *h = 1;
    if (!gdx_cl_argument_at(l->kernel, index, &a) || a.flags & (GDX_ARG_local | GDX_ARG_unreadable))
        return false;
    if (!gdx_cl_capture_place(&a, &place)) {
        bool other = a.flags & GDX_ARG_svm || gdx_cl_capture_knows((cl_mem)(uintptr_t)a.value);  /* handles differ from run to run */
        if (a.size <= sizeof a.value)
            *h = hash(*h, &a.value, a.size);
        else if (gdx_cl_argument_bytes(l->kernel, index, room))
            *h = hash(*h, room, a.size);
        return !other;
    }
    for (uint64_t offset = 0; offset < place.bytes; offset += most) {
        size_t bytes = place.bytes - offset < most ? (size_t)(place.bytes - offset) : most;
        if (!gdx_cl_capture_content(l->queue, &place, offset, bytes, room))
            return false;
        *h = hash(*h, room, bytes);
    }
    return true;
}

static void put_hashes(struct gdx_cl_capture *c, const struct gdx_cl_launch *l, bool after)
{
    enum { ARGUMENTS = 64 };
    uint64_t words[1 + 2 * ARGUMENTS] = { 0 }, began = gdx_clock_ns(CLOCK_MONOTONIC);
    cl_int status;
    char *room = mmap(NULL, GDX_CAPTURE_PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return;
    for (cl_uint i = 0; i < ARGUMENTS && !gdx_cl_capture_wait(l, !after && !i, &status); i++) {
        struct gdx_argument a;
        if (!gdx_cl_argument_at(l->kernel, i, &a))
            break;
        if (hash_argument(l, i, room, GDX_CAPTURE_PIECE, &words[2 + 2 * words[0]]))
            words[1 + 2 * words[0]++] = i;
    }
    munmap(room, GDX_CAPTURE_PIECE);
    gdx_cl_capture_looked(began);
    gdx_values_put(c->nan.kernel, c->nan.launch, c->nan.of_kernel, after, words, 1 + 2 * (unsigned)words[0]);
}

/* ---- the launch ---- */

static const char *put_launch(struct gdx_cl_capture *c, const struct gdx_cl_launch *l)
{
    cl_program program = NULL;
    cl_device_id device = NULL;
    cl_int status;
    if (gdx_cl_next.clGetKernelInfo(l->kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL) != CL_SUCCESS
        || gdx_cl_next.clGetCommandQueueInfo(l->queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL) != CL_SUCCESS)
        return "the driver does not describe the kernel";
    put_device(c, device);
    put_code(c, program, device);
    put_geometry(c, l);
    put_arguments(c, l->kernel, program);
    const char *why = gdx_cl_capture_wait(l, true, &status);
    return why ? why : put_contents(c, l->queue, GDX_CAPTURE_BEFORE);
}

void gdx_cl_capture_before(struct gdx_cl_capture *c, const struct gdx_cl_launch *l)
{
    char name[TEXT];
    size_t bytes = 0;
    uint64_t number = 0;
    int saved = errno;
    if (!gdx_on() || gdx_cl_next.clGetKernelInfo(l->kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, &bytes) != CL_SUCCESS)
        return;
    c->scans = gdx_cl_nan_before(name, l, &c->nan);
    c->hashes = gdx_capturing() & GDX_CAPTURE_VALUES && !gdx_cl_in_callback();
    if (c->hashes) {
        snprintf(c->nan.kernel, sizeof c->nan.kernel, "%.255s", name);
        c->nan.launch = gdx_count_launch(name, &c->nan.of_kernel);
        c->hashes = gdx_cl_capture_may_look();
        if (c->hashes)
            put_hashes(c, l, false);
    }
    if (gdx_capture_wants(name, &number) && gdx_capture_open(&c->file, 0, number, name)) {
        c->reach = mmap(NULL, sizeof *c->reach, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        const char *why = c->reach == MAP_FAILED ? "there is no memory for it" : put_launch(c, l);
        if (why) {
            gdx_capture_text(&c->file, GDX_CAPTURE_REFUSED, 0, why);
            gdx_capture_close(&c->file);
            if (c->reach != MAP_FAILED)
                munmap(c->reach, sizeof *c->reach);
        }
    }
    errno = saved;
}

void gdx_cl_capture_after(struct gdx_cl_capture *c, const struct gdx_cl_launch *l, cl_int status)
{
    int saved = errno;
    cl_int ended = CL_COMPLETE;
    if (c->hashes && status == CL_SUCCESS)
        put_hashes(c, l, true);
    if (c->scans)
        gdx_cl_nan_after(&c->nan, l, status);
    if (c->file.fd >= 0) {
        gdx_capture_put(&c->file, GDX_CAPTURE_LAUNCHED, (uint64_t)(int64_t)status, 0, 0, NULL, 0);
        const char *why = status == CL_SUCCESS ? gdx_cl_capture_wait(l, false, &ended) : NULL;
        if (!why && status == CL_SUCCESS)
            why = put_contents(c, l->queue, GDX_CAPTURE_AFTER);
        if (why)
            gdx_capture_text(&c->file, GDX_CAPTURE_REFUSED, 1, why);
        else
            gdx_capture_put(&c->file, GDX_CAPTURE_ENDED, (uint64_t)(int64_t)ended, 0, 0, NULL, 0);
        munmap(c->reach, sizeof *c->reach);
        gdx_capture_close(&c->file);
    }
    errno = saved;
}
