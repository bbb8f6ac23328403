/* Makes children in every way there is; children make calls of their own. Status 3 comes from the child. */
#include "gpu.h"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static pid_t raw_clone(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static pid_t start(int argc, char **argv)
{
    if (is(argc, argv, "clone"))
        return raw_clone();
#ifdef SYS_fork
    if (is(argc, argv, "sys_fork"))
        return (pid_t)syscall(SYS_fork);
#endif
    return fork();
}

static int of_child(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 200 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    gpu_open();
    gpu_calls(0, 5);
    pid_t child = start(argc, argv);
    if (child == 0) {
        gpu_calls(1, 3);
        if (is(argc, argv, "twice")) {
            pid_t second = fork();
            if (second == 0) {
                gpu_calls(2, 2);
                _exit(3);
            }
            _exit(of_child(second));
        }
        if (is(argc, argv, "exit"))
            exit(3);
        _exit(3);
    }
    gpu_calls(0, 5);
    int status = of_child(child);
    printf("child %d\n", status);
    return status;
}
