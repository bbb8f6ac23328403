/* What a dying thread can still say: signal, address, registers, the top of its stack, and where everything is mapped.
 *
 * Handlers are installed at the first GPU call and only where the program has none (SIG_DFL). A handler the program
 * installs later replaces ours and is left alone. Ours stores, takes itself out and returns, so that the instruction
 * faults again (or abort() raises again) and the process ends with the very same signal and core dump. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>

#include "core/clock.h"
#include "core/crumbs.h"
#include "core/process.h"
#include "core/recorder.h"

enum { GDX_SIGNAL_ADDRESS = 1, GDX_SIGNAL_OWN_CODE = 2 };  /* schema/events.toml, signal_flags */
enum { STACK_KEPT = 64 << 10, MAPS_KEPT = 1 << 20, PAGE = 4096 };
static const int watched[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS };

static void keep_registers(struct gdx_header *header, const ucontext_t *context)
{
#if defined(__x86_64__)
    enum { PAGE_FAULT = 14, WROTE = 2 };  /* Intel SDM volume 3, 6.15 "Interrupt 14": bit 1 of the error code */
    const greg_t *r = context->uc_mcontext.gregs;
    /* DWARF order (System V ABI x86-64, figure 3.36): rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip */
    static const int order[17] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                   REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };
    for (int i = 0; i < 17; i++)
        header->signal_registers[i] = (uint64_t)r[order[i]];
    header->signal_pc = (uint64_t)r[REG_RIP];
    if (r[REG_TRAPNO] == PAGE_FAULT)
        header->signal_access = r[REG_ERR] & WROTE ? 2 : 1;
    header->signal_sp = (uint64_t)r[REG_RSP];
#elif defined(__aarch64__)
    header->signal_pc = context->uc_mcontext.pc;
    header->signal_sp = context->uc_mcontext.sp;
#else
    (void)header, (void)context;
#endif
}

/* From the stack pointer upwards. After a stack overflow the pages next to it are not there: they stay zero. */
static void keep_stack(struct gdx_header *header, char *room, uint32_t where)
{
    uint64_t from = header->signal_sp;
    size_t kept = 0;
    for (size_t at = 0, step, got; at < STACK_KEPT; at += step) {
        step = PAGE - ((from + at) & (PAGE - 1));
        if (step > STACK_KEPT - at)
            step = STACK_KEPT - at;
        got = gdx_read_by_kernel(NULL, room + at, (const void *)(uintptr_t)(from + at), step);
        if (got)
            kept = at + got;
        else if (kept)
            break;
    }
    header->stack_blob = where;
    header->stack_bytes = (uint32_t)kept;
}

static void keep_maps_now(struct gdx_header *header, char *room, uint32_t where)
{
    size_t got = 0;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    for (ssize_t n; fd >= 0 && got < MAPS_KEPT && (n = read(fd, room + got, MAPS_KEPT - got)) > 0;)
        got += (size_t)n;
    if (fd >= 0)
        close(fd);
    if (!got)
        return;
    header->maps_blob = where;
    header->maps_bytes = (uint32_t)got;
}

/* Of several threads that die at the same time, the first one speaks. A child that shares our memory (vfork) does not. */
static _Atomic int finished;

static bool may_speak(const struct gdx_header *header)
{
    static atomic_flag spoken = ATOMIC_FLAG_INIT;
    return header && header->pid == (uint32_t)getpid() && !atomic_flag_test_and_set(&spoken);
}

/* Another thread died a moment earlier and is still speaking; to go on would end the process in the middle of it. */
static void let_finish(void)
{
    const struct timespec pause = { .tv_nsec = 1000000 };
    for (int i = 0; i < 2000 && !atomic_load(&finished); i++)
        nanosleep(&pause, NULL);
}

/* Only these come with an address of memory: a processor that was given an impossible address (on x86-64 one that is not
 * canonical) raises a general protection fault, which Linux reports as SI_KERNEL with the address 0 (sigaction(2);
 * arch/x86/kernel/traps.c, exc_general_protection). */
static bool has_address(int number, const siginfo_t *info)
{
    return (number == SIGSEGV || number == SIGBUS) && info->si_code > 0 && info->si_code < SI_KERNEL;
}

