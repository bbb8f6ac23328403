/* Buffers of CPU devices, each in a mapping of its own between pages that nobody can access.
 *
 * The driver is given our memory as CL_MEM_USE_HOST_PTR; on a CPU device kernels then work in it directly, so that an
 * access outside a buffer is a SIGSEGV at that very access, at full speed. Its address says which buffer was missed and
 * by how much (src/gpudx/facts/fences.py). A driver that keeps its own copy of such memory would make the fence blind:
 * that it does not is tried once for each device.
 *
 * The mapping ends when the driver says that it needs the memory no more (OpenCL 1.2 specification, 5.4.1:
 * clSetMemObjectDestructorCallback tells "when the memory referenced by host_ptr [...] can be reused or freed"). From then
 * on nobody can access it, and its addresses stay taken until the quarantine is full. Sub-buffers and images made from a
 * buffer share its fence. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/poison.h"
#include "core/process.h"
#include "opencl/own.h"

/* The largest type is long16, 128 bytes, and buffers begin at a multiple of it (OpenCL 1.2 specification, 6.1.5 and the
 * least CL_DEVICE_MEM_BASE_ADDR_ALIGN in table 4.3). */
enum { LARGEST_TYPE = 128, DEVICES = 64, AT_ONCE = 32, NEAR = 256 /* bytes beside a block, looked at in every wait */ };
static const uint64_t GUARD_LEAST = 1 << 20, GUARD_MOST = 1 << 30;  /* a guard is as large as its block, between these */
static const uint64_t GUARD_LIMITED = 64 << 10;                     /* where addresses are scarce */
static const uint64_t RESERVED_MOST = 4ull << 40;

static void give_back(struct gdx_range range)
{
    munmap((void *)range.address, range.bytes);
}

/* Each block takes two lines of /proc/self/maps, of which last_words.c keeps 1 MB. */
static struct gdx_fences fences = { .blocks_most = 4096, .ranges_most = 4096, .bytes_most = 64ull << 30, .give_back = give_back };

/* ---- reservations ---- */

/* What fences may take of the addresses that the program has to live within. */
static uint64_t reserved_most(void)
{
    struct rlimit limit;
    bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return limited ? limit.rlim_cur / 4 : RESERVED_MOST;
}

static bool room_for(uint64_t bytes)
{
    uint64_t most = reserved_most();
    while (gdx_blocks_bytes(&fences) + bytes > most && gdx_quarantine_less(&fences))
        continue;
    return gdx_blocks_bytes(&fences) + bytes <= most && gdx_blocks(&fences) < fences.blocks_most;
}

static uint64_t guard_for(uint64_t size)
{
    if (gdx_memory_is_limited())
        return GUARD_LIMITED;
    return size < GUARD_LEAST ? GUARD_LEAST : size < GUARD_MOST ? size : GUARD_MOST;
}

static void fill(struct gdx_range slack)
{
    gdx_canary_fill((void *)slack.address, slack);
}

