/* Kernels: found by their symbols in libraries of host code, called with the arguments of the launch. What a kernel takes is
 * known where its file launches it, else read from its symbol (Itanium C++ ABI, "Mangling"): numbers and pointers; anything else
 * is not run. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sim.h"

enum { LIBRARIES = 16 };
static void *libraries[LIBRARIES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_libraries(void)
{
    const char *list = getenv("GPUDX_HIP_SIM_KERNELS");
    char *copy = list ? strdup(list) : NULL, *rest = copy;
    int count = 0;
    for (char *path; rest && (path = strsep(&rest, ":")) && count < LIBRARIES;)
        if ((libraries[count] = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
            count++;
        else
            fprintf(stderr, "simulated HIP: %s\n", dlerror());
    free(copy);
}

static bool find_code(struct sim_launch *launch, const char *name)
{
    pthread_once(&once, open_libraries);
    for (int i = 0; i < LIBRARIES && libraries[i] && !launch->code; i++) {
        launch->code = dlsym(libraries[i], name);
        *(void **)&launch->index = dlsym(libraries[i], "sim_index");
    }
    return launch->code && launch->index;
}

void *sim_variable(const char *name, size_t *size)
{
    const ElfW(Sym) *symbol = NULL;
    Dl_info info;
    void *found = NULL;
    pthread_once(&once, open_libraries);
    for (int i = 0; i < LIBRARIES && libraries[i] && !found; i++)
        found = dlsym(libraries[i], name);
    if (found && dladdr1(found, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol)
        *size = symbol->st_size;
    return found;
}

static const struct sim_kernel *described(const void *code)
{
    for (int i = 0; i < LIBRARIES && libraries[i]; i++) {
        const struct sim_kernel *(*first)(void);
        *(void **)&first = dlsym(libraries[i], "sim_kernels");
        for (const struct sim_kernel *one = first ? first() : NULL; one; one = one->next)
            if (one->code == code)
                return one;
    }
    return NULL;
}

/* ---- arguments ---- */

/* One type of a parameter list: its size, 0 for one that is not known. */
static size_t take_type(const char **at, bool *floating, bool *pointer)
{
    static const char *const codes[] = { "", "bcah", "st", "", "ijf", "", "", "", "lmxyd" };
    *floating = **at == 'f' || **at == 'd';
    if (**at == 'P' || **at == 'S') {
        *pointer = true;
        while (**at == 'P' || **at == 'K')
            (*at)++;
        if (**at == 'S')
            *at += strcspn(*at, "_");
        (*at)++;
        return sizeof(void *);
    }
    for (size_t size = 1; size <= 8; size++)
        if (**at && strchr(codes[size], **at)) {
            (*at)++;
            return size;
        }
    return 0;
}

/* Places as the compiler gives them, each aligned to its size. */
static bool lay_out(struct sim_launch *launch, const char *types)
{
    size_t at = 0;
    while (*types && *types != 'v') {
        struct sim_argument *next = &launch->arguments[launch->count];
        bool floating = false, pointer = false;
        size_t size = take_type(&types, &floating, &pointer);
        if (!size || launch->count == SIM_ARGUMENTS)
            return false;
        at = (at + size - 1) / size * size;
        *next = (struct sim_argument){ (uint16_t)at, (uint16_t)size, floating, pointer };
        at += size;
        launch->count++;
    }
    return true;
}

/* Kernels that no C++ compiler made have plain names. What stands for one says what it takes, in the same letters, in a variable
 * sim_types_NAME: const char sim_types_add[] = "PfPfPfi". */
static const char *types_of_plain(const char *name)
{
    char variable[256];
    const char *types = NULL;
    snprintf(variable, sizeof variable, "sim_types_%s", name);
    for (int i = 0; i < LIBRARIES && libraries[i] && !types; i++)
        types = dlsym(libraries[i], variable);
    return types;
}

static const char *types_of(const char *name)
{
    char *types = NULL;
    if (strncmp(name, "_Z", 2))
        return types_of_plain(name);
    if (!isdigit((unsigned char)name[2]))
        return NULL;
    unsigned long length = strtoul(name + 2, &types, 10);
    return strlen(types) > length ? types + length : NULL;
}

