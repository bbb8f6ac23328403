/* The programs and kernels of ours beside the program's own (checks.h). */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "opencl/checks.h"

enum { PROGRAMS = 1 << 10, KERNELS = 1 << 12, SOURCE_MOST = 8 << 20, OPTIONS = 8192, NAME = 256 };
#define WORD(x) ((uint64_t)(uintptr_t)(x))

struct program {
    cl_program program;  /* the program's; NULL: the place is free */
    int references;      /* of the program's own */
    char *source;        /* mapped */
    size_t source_bytes;
    char *part;          /* what clCompileProgram was given, mapped: see gdx_cl_check_compiled */
    size_t part_bytes;
    cl_program ours;
    struct gdx_reply reply;  /* its head names the kernels */
};
struct kernel {
    cl_kernel kernel;    /* the program's; NULL: the place is free */
    int references;
    struct gdx_cl_checked checked;
    struct gdx_cl_checked light;  /* without the checks that its proof makes needless; no kernel: there is none */
};
static struct program programs[PROGRAMS];  /* all with the lock held */
static struct kernel kernels[KERNELS];

/* ---- places ---- */

static size_t home(const void *object, size_t places)
{
    return (size_t)((WORD(object) >> 4) * 0x9e3779b97f4a7c15ull >> 40) & (places - 1);
}

static struct program *program_at(cl_program program)
{
    for (size_t i = 0, at = home(program, PROGRAMS); program && i < PROGRAMS; i++, at = (at + 1) & (PROGRAMS - 1))
        if (programs[at].program == program)
            return &programs[at];
    return NULL;
}

static struct kernel *kernel_at(cl_kernel kernel)
{
    size_t at = home(kernel, KERNELS);
    for (size_t i = 0; kernel && i < 64; i++, at = (at + 1) & (KERNELS - 1))
        if (kernels[at].kernel == kernel)
            return &kernels[at];
    return NULL;
}

static struct kernel *kernel_place(cl_kernel kernel)
{
    struct kernel *known = kernel_at(kernel);
    size_t at = home(kernel, KERNELS);
    for (size_t i = 0; !known && i < 64; i++, at = (at + 1) & (KERNELS - 1))
        if (!kernels[at].kernel)
            known = &kernels[at];
    return known;
}

/* ---- notes ---- */

static void note_missing(cl_program program, const char *kernel, const char *why)
{
    const uint64_t words[] = { WORD(program) };
    gdx_note(GDX_CALL_note_not_checked, words, 1, (struct gdx_text){ why, strlen(why) },
             (struct gdx_text){ kernel, kernel ? strlen(kernel) : 0 }, NULL, 0);
}

void gdx_cl_check_cannot(cl_program program, const char *why)
{
    int saved = errno;
    if (program && gdx_on())
        note_missing(program, NULL, why);
    errno = saved;
}

/* ---- sources ---- */

