/* The driver forks while a call is open, and the child returns from that call too. */
#include "gpu.h"

#include <sys/wait.h>

static pid_t child = -1;

void fake_driver(const char *call);
void fake_driver(const char *call)
{
    if (!strcmp(call, "clFinish") && child == -1)
        child = fork();
}

int main(void)
{
    int status = 0;
    gpu_open();
    gpu_calls(0, 5);
    clFinish(NULL);
    gpu_calls(child ? 0 : 1, 5);
    if (child == 0)
        _exit(4);
    waitpid(child, &status, 0);
    printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 200 + WTERMSIG(status));
    return 0;
}
