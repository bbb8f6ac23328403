/* What a dying thread can still say: signal, address, registers, the top of its stack, and where everything is mapped.
 *
 * Handlers are installed at the first GPU call and only where the program has none (SIG_DFL). A handler the program
 * installs later replaces ours and is left alone. Ours stores, takes itself out and returns, so that the instruction
 * faults again (or abort() raises again) and the process ends with the very same signal and core dump. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <fcntl.h>

#include "core/clock.h"
#include "core/process.h"
#include "core/recorder.h"

enum { STACK_KEPT = 64 << 10, MAPS_KEPT = 1 << 20 };
static const int watched[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS };

static void keep_registers(struct gdx_header *header, const ucontext_t *context)
{
#if defined(__x86_64__)
    const greg_t *r = context->uc_mcontext.gregs;
    /* DWARF order (System V ABI x86-64, figure 3.36): rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip */
    static const int order[17] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                   REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };
    for (int i = 0; i < 17; i++)
        header->signal_registers[i] = (uint64_t)r[order[i]];
    header->signal_pc = (uint64_t)r[REG_RIP];
    header->signal_sp = (uint64_t)r[REG_RSP];
#elif defined(__aarch64__)
    header->signal_pc = context->uc_mcontext.pc;
    header->signal_sp = context->uc_mcontext.sp;
#else
    (void)header, (void)context;
#endif
}

static void keep_stack(struct gdx_header *header, char *room, uint32_t where)
{
    struct gdx_lane probe = { .stack_high = 0 };
    uint64_t from = header->signal_sp;
    size_t bytes = 0;
    while (bytes < STACK_KEPT && gdx_readable(&probe, (void *)(uintptr_t)(from + bytes), 1))
        bytes += 4096 - ((from + bytes) & 4095);
    if (bytes > STACK_KEPT)
        bytes = STACK_KEPT;
    memcpy(room, (void *)(uintptr_t)from, bytes);
    header->stack_blob = where;
    header->stack_bytes = (uint32_t)bytes;
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

static void last_words(int number, siginfo_t *info, void *context)
{
    struct gdx_header *header = gdx_own_header();
    struct sigaction plain = { .sa_handler = SIG_DFL };
    uint32_t where = 0;
    if (header && !header->signal) {
        header->signal_code = info->si_code;
        header->signal_tid = (uint32_t)syscall(SYS_gettid);
        header->signal_address = (uint64_t)(uintptr_t)info->si_addr;
        keep_registers(header, context);
        gdx_clock_pair(&header->late_ticks, &header->late_mono_ns);
        header->signal_ticks = header->late_ticks;
        header->signal = (uint32_t)number;
        char *room = gdx_last_room(STACK_KEPT + MAPS_KEPT, &where);
        if (room) {
            keep_stack(header, room, where);
            keep_maps_now(header, room + STACK_KEPT, where + STACK_KEPT / 8);
        }
    }
    sigaction(number, &plain, NULL);
    /* A signal that was sent (kill, raise) does not come again by itself. */
    if (info->si_code <= 0 && number != SIGABRT)
        syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), number);
}

void gdx_watch_signals(void)
{
    struct sigaction ours = { .sa_sigaction = last_words, .sa_flags = SA_SIGINFO | SA_ONSTACK }, old;
    sigemptyset(&ours.sa_mask);
    for (unsigned i = 0; i < sizeof watched / sizeof *watched; i++)
        if (sigaction(watched[i], NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
            sigaction(watched[i], &ours, NULL);
}
