/* Launching a checked kernel in place of the program's, and reading what it reported (checks.h).
 *
 * Each launch has a report buffer of its own. It is read when the launch has ended: at the program's own waits and at later
 * launches, through a queue of ours, so that nothing the program does waits for us. The layout of a report is the one in
 * src/gpudx/kernel_checks/prelude.py. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/gave_up.h"
#include "opencl/checks.h"

enum { HEAD = 72, RECORD = 24, RECORDS = 96, SITES_MOST = 100000, PENDING = 256, KEPT = 16 };
enum { ASKED, ROOM, SITES, STEPS, NOTED_MOST = 4096 };
#define WORD(x) ((uint64_t)(uintptr_t)(x))
static const uint64_t LONGEST_LOOP = 1 << 12;  /* in units of 1024 steps; one with barriers in it takes seconds for so many */
static const size_t SHADOW_MOST = 2ull << 30;
static const char LOST[] = "The report of a checked launch was not read, because the device did not copy it within 2 s";
static const char OPEN_AT_END[] = "The report of a checked launch was not read, because the process ended before the launch";

static const char ENOUGH[] = "Checked launches reported faults more than 4,096 times; later reports were not kept";

struct pending {
    cl_event event;  /* NULL: the place is free */
    cl_mem report;
    cl_context context;
    cl_command_queue queue;
    uint64_t began;
    uint32_t number, sites;
    bool taken;      /* somebody reads it */
};
static struct pending pending[PENDING];  /* with the lock held */

static uint32_t words_of(uint32_t sites)
{
    return HEAD + sites + RECORDS * RECORD;
}

/* ---- reading reports ---- */

static void note(const struct pending *p, const uint32_t *record)
{
    uint64_t words[] = { p->began, p->number };
    uint64_t numbers[RECORD];
    for (int i = 0; i < RECORD; i++)
        numbers[i] = record[i];
    gdx_note(GDX_CALL_note_kernel_check, words, 2, (struct gdx_text){ 0 }, (struct gdx_text){ 0 }, numbers, RECORD);
}

/* How often each site failed; only so many of its failures have a record. */
static void note_counts(const struct pending *p, const uint32_t *counts)
{
    for (uint32_t i = 0; i < p->sites; i++)
        if (counts[i]) {
            uint64_t words[] = { p->began, p->number, i + 1, counts[i] & ~(3u << 30) };  /* without prelude.py's marks */
            gdx_note(GDX_CALL_note_kernel_check_count, words, 4, (struct gdx_text){ 0 }, (struct gdx_text){ 0 }, NULL, 0);
        }
}

static bool fetch(const struct pending *p, cl_command_queue queue, size_t from, size_t count, uint32_t *to)
{
    cl_event event;
    cl_int status = gdx_cl_next.clEnqueueReadBuffer(queue, p->report, CL_FALSE, from * 4, count * 4, to, 0, NULL, &event);
    return status == CL_SUCCESS && gdx_cl_own_ended(p->context, queue, event, GDX_CL_PATIENCE_MS);
}

static void read_report(const struct pending *p, cl_command_queue queue)
{
    static _Atomic uint32_t noted;  /* a fault in each of 100,000 launches would fill the trace */
    uint32_t asked = 0;
    size_t bytes = (size_t)words_of(p->sites) * 4;
    bool known = fetch(p, queue, 0, 1, &asked);
    if (known && !asked)
        return;
    if (known && atomic_fetch_add(&noted, 1) >= NOTED_MOST) {
        gdx_gave_up(ENOUGH);
        return;
    }
    uint32_t *all = known ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    if (all == MAP_FAILED || !fetch(p, queue, 0, words_of(p->sites), all)) {
        gdx_gave_up(LOST);
        return;  /* what may still be written stays mapped */
    }
    const uint32_t *records = all + HEAD + p->sites;
    for (uint32_t i = 0; i < asked && i < RECORDS; i++)
        if (records[i * RECORD])
            note(p, records + i * RECORD);
    note_counts(p, all + HEAD);
    munmap(all, bytes);
}

