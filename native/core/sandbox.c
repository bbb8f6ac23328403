/* See sandbox.h. A filter is installed by prctl or by the system call seccomp, for which the C library has no function of its own
 * (libseccomp and others call syscall). Filters that were there when the program was started are not noticed: those of containers
 * refuse, and do not kill. */
#define _GNU_SOURCE
#include "core/sandbox.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "core/recorder.h"

atomic_bool gdx_shut_in GDX_HOT_DATA;

#if defined(__x86_64__)
/* What the C library's function does, for calls that are made before that could be looked for: looking allocates memory, and allocators
 * make system calls. */
long gdx_system_call(long number, ...);
__asm__(".pushsection .text\n"
        ".type gdx_system_call, @function\n"
        ".hidden gdx_system_call\n"
        "gdx_system_call:\n"
        "    mov %rdi, %rax\n"
        "    mov %rsi, %rdi\n"
        "    mov %rdx, %rsi\n"
        "    mov %rcx, %rdx\n"
        "    mov %r8, %r10\n"
        "    mov %r9, %r8\n"
        "    mov 8(%rsp), %r9\n"
        "    syscall\n"
        "    ret\n"
        ".size gdx_system_call, .-gdx_system_call\n"
        ".popsection\n");
static long (*found)(long number, ...);

__attribute__((constructor)) static void find(void)
{
    *(void **)&found = dlsym(RTLD_NEXT, "syscall");
}

static long make(long number, const long *args)
{
    if (found)
        return found(number, args[0], args[1], args[2], args[3], args[4], args[5]);
    long result = gdx_system_call(number, args[0], args[1], args[2], args[3], args[4], args[5]);
    if (result >= 0 || result < -4095)
        return result;
    errno = (int)-result;
    return -1;
}

static bool shuts_in(long number, const long *args)
{
    if (number == SYS_prctl)
        return args[0] == PR_SET_SECCOMP;
    return number == SYS_seccomp && (args[0] == SECCOMP_SET_MODE_STRICT || args[0] == SECCOMP_SET_MODE_FILTER);
}

/* Known before it holds, for the other threads. */
static long ask(long number, const long *args)
{
    if (__builtin_expect(!shuts_in(number, args), 1))
        return make(number, args);
    bool before = atomic_exchange(&gdx_shut_in, true);
    long result = make(number, args);
    if (result && !before)
        atomic_store(&gdx_shut_in, false);
    return result;
}

/* As in the C library, those that the caller did not pass are whatever lies there, and the kernel does not look at them. */
#define GATHER(args, first, last)               \
    do {                                        \
        va_list list;                           \
        va_start(list, last);                   \
        for (int i = (first); i < 6; i++)       \
            (args)[i] = va_arg(list, long);     \
        va_end(list);                           \
    } while (0)

GDX_EXPORT long syscall(long number, ...)
{
    long args[6];
    GATHER(args, 0, number);
    return ask(number, args);
}

GDX_EXPORT int prctl(int option, ...)
{
    long args[6] = { option };
    GATHER(args, 1, option);
    return (int)ask(SYS_prctl, args);
}
#endif