static void speak(struct gdx_header *header, int number, const siginfo_t *info, const ucontext_t *context)
{
    uint32_t where = 0;
    header->signal_code = info->si_code;
    header->signal_tid = (uint32_t)syscall(SYS_gettid);
    header->signal_address = has_address(number, info) ? (uint64_t)(uintptr_t)info->si_addr : 0;
    keep_registers(header, context);
    gdx_read_by_kernel(NULL, header->signal_instruction, (const void *)(uintptr_t)header->signal_pc,
                       sizeof header->signal_instruction);
    header->signal_flags = has_address(number, info) ? GDX_SIGNAL_ADDRESS : 0;
    if (gdx_is_own_code((uintptr_t)header->signal_pc))
        header->signal_flags |= GDX_SIGNAL_OWN_CODE;
    gdx_clock_pair(&header->late_ticks, &header->late_mono_ns);
    header->signal_ticks = header->late_ticks;
    __atomic_store_n(&header->signal, (uint32_t)number, __ATOMIC_RELEASE);
    gdx_crumbs_end();
    char *room = gdx_last_room(STACK_KEPT + MAPS_KEPT, &where);
    if (room) {
        keep_stack(header, room, where);
        keep_maps_now(header, room + STACK_KEPT, where + STACK_KEPT / 8);
    }
}

/* Does the faulting instruction raise the signal again when the handler returns? Signals that were sent (kill, raise,
 * abort), a system call that a sandbox refused, and memory errors found in passing (BUS_MCEERR_AO) do not. */
static bool comes_again(int number, const siginfo_t *info)
{
    if (info->si_code <= 0 || number == SIGSYS)
        return false;
    return !(number == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

static void (*_Atomic wait_before_death)(void);

void gdx_before_death(void (*wait)(void))
{
    atomic_store(&wait_before_death, wait);
}

/* What was installed when ours came, and gets the signal after it, once: it may put ours back. Zeroed: the default action. */
static struct sigaction earlier[sizeof watched / sizeof *watched];

static struct sigaction before(int number)
{
    struct sigaction plain = { .sa_handler = SIG_DFL };
    for (unsigned i = 0; i < sizeof watched / sizeof *watched; i++)
        if (watched[i] == number) {
            struct sigaction old = earlier[i];
            earlier[i] = plain;
            return old;
        }
    return plain;
}

/* A handler that is called once only (SA_RESETHAND) reports a crash; it does not repair faults as those of managed languages do.
 * LLVM, which OpenCL drivers bring along, installs such handlers to remove its temporary files, often before the first call that
 * we see (llvm/lib/Support/Unix/Signals.inc, RegisterHandler). Ours goes first, puts it back, and it gets the same signal. Behind
 * it ours could miss a crash: from the moment that such a handler is called, a fault of a second thread ends the process. */
static bool gives_way(const struct sigaction *old)
{
    if (old->sa_flags & SA_RESETHAND && old->sa_handler != SIG_IGN)
        return true;
    return !(old->sa_flags & SA_SIGINFO) && old->sa_handler == SIG_DFL;
}

static void last_words(int number, siginfo_t *info, void *context);

/* The program's handler took our place, and calls what it found there: it stays, and what we found gets the same call. */
static bool called_by_another(int number, siginfo_t *info, void *context)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) || ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == last_words))
        return false;
    for (unsigned i = 0; i < sizeof watched / sizeof *watched; i++)
        if (watched[i] == number && earlier[i].sa_handler != SIG_DFL) {
            if (earlier[i].sa_flags & SA_SIGINFO)
                earlier[i].sa_sigaction(number, info, context);
            else
                earlier[i].sa_handler(number);
            return true;
        }
    return false;
}

static void last_words(int number, siginfo_t *info, void *context)
{
    struct gdx_header *header = gdx_own_header();
    int saved = errno;
    if (may_speak(header)) {
        speak(header, number, info, context);
        void (*wait)(void) = atomic_load(&wait_before_death);
        if (wait)
            wait();
        atomic_store(&finished, 1);
    } else if (header && header->pid == (uint32_t)getpid() && header->signal_tid != (uint32_t)syscall(SYS_gettid)) {
        let_finish();  /* not where the speaker itself faulted again: it would wait for itself */
    }
    errno = saved;
    if (called_by_another(number, info, context))
        return;
    struct sigaction next = before(number);
    sigaction(number, &next, NULL);
    if (!comes_again(number, info))
        syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), number);
    errno = saved;
}

void gdx_watch_signals(void)
{
    struct sigaction ours = { .sa_sigaction = last_words, .sa_flags = SA_SIGINFO | SA_ONSTACK }, old;
    sigemptyset(&ours.sa_mask);
    for (unsigned i = 0; i < sizeof watched / sizeof *watched; i++)
        if (sigaction(watched[i], NULL, &old) == 0 && gives_way(&old)) {
            earlier[i] = old;
            sigaction(watched[i], &ours, NULL);
        }
}