static bool ended(const struct pending *p, bool *failed)
{
    cl_int state = CL_QUEUED;
    cl_int status = gdx_cl_next.clGetEventInfo(p->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    *failed = status != CL_SUCCESS || state < 0;
    return *failed || state == CL_COMPLETE;
}

static void finish(struct pending *p, bool failed)
{
    cl_command_queue queue = failed ? NULL : gdx_cl_own_hold(p->context, true);
    if (queue) {
        read_report(p, queue);
        gdx_cl_own_drop(p->context);
    } else if (!failed) {
        gdx_gave_up(LOST);
    }
    gdx_cl_next.clReleaseMemObject(p->report);
    gdx_cl_next.clReleaseEvent(p->event);
}

/* One that nobody else reads; false: there is none at `at` or behind it. */
static bool take(int *at, struct pending *out)
{
    struct gdx_calm calm;
    bool found = false;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    for (; !found && *at < PENDING; ++*at)
        if (pending[*at].event && !pending[*at].taken) {
            pending[*at].taken = found = true;
            *out = pending[*at];
        }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    return found;
}

static void put_back(int at, bool done)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    if (done)
        pending[at] = (struct pending){ 0 };
    else
        pending[at].taken = false;
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
}

static void collect(cl_command_queue of, unsigned ms)
{
    struct pending p;
    uint64_t until = gdx_clock_ns(CLOCK_MONOTONIC) + ms * 1000000ull;
    int saved = errno;
    for (int at = 0; take(&at, &p);) {
        bool failed = false, done = !of || p.queue == of ? ended(&p, &failed) : false;
        for (unsigned tries = 0; !done && ms && (!of || p.queue == of) && gdx_clock_ns(CLOCK_MONOTONIC) < until; tries++) {
            gdx_wait(tries);
            done = ended(&p, &failed);
        }
        if (done)
            finish(&p, failed);
        put_back(at - 1, done);
    }
    errno = saved;
}

void gdx_cl_check_collect(bool patient)
{
    if (gdx_on() && !gdx_cl_in_callback())
        collect(NULL, patient ? GDX_CL_PATIENCE_MS : 0);
}

void gdx_cl_check_queue_leaves(cl_command_queue queue)
{
    if (gdx_on() && !gdx_cl_in_callback()) {
        gdx_cl_next.clFlush(queue);
        collect(queue, GDX_CL_PATIENCE_MS);
    }
}

static pid_t owner;  /* whose launches these are: a forked child has only the memory of them */

/* Without a lock: no other thread of the program is expected to launch any more. */
__attribute__((destructor)) static void leave(void)
{
    for (int i = 0; i < PENDING && owner == getpid() && gdx_on(); i++)
        if (pending[i].event)
            gdx_gave_up(OPEN_AT_END);
}

static bool keep(const struct pending *fresh)
{
    struct gdx_calm calm;
    bool kept = false;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    owner = getpid();
    for (int i = 0; !kept && i < PENDING; i++)
        if (!pending[i].event) {
            pending[i] = *fresh;
            kept = true;
        }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    return kept;
}

static bool full(void)
{
    struct gdx_calm calm;
    bool is = true;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    for (int i = 0; is && i < PENDING; i++)
        is = pending[i].event;
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    return is;
}

/* ---- the arguments that a checked kernel has more ---- */

struct shadows { cl_mem of[KEPT], shadow[KEPT]; uint32_t count; };

static cl_mem make_report(cl_context context, uint32_t sites)
{
    size_t bytes = (size_t)words_of(sites) * 4;
    cl_int status = CL_SUCCESS;
    uint32_t *words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (words == MAP_FAILED)
        return NULL;
    words[ROOM] = RECORDS;
    words[SITES] = sites;
    words[STEPS] = (uint32_t)LONGEST_LOOP;
    cl_mem made = gdx_cl_next.clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, words, &status);
    munmap(words, bytes);
    return made;
}

static size_t size_of(cl_mem mem)
{
    size_t bytes = 0;
    if (!mem || gdx_cl_next.clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof bytes, &bytes, NULL) != CL_SUCCESS)
        return 0;
    return bytes;
}

/* The size of what a pointer argument points to: all ones where it is not known. */
uint64_t gdx_cl_check_size(const struct gdx_argument *a)
{
    if (a->flags & GDX_ARG_local)
        return a->size;
    if (a->flags == (GDX_ARG_set | GDX_ARG_svm))
        return a->value ? gdx_cl_check_svm_size((const void *)(uintptr_t)a->value) : 0;
    if (a->flags & (GDX_ARG_svm | GDX_ARG_unreadable | GDX_ARG_cut) || !(a->flags & GDX_ARG_set) || a->size != sizeof(cl_mem))
        return UINT64_MAX;
    return a->value ? size_of((cl_mem)(uintptr_t)a->value) : 0;
}