static bool pack(struct sim_launch *launch, void **params, void **extra)
{
    const void *packed = NULL;
    size_t bytes = 0;
    for (; extra && *extra != HIP_LAUNCH_PARAM_END; extra += 2)
        if (*extra == HIP_LAUNCH_PARAM_BUFFER_POINTER)
            packed = extra[1];
        else if (*extra == HIP_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = *(const size_t *)extra[1];
    if (packed && bytes <= sizeof launch->packed)
        memcpy(launch->packed, packed, bytes);
    for (int i = 0; params && i < launch->count; i++)
        if (launch->arguments[i].at + launch->arguments[i].size <= SIM_PACKED)
            memcpy(launch->packed + launch->arguments[i].at, params[i], launch->arguments[i].size);
    return params || packed || !launch->count;
}

bool sim_prepare(struct sim_launch *launch, const char *name, void **params, void **extra)
{
    const struct sim_kernel *known = find_code(launch, name) ? described(launch->code) : NULL;
    if (!launch->code || (known && known->count > SIM_ARGUMENTS))
        return false;
    if (!known) {
        const char *types = types_of(name);
        return types && lay_out(launch, types) && pack(launch, params, extra);
    }
    launch->count = known->count;
    launch->call = known->call;
    memcpy(launch->arguments, known->arguments, known->count * sizeof *known->arguments);
    return pack(launch, params, extra);
}

uint64_t sim_argument(const struct sim_launch *launch, int number)
{
    uint64_t value = 0;
    size_t size = launch->arguments[number].size;
    memcpy(&value, launch->packed + launch->arguments[number].at, size < sizeof value ? size : sizeof value);
    return value;
}

/* ---- running ---- */

enum { WHOLE = 6, FLOATING = 8, ON_STACK = 16 };
#define I uint64_t
#define D double
typedef void kernel(I, I, I, I, I, I, D, D, D, D, D, D, D, D, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I);

/* System V ABI x86-64, 3.2.3: whole numbers and floating ones take their own registers, in order; the rest is on the
 * stack. A float is the low half of its register. */
static void call(const struct sim_launch *launch)
{
    if (launch->call) {
        launch->call(launch->code, launch->packed);
        return;
    }
    I whole[WHOLE] = { 0 }, stack[ON_STACK] = { 0 };
    D floating[FLOATING] = { 0 };
    int wholes = 0, floats = 0, rest = 0;
    for (int i = 0; i < launch->count; i++) {
        uint64_t value = sim_argument(launch, i);
        if (launch->arguments[i].floating && floats < FLOATING)
            memcpy(&floating[floats++], &value, 8);
        else if (!launch->arguments[i].floating && wholes < WHOLE)
            whole[wholes++] = value;
        else if (rest < ON_STACK)
            stack[rest++] = value;
    }
    ((kernel *)launch->code)(whole[0], whole[1], whole[2], whole[3], whole[4], whole[5], floating[0], floating[1],
                             floating[2], floating[3], floating[4], floating[5], floating[6], floating[7], stack[0],
                             stack[1], stack[2], stack[3], stack[4], stack[5], stack[6], stack[7], stack[8], stack[9],
                             stack[10], stack[11], stack[12], stack[13], stack[14], stack[15]);
}

struct index { uint32_t thread[3], block[3], block_dim[3], grid_dim[3]; };  /* include/hip/hip_runtime.h has the same */

static void run_block(const struct sim_launch *launch, struct index *at)
{
    for (at->thread[2] = 0; at->thread[2] < launch->block.z; at->thread[2]++)
        for (at->thread[1] = 0; at->thread[1] < launch->block.y; at->thread[1]++)
            for (at->thread[0] = 0; at->thread[0] < launch->block.x; at->thread[0]++)
                call(launch);
}

/* Is memory mapped at this address? What else a structure holds is no address. */
static bool is_there(uintptr_t address)
{
    char byte;
    struct iovec here = { &byte, 1 }, there = { (void *)address, 1 };
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

/* Memory that is there for the host or another device is refused before it is used: the processor would not notice. Any other address
 * faults where it is used. */
static bool is_reached(const struct sim_launch *launch, uintptr_t address)
{
    if (sim_may_access(launch->device, (const void *)address) || !is_there(address))
        return true;
    sim_fault_at(address);
    return false;
}

static bool in_reach(const struct sim_launch *launch)
{
    for (int i = 0; i < launch->count; i++) {
        struct sim_argument argument = launch->arguments[i];
        bool addresses = argument.pointer || argument.size > sizeof(void *);
        for (size_t at = 0; addresses && at + sizeof(void *) <= argument.size; at += sizeof(void *)) {
            uintptr_t address;
            memcpy(&address, launch->packed + argument.at + at, sizeof address);
            if (!is_reached(launch, address))
                return false;
        }
    }
    return true;
}

_Thread_local const struct sim_launch *sim_running;

void sim_run(void *launch_)
{
    const struct sim_launch *launch = sim_running = launch_;
    struct index *at = launch->code && in_reach(launch) ? launch->index() : NULL;
    if (!at) {
        sim_running = NULL;
        return;
    }
    *at = (struct index){ .block_dim = { launch->block.x, launch->block.y, launch->block.z },
                          .grid_dim = { launch->grid.x, launch->grid.y, launch->grid.z } };
    for (at->block[2] = 0; at->block[2] < launch->grid.z; at->block[2]++)
        for (at->block[1] = 0; at->block[1] < launch->grid.y; at->block[1]++)
            for (at->block[0] = 0; at->block[0] < launch->grid.x; at->block[0]++)
                run_block(launch, at);
    sim_running = NULL;
}
