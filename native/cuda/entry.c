/* The way in: how a program comes to call our wrappers instead of libcuda's functions.
 *
 * Programs get at the driver in three ways, and all three are met by one rule. Whatever the program would have got
 * without us is looked up first; if, and only if, that is a function of libcuda.so that we have a wrapper for, the
 * program gets the wrapper. Everything else passes through as it is: other names, other libraries that define the same
 * names (other tools, stubs), a second driver in the same process.
 *
 *   dlsym               the runtime library (cudart, linked in statically by nvcc), ctypes, most frameworks
 *   cuGetProcAddress    the runtime since CUDA 11.3, which asks dlsym only for this one name. Which variant of a
 *                       function it answers with depends on version and flags: the answer is mapped, not the question
 *   linking             programs and extension modules that are linked with -lcuda (linked.c)
 *
 * docs/decisions/004-cuda-way-in.md has the reasons, and what was left out. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "core/process.h"
#include "cuda/driver.h"
#include "cuda/hooks.h"

typedef void *dlsym_function(void *handle, const char *name);
__attribute__((visibility("hidden"), used)) dlsym_function *gdx_real_dlsym;

/* Libraries of the driver and of its tools call the driver for their own purposes: that is not the program's work. */
static bool is_tool(const void *caller)
{
    static const char *const starts[] = { "libcuda.so", "libcudadebugger.so", "libcupti", "libnvperf", "libsanitizer-",
                                          "libInterceptor", "libTreeLauncher", "libToolsInjection", "libnvidia-" };
    struct gdx_object object = gdx_object_of(caller);
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (gdx_file_begins(&object, starts[i]))
            return true;
    return false;
}

/* What the program gets for `real`, which it would have got under the name `number`. */
static void *instead_of(void *real, int number)
{
    if (real != gdx_cu_real(number) && !(gdx_cu_of_driver(real) && real == gdx_cu_real(number)))
        return real;
    gdx_cu_listen();
    return gdx_cu_names[number].wrapper;
}

/* ---- dlsym ---- */

static void find_real_dlsym(void)
{
    /* glibc 2.34 moved dlsym from libdl to libc under a new version; the old one stays for old programs. */
    static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.0" };
    for (size_t i = 0; !gdx_real_dlsym && i < sizeof versions / sizeof *versions; i++)
        *(void **)&gdx_real_dlsym = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
}

/* A caller that says RTLD_DEFAULT means the global scope, and after that its own libraries (an extension module of
 * Python sees libraries that nobody else does). We can look into the first as well as it can, into the second by name. */
static void *look_up(void *handle, const char *name, const void *caller)
{
    Dl_info info;
    struct link_map *map = NULL;
    void *real = gdx_real_dlsym(handle, name);
    if (real || handle != RTLD_DEFAULT || !dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return real;
    /* Not the link map itself: for objects that were loaded at the start, dlsym crashes with anything but what dlopen
     * returns (glibc sets up their scope there). */
    void *object = map->l_name && *map->l_name ? dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (object) {
        real = gdx_real_dlsym(object, name);
        dlclose(object);
    }
    return real;
}

/* 1: `answer` is what the program gets. 0: the real dlsym is to be entered as if we were not there. */
__attribute__((visibility("hidden"), used))
int gdx_dlsym_ours(void *handle, const char *name, void *caller, void **answer)
{
    if (GDX_UNLIKELY(!gdx_real_dlsym))
        find_real_dlsym();
    if (!gdx_real_dlsym) {
        *answer = NULL;
        return 1;
    }
    gdx_cu_look_at_linked();  /* what was opened since the last call */
    int number = name && handle != RTLD_NEXT && gdx_directory() ? gdx_cu_number(name) : -1;
    if (number < 0 || !gdx_cu_names[number].wrapper || is_tool(caller))
        return 0;
    void *real = look_up(handle, name, caller);
    if (!real)
        return 0;  /* once more, for the error message that the program expects */
    *answer = instead_of(real, number);
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

/* ---- cuGetProcAddress ---- */

/* Is this a name for what was asked for? "cuMemAlloc" is answered with cuMemAlloc_v2, "cuGraphInstantiate" with
 * cuGraphInstantiateWithFlags. */
static bool named_so(int number, const char *symbol, size_t length)
{
    return !strncmp(gdx_cu_names[number].name, symbol, length);
}

/* The driver answered with a function that is not among its symbols. That is no loss where we would not have recorded
 * it anyway; otherwise the trace says that these calls are missing. */
static void note_unknown(const char *symbol, int version, cuuint64_t flags)
{
    enum { TOLD = 64 };
    static _Atomic int told;
    int number = gdx_cu_number(symbol);
    if ((number >= 0 && !gdx_cu_names[number].wrapper) || !gdx_on() || atomic_fetch_add(&told, 1) >= TOLD)
        return;
    const uint64_t words[] = { (uint64_t)(int64_t)version, flags };
    gdx_note(GDX_CALL_note_unknown_entry, words, 2, (struct gdx_text){ symbol, strlen(symbol) }, (struct gdx_text){ 0 },
             NULL, 0);
}

/* Different entries of the driver may be one function (a linker folds equal code), so the wrapper must also be called
 * what was asked for. */
static void *instead_of_answer(void *real, const char *symbol, int version, cuuint64_t flags)
{
    size_t length = strlen(symbol);
    bool known = !length;
    for (int i = 0; length && i < GDX_CU_NAMES; i++) {
        if (gdx_cu_real(i) != real)
            continue;
        known = true;
        if (gdx_cu_names[i].wrapper && named_so(i, symbol, length))
            return gdx_cu_names[i].wrapper;
    }
    if (!known)
        note_unknown(symbol, version, flags);
    return real;
}

CUresult rec_cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
    CUresult result = gdx_cu_next.cuGetProcAddress(symbol, function, version, flags);
    if (result == CUDA_SUCCESS && symbol && function && *function)
        *function = instead_of_answer(*function, symbol, version, flags);
    return result;
}

CUresult rec_cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult *found)
{
    CUresult result = gdx_cu_next.cuGetProcAddress_v2(symbol, function, version, flags, found);
    if (result == CUDA_SUCCESS && symbol && function && *function)
        *function = instead_of_answer(*function, symbol, version, flags);
    return result;
}

__attribute__((constructor)) static void early(void)
{
    find_real_dlsym();
    gdx_cu_look_at_linked();
}