static char *joined(cl_uint count, const char **strings, const size_t *lengths, size_t *total)
{
    size_t at = 0;
    *total = 0;
    for (cl_uint i = 0; i < count; i++)
        *total += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
    if (!*total || *total > SOURCE_MOST)
        return NULL;
    char *text = mmap(NULL, *total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (cl_uint i = 0; text != MAP_FAILED && i < count; i++) {
        size_t n = lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
        memcpy(text + at, strings[i], n);
        at += n;
    }
    return text == MAP_FAILED ? NULL : text;
}

void gdx_cl_check_source(cl_program program, cl_uint count, const char **strings, const size_t *lengths)
{
    struct gdx_calm calm;
    size_t bytes;
    int saved = errno;
    char *text = gdx_on() ? joined(count, strings, lengths, &bytes) : NULL;
    struct program *place = NULL;
    if (!text)
        return;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    for (size_t i = 0, at = home(program, PROGRAMS); !place && i < PROGRAMS; i++, at = (at + 1) & (PROGRAMS - 1))
        if (!programs[at].program || programs[at].program == program)
            place = &programs[at];
    if (place)
        *place = (struct program){ .program = program, .references = 1, .source = text, .source_bytes = bytes };
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    if (!place) {
        munmap(text, bytes);
        note_missing(program, NULL, "there are too many programs");
    }
    errno = saved;
}

cl_int gdx_cl_check_clRetainProgram(cl_program program)
{
    cl_int result = gdx_cl_next.clRetainProgram(program);
    if (gdx_checks() && gdx_on() && result == CL_SUCCESS) {
        struct gdx_calm calm;
        gdx_lock(GDX_LOCK_CHECKS, &calm);
        struct program *known = program_at(program);
        if (known)
            known->references++;
        gdx_unlock(GDX_LOCK_CHECKS, &calm);
    }
    return result;
}

/* Before the driver can give the address to another program. */
void gdx_cl_check_program_released(cl_program program)
{
    struct gdx_calm calm;
    struct program gone = { 0 };
    if (!gdx_on())
        return;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct program *known = program_at(program);
    if (known && --known->references <= 0) {
        gone = *known;
        /* The place stays in its chain; only its name goes. */
        *known = (struct program){ 0 };
    }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    if (gone.source)
        munmap(gone.source, gone.source_bytes);
    if (gone.part)
        munmap(gone.part, gone.part_bytes);
    if (gone.ours)
        gdx_cl_next.clReleaseProgram(gone.ours);  /* its kernels keep it for as long as they need it */
    gdx_reply_free(&gone.reply);
}

/* ---- building ---- */

static cl_program build_ours(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                             const struct gdx_reply *reply, char *why)
{
    cl_context context = NULL;
    cl_int status = CL_SUCCESS;
    char log[1 << 14] = "";  /* drivers show the line, and ours are long; a longer log is not given at all */
    snprintf(why, GDX_WHY, "%s", "the driver gave no program for the rewritten source");
    if (gdx_cl_next.clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS)
        return NULL;
    cl_program ours = gdx_cl_next.clCreateProgramWithSource(context, 1, (const char **)&reply->source, &reply->source_bytes, &status);
    if (!ours)
        return NULL;
    status = gdx_cl_next.clBuildProgram(ours, count, devices, options, NULL, NULL);
    if (status == CL_SUCCESS)
        return ours;
    if (count && devices)
        gdx_cl_next.clGetProgramBuildInfo(ours, devices[0], CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    const char *error = strstr(log, "error");
    snprintf(why, GDX_WHY, "the driver does not compile the rewritten source%s%.300s", log[0] ? ": " : "", error ? error : log);
    why[strcspn(why, "\n")] = 0;
    gdx_cl_next.clReleaseProgram(ours);
    return NULL;
}

static cl_uint devices_of(cl_program program, cl_device_id *devices, size_t room)
{
    size_t bytes = 0;
    if (gdx_cl_next.clGetProgramInfo(program, CL_PROGRAM_DEVICES, room * sizeof *devices, devices, &bytes) != CL_SUCCESS)
        return 0;
    return (cl_uint)(bytes / sizeof *devices);
}

/* The options for ours: no macros and includes are left to resolve, and warnings are nobody's. "-options" lines of the reply. */
static void options_of(const struct gdx_reply *reply, char *room, size_t bytes)
{
    const char *line = strstr(reply->head, "\noptions ");
    room[0] = 0;
    if (line)
        snprintf(room, bytes, "%.*s", (int)strcspn(line + 9, "\n"), line + 9);
}

void gdx_cl_check_build(cl_program program, cl_uint count, const cl_device_id *devices, const char *options)
{
    struct gdx_calm calm;
    struct gdx_reply reply;
    char why[GDX_WHY], own_options[OPTIONS];
    cl_device_id all[64];
    const char *source = NULL;
    size_t bytes = 0;
    int saved = errno;
    if (!gdx_on())
        return;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct program *known = program_at(program);
    if (known) {
        source = known->source;  /* stays: the program holds a reference while it builds */
        bytes = known->source_bytes;
    }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    if (!devices || !count) {
        count = devices_of(program, all, 64);
        devices = all;
    }
    if (!source || !count)
        return;
    if (!gdx_cl_rewrite(devices[0], options ? options : "", source, bytes, &reply, why)) {
        note_missing(program, NULL, why);
        errno = saved;
        return;
    }
    options_of(&reply, own_options, sizeof own_options);
    cl_program ours = build_ours(program, count, devices, own_options, &reply, why);
    if (!ours) {
        note_missing(program, NULL, why);
        gdx_reply_free(&reply);
        errno = saved;
        return;
    }
    cl_program old = NULL;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    known = program_at(program);
    if (known) {
        struct gdx_reply before = known->reply;
        old = known->ours;
        known->ours = ours;
        known->reply = reply;
        reply = before;
    } else {
        old = ours;
    }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    if (old)
        gdx_cl_next.clReleaseProgram(old);
    gdx_reply_free(&reply);
    errno = saved;
}

/* ---- compiling and linking in two steps ---- */

/* The source as it was found, without the lock: the caller holds the program, and the program its source. */
static bool source_of(cl_program program, const char **text, size_t *bytes)
{
    struct gdx_calm calm;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct program *known = program_at(program);
    bool found = known && known->source;
    if (found) {
        *text = known->source;
        *bytes = known->source_bytes;
    }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    return found;
}

/* A part is "\1options", "\3name\2text" for each header, "\2source" (src/gpudx/kernel_checks/parts.py). */
void gdx_cl_check_compiled(cl_program program, const char *options, cl_uint count, const cl_program *headers, const char **names)
{
    enum { HEADERS = 64 };
    struct gdx_calm calm;
    int saved = errno;
    const char *texts[4 * HEADERS + 4] = { "\1", options ? options : "" };
    size_t lengths[4 * HEADERS + 4] = { 0 }, bytes = 0;
    cl_uint at = 2;
    bool known_all = gdx_on() && count <= HEADERS;
    for (cl_uint i = 0; known_all && i < count; i++) {
        texts[at++] = "\3";
        texts[at++] = names[i];
        texts[at++] = "\2";
        known_all = source_of(headers[i], &texts[at], &lengths[at]);
        at++;
    }
    texts[at++] = "\2";
    known_all = known_all && source_of(program, &texts[at], &lengths[at]);
    char *part = known_all ? joined(at + 1, texts, lengths, &bytes) : NULL, *old = part;
    size_t old_bytes = bytes;
    if (!gdx_on())
        return;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct program *known = program_at(program);
    if (known) {
        old = known->part;
        old_bytes = known->part_bytes;
        known->part = part;
        known->part_bytes = bytes;
    }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    if (old)
        munmap(old, old_bytes);
    errno = saved;
}

/* The parts of what was linked stay where they are: the caller holds it while it links. */
static void check_linked(cl_program linked, cl_uint inputs, const cl_program *from, cl_uint count, const cl_device_id *devices)
{
    enum { INPUTS = 64 };
    struct gdx_calm calm;
    const char *texts[INPUTS];
    size_t lengths[INPUTS];
    bool all = inputs <= INPUTS;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    for (cl_uint i = 0; all && i < inputs; i++) {
        struct program *known = program_at(from[i]);
        all = known && known->part;
        texts[i] = all ? known->part : NULL;
        lengths[i] = all ? known->part_bytes : 0;
    }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    if (!all) {
        gdx_cl_check_cannot(linked, "a part of it is not made from source");
        return;
    }
    gdx_cl_check_source(linked, inputs, texts, lengths);
    gdx_cl_check_build(linked, count, devices, "");
}

cl_program gdx_cl_check_clLinkProgram(cl_context context, cl_uint num_devices, const cl_device_id *devices, const char *options,
                                      cl_uint num_input_programs, const cl_program *input_programs, cl_program_callback notify,
                                      void *user_data, cl_int *errcode)
{
    cl_program linked = gdx_cl_next.clLinkProgram(context, num_devices, devices, options, num_input_programs, input_programs, notify,
                                                  user_data, errcode);
    bool library = options && strstr(options, "-create-library");
    if (!linked || library || !gdx_checks() || !gdx_on())
        return linked;
    if (num_input_programs && input_programs)
        check_linked(linked, num_input_programs, input_programs, num_devices, devices);
    return linked;
}

/* ---- kernels ---- */

/* One word of a kernel's line: "r", "n:0", "w:0:4", "u:0", "l:2:4", "x:1", "v:0:4". */
static bool read_spec(const char *word, struct gdx_cl_spec *spec)
{
    static const char letters[] = "rnwulxv";
    const char *at = strchr(letters, word[0]);
    unsigned argument = 0, grain = 4;
    if (!at || !*at)
        return false;
    if (word[0] != 'r' && sscanf(word + 1, ":%u:%u", &argument, &grain) < 1)
        return false;
    *spec = (struct gdx_cl_spec){ .what = (uint8_t)(at - letters), .grain = (uint8_t)(grain ? grain : 1),
                                  .argument = (uint16_t)argument };
    return true;
}

/* "kernel NAME ARGUMENTS spec spec ..." */
static bool read_plan(const char *head, const char *name, struct gdx_cl_checked *plan)
{
    char start[NAME + 16], word[32];
    int length = 0;
    unsigned number = 0, sites = 0;
    snprintf(start, sizeof start, "\nkernel %s ", name);
    const char *line = strstr(head, start);
    if (!line || sscanf(head, "ok %u %u", &number, &sites) != 2)
        return false;
    line += strlen(start);
    *plan = (struct gdx_cl_checked){ .number = number, .sites = sites };
    if (sscanf(line, "%u%n", &plan->arguments, &length) != 1)
        return false;
    for (line += length; *line == ' '; line += length) {
        line++;
        if (plan->spec_count == GDX_SPECS || sscanf(line, "%31[^ \n]%n", word, &length) != 1
            || !read_spec(word, &plan->specs[plan->spec_count++]))
            return false;
    }
    return true;
}

/* "proof NAME condition,condition,..." */
static void read_proof(const char *head, const char *name, struct gdx_cl_checked *plan)
{
    char start[NAME + 16];
    snprintf(start, sizeof start, "\nproof %s ", name);
    const char *line = strstr(head, start);
    size_t length = line ? strcspn(line + strlen(start), "\n") : 0;
    if (length && length < sizeof plan->proof)
        memcpy(plan->proof, line + strlen(start), length);
}

static void let_go(cl_kernel ours)
{
    if (ours)
        gdx_cl_next.clReleaseKernel(ours);
}

static void keep_kernel(cl_kernel kernel, const struct gdx_cl_checked *plan, const struct gdx_cl_checked *light)
{
    struct gdx_calm calm;
    bool kept = false;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct kernel *place = kernel_place(kernel);
    if (place) {
        place->kernel = kernel;
        place->references = 1;
        place->checked = *plan;
        place->light = *light;
        kept = true;
    }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    if (!kept) {
        let_go(plan->kernel);
        let_go(light->kernel);
    }
}

static bool read_kernel(const char *head, const char *name, struct gdx_cl_checked *plan)
{
    if (!read_plan(head, name, plan))
        return false;
    read_proof(head, name, plan);
    return true;
}

void gdx_cl_check_kernel(cl_program program, cl_kernel kernel)
{
    struct gdx_calm calm;
    struct gdx_cl_checked plan = { 0 }, light = { 0 };
    char name[NAME], light_name[NAME + 16];
    cl_int status = CL_SUCCESS;
    cl_program ours = NULL;
    int saved = errno;
    if (!kernel || !gdx_on()
        || gdx_cl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL) != CL_SUCCESS)
        return;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct program *known = program_at(program);
    bool planned = known && known->ours && read_kernel(known->reply.head, name, &plan);
    snprintf(light_name, sizeof light_name, "gdx_light_%s", name);
    bool has_light = planned && read_kernel(known->reply.head, light_name, &light);
    if (planned && gdx_cl_next.clRetainProgram(known->ours) == CL_SUCCESS)
        ours = known->ours;
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    if (ours) {
        plan.kernel = gdx_cl_next.clCreateKernel(ours, name, &status);
        light.kernel = has_light && plan.kernel ? gdx_cl_next.clCreateKernel(ours, light_name, &status) : NULL;
        gdx_cl_next.clReleaseProgram(ours);
        if (plan.kernel)
            keep_kernel(kernel, &plan, &light);
        else
            note_missing(program, name, "the driver made no kernel from the rewritten source");
    }
    errno = saved;
}

void gdx_cl_check_copy(cl_kernel from, cl_kernel to)
{
    struct gdx_cl_checked plan, light = { 0 };
    cl_int status = CL_SUCCESS;
    if (!to || !gdx_cl_next.clCloneKernel || !gdx_cl_checked_kernel(from, &plan))
        return;
    plan.kernel = gdx_cl_next.clCloneKernel(plan.kernel, &status);
    if (gdx_cl_light_kernel(from, &light))
        light.kernel = plan.kernel ? gdx_cl_next.clCloneKernel(light.kernel, &status) : NULL;
    if (plan.kernel)
        keep_kernel(to, &plan, &light);
}

void gdx_cl_check_retain(cl_kernel kernel)
{
    struct gdx_calm calm;
    if (!gdx_on())
        return;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct kernel *known = kernel_at(kernel);
    if (known)
        known->references++;
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
}

void gdx_cl_check_release(cl_kernel kernel)
{
    struct gdx_calm calm;
    cl_kernel last = NULL, light = NULL;
    if (!gdx_on())
        return;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct kernel *known = kernel_at(kernel);
    if (known && --known->references <= 0) {
        last = known->checked.kernel;
        light = known->light.kernel;
        known->kernel = NULL;
        known->checked.kernel = known->light.kernel = NULL;
    }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    let_go(last);
    let_go(light);
}

static bool copied(cl_kernel kernel, bool light, struct gdx_cl_checked *out)
{
    struct gdx_calm calm;
    bool found = false;
    if (!gdx_on())
        return false;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct kernel *known = kernel_at(kernel);
    const struct gdx_cl_checked *plan = known ? light ? &known->light : &known->checked : NULL;
    if (plan && plan->kernel) {
        *out = *plan;
        found = true;
    }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    return found;
}

bool gdx_cl_checked_kernel(cl_kernel kernel, struct gdx_cl_checked *out)
{
    return copied(kernel, false, out);
}

bool gdx_cl_light_kernel(cl_kernel kernel, struct gdx_cl_checked *out)
{
    return copied(kernel, true, out);
}

/* From now on the program's own kernel is launched. */
void gdx_cl_check_gives_up(cl_kernel kernel, const char *why)
{
    struct gdx_calm calm;
    char name[NAME] = "";
    cl_kernel ours = NULL, light = NULL;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct kernel *known = kernel_at(kernel);
    if (known) {
        ours = known->checked.kernel;
        light = known->light.kernel;
        known->checked.kernel = known->light.kernel = NULL;
    }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    let_go(light);
    if (!ours)
        return;
    gdx_cl_next.clReleaseKernel(ours);
    gdx_cl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    note_missing(NULL, name, why);
}

static bool taken(cl_kernel ours, cl_uint index, size_t size, const void *value, bool svm)
{
    return !ours || CL_SUCCESS == (svm ? gdx_cl_next.clSetKernelArgSVMPointer(ours, index, value)
                                       : gdx_cl_next.clSetKernelArg(ours, index, size, value));
}

void gdx_cl_check_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value, bool svm)
{
    struct gdx_calm calm;
    cl_kernel ours = NULL, light = NULL;
    int saved = errno;
    if (!gdx_on())
        return;
    gdx_lock(GDX_LOCK_CHECKS, &calm);
    struct kernel *known = kernel_at(kernel);
    if (known) {
        ours = known->checked.kernel;
        light = known->light.kernel;
    }
    gdx_unlock(GDX_LOCK_CHECKS, &calm);
    if (!taken(ours, index, size, value, svm) || !taken(light, index, size, value, svm))
        gdx_cl_check_gives_up(kernel, "the driver took an argument for the program's kernel but not for the checked one");
    errno = saved;
}
