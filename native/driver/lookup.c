/* The way in: how a program comes to call our wrappers instead of a driver's functions.
 *
 * One rule: whatever the program would have got without us is looked up first; if, and only if, that is a function of the
 * driver that we have a wrapper for, the program gets the wrapper. Everything else passes through as it is: other names,
 * other libraries that define the same names (other tools, stubs), a second driver in the same process.
 *
 *   dlsym      here: runtime libraries that are linked in statically, ctypes, most frameworks
 *   linking    linked.c: programs and extension modules that are linked with the driver
 *   the driver's own look-up (cuGetProcAddress, hipGetProcAddress): native/cuda/entry.c, native/hip/entry.c
 *
 * docs/decisions/004-cuda-way-in.md has the reasons, and what was left out. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "driver/driver.h"
#include "core/process.h"
#include "core/recorder.h"

__attribute__((visibility("hidden"), used)) gdx_dlsym *gdx_real_dlsym;

/* Libraries of a driver and of its tools call the driver for their own purposes: that is not the program's work. */
static bool is_tool(const struct gdx_driver *api, const void *caller)
{
    struct gdx_object object = gdx_object_of(caller);
    if (gdx_is_adopted(api, &object))
        return true;
    for (const char *const *start = api->tools; *start; start++)
        if (gdx_file_begins(&object, *start))
            return true;
    return false;
}

/* What the program gets for `real`, which it would have got under the name `number`. */
static void *instead_of(struct gdx_driver *api, void *real, int number)
{
    if (real != gdx_real(api, number) && !(gdx_of_driver(api, real) && real == gdx_real(api, number)))
        return real;
    gdx_listen(api);
    return api->names[number].wrapper;
}

/* The API that has a wrapper of this name; NULL: none. */
static struct gdx_driver *api_of(const char *name, int *number)
{
    for (int i = 0; i < GDX_DRIVERS; i++)
        if ((*number = gdx_number(gdx_drivers[i], name)) >= 0)
            return gdx_drivers[i]->names[*number].wrapper ? gdx_drivers[i] : NULL;
    return NULL;
}

void gdx_find_dlsym(void)
{
    /* glibc 2.34 moved dlsym from libdl to libc under a new version; the old one stays for old programs. */
    static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.0" };
    for (size_t i = 0; !gdx_real_dlsym && i < sizeof versions / sizeof *versions; i++)
        *(void **)&gdx_real_dlsym = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
}

/* Libraries that an object brings with itself: an extension module of Python sees some that nobody else does. */
static void *look_beside(const char *name, const void *caller)
{
    Dl_info info;
    struct link_map *map = NULL;
    void *real = NULL;
    if (!dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return NULL;
    /* Not the link map itself: for objects that were loaded at the start, dlsym crashes with anything but what dlopen
     * returns (glibc sets up their scope there). */
    void *object = map->l_name && *map->l_name ? dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (object) {
        real = gdx_real_dlsym(object, name);
        dlclose(object);
    }
    return real;
}

/* A caller that says RTLD_DEFAULT means the global scope, and after that its own libraries. We can look into the first as
 * well as it can, into the second by name. */
static void *look_up(void *handle, const char *name, const void *caller)
{
    void *real = gdx_real_dlsym(handle, name);
    return real || handle != RTLD_DEFAULT ? real : look_beside(name, caller);
}

void *gdx_beyond(const char *name, const void *caller)
{
    gdx_find_dlsym();
    void *real = gdx_real_dlsym ? gdx_real_dlsym(RTLD_NEXT, name) : NULL;
    return real || !gdx_real_dlsym ? real : look_beside(name, caller);
}

/* 1: `answer` is what the program gets. 0: the real dlsym is to be entered as if we were not there. */
__attribute__((visibility("hidden"), used))
int gdx_dlsym_ours(void *handle, const char *name, void *caller, void **answer)
{
    if (GDX_UNLIKELY(!gdx_real_dlsym))
        gdx_find_dlsym();
    if (!gdx_real_dlsym) {
        *answer = NULL;
        return 1;
    }
    if (GDX_UNLIKELY(name && handle == RTLD_DEFAULT && !strncmp(name, "nccl", 4))) {
        *answer = gdx_beyond(name, caller);  /* never what native/nccl exports: it is there whether NCCL is or not */
        return 1;
    }
    gdx_look_at_linked();  /* what was opened since the last call */
    int number = -1;
    struct gdx_driver *api = name && handle != RTLD_NEXT && gdx_directory() ? api_of(name, &number) : NULL;
    if (!api || is_tool(api, caller))
        return 0;
    void *real = look_up(handle, name, caller);
    if (!real)
        return 0;  /* once more, for the error message that the program expects */
    *answer = instead_of(api, real, number);
    return 1;
}

/* RTLD_NEXT and RTLD_DEFAULT mean "as seen from the caller", and glibc tells the caller by the return address. So for
 * everything that is not about us the real function is entered by a jump, with the caller's return address on the
 * stack. Unversioned, and so found for every version of dlsym that a program may ask for (glibc, elf/dl-lookup.c,
 * check_match). */
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq $0\n"                    /* room for the answer; the stack is aligned again */
        "    .cfi_adjust_cfa_offset 8\n"
        "    movq 24(%rsp), %rdx\n"         /* the caller */
        "    movq %rsp, %rcx\n"
        "    call gdx_dlsym_ours\n"
        "    popq %rdx\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    testl %eax, %eax\n"
        "    jne 1f\n"
        "    jmpq *gdx_real_dlsym(%rip)\n"
        "1:  movq %rdx, %rax\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size dlsym, .-dlsym\n"
        ".popsection\n");
#endif

__attribute__((constructor)) static void early(void)
{
    gdx_find_dlsym();
    gdx_look_at_linked();
}
