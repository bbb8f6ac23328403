/* Kernels: found by their symbols in libraries of host code, called with the arguments of the launch. What a kernel takes is
 * read from its symbol (Itanium C++ ABI, "Mangling"): numbers and pointers; anything else is not run. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

enum { LIBRARIES = 16 };
static void *libraries[LIBRARIES];

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
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_libraries);
    for (int i = 0; i < LIBRARIES && libraries[i] && !launch->code; i++) {
        launch->code = dlsym(libraries[i], name);
        *(void **)&launch->index = dlsym(libraries[i], "sim_index");
    }
    return launch->code && launch->index;
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

static bool read_arguments(struct sim_launch *launch, const char *types, void **params)
{
    while (*types && *types != 'v') {
        bool floating = false, pointer = false;
        size_t size = take_type(&types, &floating, &pointer);
        int n = launch->count;
        if (!size || n == SIM_ARGUMENTS)
            return false;
        memcpy(&launch->arguments[n].value, params[n], size);
        launch->arguments[n].floating = floating;
        launch->arguments[n].pointer = pointer;
        launch->count++;
    }
    return true;
}

/* Kernels that no C++ compiler made have plain names. What stands for one says what it takes, in the same letters, in a variable
 * sim_types_NAME: const char sim_types_add[] = "PfPfPfi". */
static bool prepare_plain(struct sim_launch *launch, const char *name, void **params)
{
    char variable[256];
    const char *types = NULL;
    snprintf(variable, sizeof variable, "sim_types_%s", name);
    if (!find_code(launch, name))
        return false;
    for (int i = 0; i < LIBRARIES && libraries[i] && !types; i++)
        types = dlsym(libraries[i], variable);
    return types && read_arguments(launch, types, params);
}

bool sim_prepare(struct sim_launch *launch, const char *name, void **params)
{
    char *types = NULL;
    if (strncmp(name, "_Z", 2))
        return prepare_plain(launch, name, params);
    if (strncmp(name, "_Z", 2) || !isdigit((unsigned char)name[2]) || !find_code(launch, name))
        return false;
    unsigned long length = strtoul(name + 2, &types, 10);
    return strlen(types) > length && read_arguments(launch, types + length, params);
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
    I whole[WHOLE] = { 0 }, stack[ON_STACK] = { 0 };
    D floating[FLOATING] = { 0 };
    int wholes = 0, floats = 0, rest = 0;
    for (int i = 0; i < launch->count; i++) {
        if (launch->arguments[i].floating && floats < FLOATING)
            memcpy(&floating[floats++], &launch->arguments[i].value, 8);
        else if (!launch->arguments[i].floating && wholes < WHOLE)
            whole[wholes++] = launch->arguments[i].value;
        else if (rest < ON_STACK)
            stack[rest++] = launch->arguments[i].value;
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

static bool in_reach(const struct sim_launch *launch)
{
    for (int i = 0; i < launch->count; i++) {
        void *address = (void *)(uintptr_t)launch->arguments[i].value;
        if (launch->arguments[i].pointer && !sim_may_access(launch->device, address)) {
            sim_fault_at((uintptr_t)address);
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