static cl_mem buffer_of(const struct gdx_argument *a)
{
    bool is = a->flags == GDX_ARG_set && a->size == sizeof(cl_mem);
    return is ? (cl_mem)(uintptr_t)a->value : NULL;
}

/* Two words for each element of a buffer, all zero. One buffer that is given twice has one shadow. */
static cl_mem race_shadow(cl_context context, struct shadows *known, cl_mem of, unsigned grain)
{
    static const uint32_t zero;
    cl_int status = CL_SUCCESS;
    cl_event event;
    for (uint32_t i = 0; i < known->count; i++)
        if (known->of[i] == of)
            return known->shadow[i];
    size_t bytes = size_of(of) / grain * 8 + 16;
    cl_command_queue queue = bytes <= SHADOW_MOST && known->count < KEPT ? gdx_cl_own_hold(context, true) : NULL;
    if (!queue)
        return NULL;
    cl_mem made = gdx_cl_next.clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    if (made) {
        status = gdx_cl_next.clEnqueueFillBuffer(queue, made, &zero, sizeof zero, 0, bytes / 4 * 4, 0, NULL, &event);
        if (status != CL_SUCCESS || !gdx_cl_own_ended(context, queue, event, GDX_CL_PATIENCE_MS)) {
            gdx_cl_next.clReleaseMemObject(made);
            made = NULL;
        }
    }
    gdx_cl_own_drop(context);
    if (made) {
        known->of[known->count] = of;
        known->shadow[known->count++] = made;
    }
    return made;
}

/* Does the kernel write the buffer through this argument or another one? */
static bool written_too(const struct gdx_cl_checked *plan, cl_kernel given, cl_mem of)
{
    for (uint32_t i = 0; i < plan->spec_count; i++) {
        struct gdx_argument a = { 0 };
        if (plan->specs[i].what == GDX_EXTRA_RACES && gdx_cl_argument_at(given, plan->specs[i].argument, &a) && buffer_of(&a) == of)
            return true;
    }
    return false;
}

static bool set_extra(const struct gdx_cl_checked *plan, cl_kernel given, uint32_t at, cl_context context, cl_mem report,
                      struct shadows *shadows)
{
    const struct gdx_cl_spec *spec = &plan->specs[at];
    struct gdx_argument a = { 0 };
    cl_uint index = plan->arguments + at;
    cl_int status;
    if (spec->what != GDX_EXTRA_REPORT && !gdx_cl_argument_at(given, spec->argument, &a))
        return false;  /* never set: the driver has to refuse the program's own launch */
    if (spec->what == GDX_EXTRA_REPORT) {
        status = gdx_cl_next.clSetKernelArg(plan->kernel, index, sizeof report, &report);
    } else if (spec->what == GDX_EXTRA_SIZE) {
        uint64_t bytes = gdx_cl_check_size(&a);
        status = gdx_cl_next.clSetKernelArg(plan->kernel, index, sizeof bytes, &bytes);
    } else if (spec->what == GDX_EXTRA_LOCAL) {
        size_t bytes = ((size_t)a.size / spec->grain + 1) * 8;
        status = gdx_cl_next.clSetKernelArg(plan->kernel, index, bytes, NULL);
    } else {
        cl_mem of = buffer_of(&a), shadow = NULL;
        if (of && (spec->what == GDX_EXTRA_RACES || spec->what == GDX_EXTRA_READ))
            shadow = written_too(plan, given, of) ? race_shadow(context, shadows, of, spec->grain) : NULL;
        else if (of && spec->what == GDX_EXTRA_UNSEEN)
            gdx_cl_check_wrote(of, 0, SIZE_MAX);  /* some writes of this program are not seen */
        else if (of)
            shadow = gdx_cl_check_written(context, of);
        status = gdx_cl_next.clSetKernelArg(plan->kernel, index, sizeof shadow, &shadow);
    }
    return status == CL_SUCCESS;
}

