/* Shuts itself in: from then on a system call that is not on a short list ends it. shut_in prctl|seccomp|crash|refused; the
 * driver makes none. */
#include "gpu.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static const int allowed[] = {
    SYS_write, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_brk, SYS_futex, SYS_exit, SYS_exit_group, SYS_rt_sigprocmask, SYS_rt_sigaction,
    SYS_rt_sigreturn, SYS_getpid, SYS_gettid, SYS_clone, SYS_set_robust_list, SYS_rseq, SYS_madvise,
    435 /* clone3, which the headers may not have */,
};
enum { ALLOWED = sizeof allowed / sizeof *allowed };

static long shut_in(int by_call)
{
    struct sock_filter steps[ALLOWED + 3] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
    struct sock_fprog filter = { ALLOWED + 3, steps };
    for (int i = 0; i < ALLOWED; i++)
        steps[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i], (uint8_t)(ALLOWED - i), 0);
    steps[ALLOWED + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    steps[ALLOWED + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (by_call)
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void *calls(void *place)
{
    long *value = place;
    for (*value = 1; *value <= 20000; ++*value)
        clSetKernelArg(gpu_kernel, 0, sizeof *value, value);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    void *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *on_heap = malloc(64);
    setvbuf(stdout, NULL, _IONBF, 0);
    gpu_open();
    gpu_calls(1, 10);
    if (is(argc, argv, "refused")) {
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) != -1 || errno != EFAULT)
            return 3;
        calls(mapped);
        return 0;
    }
    if (mapped == MAP_FAILED || !on_heap || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0 || shut_in(is(argc, argv, "seccomp")))
        return 2;
    calls(mapped);
    calls(on_heap);
    gpu_calls(2, 10);
    if (!pthread_create(&thread, NULL, calls, mapped))
        pthread_join(thread, NULL);
    puts("shut in");
    if (is(argc, argv, "crash"))
        *(volatile int *)16 = 1;
    return 5;
}
