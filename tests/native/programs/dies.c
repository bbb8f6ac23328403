/* Dies of a signal, after two calls. */
#include "gpu.h"

#include <fenv.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static const char *mode;

void fake_driver(const char *call);
void fake_driver(const char *call)
{
    if (!strcmp(call, "clFinish") && !strcmp(mode, "driver"))
        *(volatile int *)16 = 1;
}

static int deeper(volatile char *from)
{
    volatile char here[4096];
    here[0] = *from;
    return here[0] == 77 ? 0 : deeper(here) + here[0];
}

static void *fault(void *unused)
{
    (void)unused;
    gpu_calls(1, 1);
    *(volatile int *)16 = 1;
    return NULL;
}

static void in_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, fault, NULL);
    pthread_join(thread, NULL);
}

/* A system call that the sandbox traps: no instruction that would fault again. */
static void sandbox(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { 4, filter };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    syscall(SYS_getppid);
}

static void bus_error(void)
{
    char name[] = "/tmp/gpudx-bus-XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    volatile char *at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    (void)*at;
}

static void use_other_stack(void)
{
    static char room[1 << 14];
    stack_t other = { .ss_sp = room, .ss_size = sizeof room };
    sigaltstack(&other, NULL);
}

int main(int argc, char **argv)
{
    struct rlimit no_core = { 0, 0 };
    setrlimit(RLIMIT_CORE, &no_core);
    mode = argc > 1 ? argv[1] : "";
    gpu_open();
    gpu_calls(0, 2);
    if (!strcmp(mode, "abort")) abort();
    if (!strcmp(mode, "raise_abrt")) raise(SIGABRT);
    if (!strcmp(mode, "kill_abrt")) kill(getpid(), SIGABRT);
    if (!strcmp(mode, "kill_segv")) kill(getpid(), SIGSEGV);
    if (!strcmp(mode, "kill_term")) kill(getpid(), SIGTERM);
    if (!strcmp(mode, "segv") || !strcmp(mode, "blocked")) {
        sigset_t all;
        sigfillset(&all);
        if (!strcmp(mode, "blocked"))
            sigprocmask(SIG_SETMASK, &all, NULL);
        fault(NULL);
    }
    if (!strcmp(mode, "fpe")) {
        volatile int some = 5, zero = 0;
        printf("%d", some / zero);
    }
    if (!strcmp(mode, "ill")) __builtin_trap();
    if (!strcmp(mode, "bus")) bus_error();
    if (!strcmp(mode, "sys")) sandbox();
    if (!strcmp(mode, "thread")) in_thread();
    if (!strcmp(mode, "driver")) clFinish(NULL);
    if (!strcmp(mode, "overflow_other_stack")) use_other_stack();
    if (!strncmp(mode, "overflow", 8)) return deeper("");
    printf("survived\n");
    return 42;
}