/* What a kernel that is not checked may write, it has written. */
static void unseen(cl_kernel kernel)
{
    uint64_t values[GDX_CL_ARGUMENTS];
    uint32_t count = gdx_cl_argument_words(kernel, values, GDX_CL_ARGUMENTS);
    if (!gdx_cl_arguments_known(kernel))
        gdx_cl_check_blind();
    for (uint32_t i = 0; i < count; i++)
        gdx_cl_check_wrote((cl_mem)(uintptr_t)values[i], 0, SIZE_MAX);
}

/* What a kernel that is proved may write: a kernel that leaves out the end of a buffer has not written it. */
static void wrote_as_proved(const struct gdx_cl_launch *l, const struct gdx_cl_checked *plan)
{
    for (uint32_t i = 0; i < plan->arguments; i++) {
        struct gdx_argument a = { 0 };
        cl_mem of = gdx_cl_argument_at(l->kernel, i, &a) ? buffer_of(&a) : NULL;
        if (of)
            gdx_cl_check_wrote(of, 0, gdx_cl_check_reach(plan->proof, l, i));
    }
}

/* Told at the first, the second, the fourth and so on. */
static void note_proved(void)
{
    static _Atomic uint64_t launches;
    uint64_t count = atomic_fetch_add(&launches, 1) + 1;
    if (!(count & (count - 1)))
        gdx_note(GDX_CALL_note_proved, &count, 1, (struct gdx_text){ 0 }, (struct gdx_text){ 0 }, NULL, 0);
}

static bool notes_writes(const struct gdx_cl_checked *plan)
{
    for (uint32_t i = 0; i < plan->spec_count; i++)
        if (plan->specs[i].what == GDX_EXTRA_WRITTEN || plan->specs[i].what == GDX_EXTRA_UNSEEN)
            return true;
    return false;
}

static bool launch_ours(const struct gdx_cl_launch *l, const struct gdx_cl_checked *plan, cl_context context, uint64_t began)
{
    struct shadows shadows = { .count = 0 };
    struct pending fresh = { .context = context, .queue = l->queue, .began = began, .number = plan->number, .sites = plan->sites };
    cl_event own = NULL, *event = l->event ? l->event : &own;
    bool done = (fresh.report = make_report(context, plan->sites));
    for (uint32_t i = 0; done && i < plan->spec_count; i++)
        done = set_extra(plan, l->kernel, i, context, fresh.report, &shadows);
    done = done && gdx_cl_next.clEnqueueNDRangeKernel(l->queue, plan->kernel, l->dims, l->offset, l->global, l->local, l->num_waits,
                                                      l->waits, event) == CL_SUCCESS;
    for (uint32_t i = 0; i < shadows.count; i++)
        gdx_cl_next.clReleaseMemObject(shadows.shadow[i]);
    if (done) {
        if (!notes_writes(plan))  /* some programs are checked without uninit, and others read what they wrote */
            unseen(l->kernel);
        fresh.event = *event;
        if (l->event)
            gdx_cl_next.clRetainEvent(fresh.event);
        if (keep(&fresh))
            return true;
        gdx_cl_next.clReleaseEvent(fresh.event);
    }
    if (fresh.report)
        gdx_cl_next.clReleaseMemObject(fresh.report);
    return done;
}

bool gdx_cl_check_launch(const struct gdx_cl_launch *l, uint64_t began, cl_int *result)
{
    struct gdx_cl_checked plan, light;
    cl_context context = NULL;
    int saved = errno;
    bool done = false;
    gdx_cl_check_collect(false);
    if (!gdx_cl_in_callback() && gdx_cl_checked_kernel(l->kernel, &plan) && plan.sites < SITES_MOST && !full()
        && gdx_cl_next.clGetCommandQueueInfo(l->queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) == CL_SUCCESS) {
        if (gdx_cl_check_proved(plan.proof, l)) {
            note_proved();
            wrote_as_proved(l, &plan);
            errno = saved;
            return false;  /* nothing can fail: the program's own kernel runs */
        }
        done = gdx_cl_light_kernel(l->kernel, &light) && gdx_cl_check_proved(light.proof, l)
            && launch_ours(l, &light, context, began);
        done = done || launch_ours(l, &plan, context, began);
        if (!done)
            gdx_cl_check_gives_up(l->kernel, "the driver does not launch the checked kernel as it launches the program's own");
    }
    if (!done)
        unseen(l->kernel);
    *result = CL_SUCCESS;
    errno = saved;
    return done;
}