static bool map(struct gdx_block *block)
{
    struct gdx_range range = gdx_fence_range(block);
    char *at = mmap(NULL, range.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return false;
    if (mprotect(at + block->mapping, block->mapped, PROT_READ | PROT_WRITE) < 0) {
        munmap(at, range.bytes);
        return false;
    }
    gdx_fence_move(block, (uint64_t)(uintptr_t)at);
    fill(gdx_slack(block, GDX_BEFORE, UINT64_MAX));
    fill(gdx_slack(block, GDX_BEHIND, UINT64_MAX));
    block->clean = gdx_ticks();
    return true;
}

/* False: there is no room for it. */
static bool enclose(struct gdx_block *block, size_t size, uint64_t align)
{
    *block = (struct gdx_block){ .flags = GDX_BLOCK_ON_HOST };
    return gdx_fence_place(block, size, align, (uint64_t)sysconf(_SC_PAGESIZE), guard_for(size))
        && gdx_blocks_ready(&fences) && room_for(gdx_fence_range(block).bytes) && map(block);
}

/* ---- canaries ---- */

static void check_side(const struct gdx_block *block, struct gdx_range slack)
{
    struct gdx_damage damage;
    if (!gdx_canary_damaged((void *)slack.address, slack, &damage))
        return;
    gdx_fence_note_damage(&fences, block, &damage);
    fill(slack);
}

static void check(struct gdx_block *block, uint64_t reach)
{
    uint64_t now = gdx_ticks();
    check_side(block, gdx_slack(block, GDX_BEFORE, reach));
    check_side(block, gdx_slack(block, GDX_BEHIND, reach));
    block->clean = now;
    gdx_fence_count(&fences, GDX_COUNT_CHECKS);
}

void gdx_cl_fence_check(void)
{
    struct gdx_block blocks[AT_ONCE];
    uint32_t all = gdx_blocks(&fences), seen = 0, count = 1;
    while (seen < all && count && gdx_on()) {
        count = gdx_blocks_borrow(&fences, 0, blocks, AT_ONCE < all - seen ? AT_ONCE : all - seen);
        for (uint32_t i = 0; i < count; i++)
            check(&blocks[i], NEAR);
        gdx_blocks_return(&fences, blocks, count);
        seen += count;
    }
}

/* ---- which buffers can be fenced ---- */

/* A write that has ended is to be seen at once. On a busy machine Intel's driver needs a moment more now and then: what it copies
 * in a thread of its own. */
static bool arrives(const char *room, const char *told, size_t bytes)
{
    enum { TRIES = 20000 };  /* calls of gdx_wait, about a second */
    for (unsigned tries = 0; tries < TRIES; tries++) {
        atomic_thread_fence(memory_order_acquire);
        if (!memcmp(room, told, bytes))
            return true;
        gdx_wait(tries);
    }
    return false;
}

/* One try per device: is what the driver writes to such a buffer to be seen in our memory at once? The memory stays for good:
 * a driver may go on using it in threads of its own after the buffer was released (Intel's does). */
static bool works_in_place(cl_context context, cl_device_id device)
{
    static const char told[] = "gpudx looks whether this arrives";
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    cl_int status;
    char *room = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return false;
    cl_command_queue queue = gdx_cl_next.clCreateCommandQueue(context, device, 0, &status);
    cl_mem buffer = gdx_cl_next.clCreateBuffer(context, CL_MEM_USE_HOST_PTR, page, room, &status);
    cl_int written = queue && buffer
        ? gdx_cl_next.clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof told, told, 0, NULL, NULL)
        : CL_INVALID_VALUE;
    if (written == CL_SUCCESS)
        gdx_cl_next.clFinish(queue);
    bool arrived = written == CL_SUCCESS && arrives(room, told, sizeof told);
    if (buffer)
        gdx_cl_next.clReleaseMemObject(buffer);
    if (queue)
        gdx_cl_next.clReleaseCommandQueue(queue);
    return arrived;
}

/* The answer for a device is kept; two threads that ask at the same time try twice. */
static bool known_to_work_in_place(cl_context context, cl_device_id device)
{
    static struct { _Atomic uintptr_t device; _Atomic bool works; } known[DEVICES];
    for (int i = 0; i < DEVICES; i++) {
        uintptr_t here = atomic_load(&known[i].device);
        if (here == (uintptr_t)device)
            return known[i].works;
        if (!here) {
            bool works = works_in_place(context, device);
            known[i].works = works;
            atomic_compare_exchange_strong(&known[i].device, &here, (uintptr_t)device);
            return works;
        }
    }
    return works_in_place(context, device);
}

static cl_ulong number(cl_device_id device, cl_device_info what, size_t bytes)
{
    cl_ulong value = 0;
    return gdx_cl_next.clGetDeviceInfo(device, what, bytes, &value, NULL) == CL_SUCCESS ? value : 0;
}

/* Why the buffers of a context cannot be fenced, NULL if they can; raises `align` to what its devices promise. */
static const char *unfit(cl_context context, uint64_t *align)
{
    cl_device_id devices[DEVICES];
    size_t bytes = 0;
    if (gdx_cl_next.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes) != CL_SUCCESS || !bytes)
        return "a context whose devices are not known";
    for (size_t i = 0; i < bytes / sizeof *devices; i++) {
        cl_ulong type = number(devices[i], CL_DEVICE_TYPE, sizeof(cl_device_type)) & ~(cl_ulong)CL_DEVICE_TYPE_DEFAULT;
        if (type != CL_DEVICE_TYPE_CPU)
            return "a context with a device that is not a CPU";
        if (!known_to_work_in_place(context, devices[i]))
            return "a driver that does not work in the host's memory";
        uint64_t promised = number(devices[i], CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(cl_uint)) / 8;
        *align = promised > *align ? promised : *align;
    }
    return NULL;
}

/* ---- making ---- */

static const cl_mem_flags HOST_BITS = CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;

static const char *cannot(const struct gdx_cl_request *r, uint64_t *align, bool *never)
{
    if (r->flags & CL_MEM_USE_HOST_PTR)
        return "memory of the program's own (CL_MEM_USE_HOST_PTR)";
    if (gdx_cl_has_properties(r->properties))
        return "a buffer with properties";
    if (!gdx_cl_next.clSetMemObjectDestructorCallback)
        return "a driver that does not tell when memory is free";
    *align = LARGEST_TYPE;
    const char *why = unfit(r->context, align);
    *never = why;
    *align = gdx_fence_align(*align, 1);
    return !why && *align > (uint64_t)sysconf(_SC_PAGESIZE) ? "an alignment of more than a page" : why;
}

/* Nobody can access it from now on. One mapping over all of it lets its pages go, too. */
static void take_down(struct gdx_block *block)
{
    struct gdx_range range = gdx_fence_range(block);
    bool kept = mmap((void *)range.address, range.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
                     -1, 0) != MAP_FAILED;
    gdx_fence_note(block, block->owner, kept ? GDX_BLOCK_FREED : GDX_BLOCK_GIVEN_BACK);
    if (kept)
        gdx_quarantine(&fences, range);
    else
        give_back(range);
}

/* The driver needs the memory no more. It may be any thread that comes here. A block that somebody looks at for seconds
 * stays as it is. */
static void released(cl_mem mem, void *address)
{
    struct gdx_block block;
    (void)mem;
    if (gdx_block_take(&fences, (uint64_t)(uintptr_t)address, 0, &block) != GDX_TAKEN)
        return;
    check(&block, UINT64_MAX);
    take_down(&block);
}

static bool keep(struct gdx_block *block, cl_mem mem, cl_mem_flags flags)
{
    void *address = (void *)block->address;
    block->owner = (uint64_t)(uintptr_t)mem;
    block->hidden = (uint32_t)(flags & HOST_BITS);
    if (!gdx_block_add(&fences, block))
        return false;
    if (gdx_cl_next.clSetMemObjectDestructorCallback(mem, released, address) == CL_SUCCESS) {
        gdx_fence_note(block, block->owner, GDX_BLOCK_MADE);
        return true;
    }
    gdx_block_take(&fences, block->address, 0, block);
    return false;
}

cl_mem gdx_cl_fence_make(const struct gdx_cl_request *r, cl_int *errcode, const char **why, bool *never)
{
    struct gdx_block block;
    uint64_t align;
    if ((*why = cannot(r, &align, never)))
        return NULL;
    *why = "no room for a fence";
    if (!enclose(&block, r->size, align))
        return NULL;
    void *room = (void *)block.address;
    struct gdx_lane *lane = gdx_lane();
    if (r->flags & CL_MEM_COPY_HOST_PTR && (!lane || !gdx_read(&lane->reader, room, r->host_ptr, r->size))) {
        give_back(gdx_fence_range(&block));
        *why = "memory to copy from that cannot be read";
        return NULL;
    }
    if (!(r->flags & CL_MEM_COPY_HOST_PTR) && gdx_poisons())
        gdx_poison_fill(room, r->size);
    cl_mem made = gdx_cl_ask(r, (r->flags & ~HOST_BITS) | CL_MEM_USE_HOST_PTR, r->size, room, errcode);
    if (made && keep(&block, made, r->flags))
        return made;
    if (made)
        gdx_cl_next.clReleaseMemObject(made);
    give_back(gdx_fence_range(&block));
    *why = "a buffer that the driver refused with a fence";
    return NULL;
}

/* ---- what the program is told of its buffers ---- */

static bool is_fenced(cl_mem mem, cl_mem_flags *own)
{
    struct gdx_block block;
    if (!gdx_block_owned(&fences, (uint64_t)(uintptr_t)mem, &block))
        return false;
    *own = block.hidden;
    return true;
}

/* Sub-buffers, and images made from buffers, have these flags from the buffer (OpenCL 1.2 specification, 5.2.1). */
static bool shares_fence(cl_mem mem, cl_mem_flags *own)
{
    cl_mem of = NULL;
    if (is_fenced(mem, own))
        return true;
    return gdx_cl_next.clGetMemObjectInfo(mem, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof of, &of, NULL) == CL_SUCCESS && of
        && is_fenced(of, own);
}

void gdx_cl_fence_tell(cl_mem mem, cl_mem_info what, void *value)
{
    cl_mem_flags own, told;
    if ((what != CL_MEM_FLAGS && what != CL_MEM_HOST_PTR) || !gdx_blocks(&fences) || !shares_fence(mem, &own))
        return;
    if (what == CL_MEM_HOST_PTR) {
        memset(value, 0, sizeof(void *));  /* null for all that was made without CL_MEM_USE_HOST_PTR */
        return;
    }
    memcpy(&told, value, sizeof told);
    told = (told & ~(cl_mem_flags)CL_MEM_USE_HOST_PTR) | own;
    memcpy(value, &told, sizeof told);
}
