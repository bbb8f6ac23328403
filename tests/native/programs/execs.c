/* Starts itself again in every way there is, with its environment or (second argument "bare") without.
 * The second image makes two calls on argument 1 and ends with status 9. */
#include "gpu.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
static char *nothing[] = { NULL };

static int wait_for(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 200 + WTERMSIG(status);
}

static int start(const char *how, char *self)
{
    char *argv[] = { self, "second", NULL };
    char command[4096];
    pid_t child = 0;
    snprintf(command, sizeof command, "%s second", self);
    if (!strcmp(how, "execv")) execv(self, argv);
    if (!strcmp(how, "execve")) execve(self, argv, environ);
    if (!strcmp(how, "execvp")) execvp(self, argv);
    if (!strcmp(how, "execvpe")) execvpe(self, argv, environ);
    if (!strcmp(how, "execl")) execl(self, self, "second", (char *)NULL);
    if (!strcmp(how, "execlp")) execlp(self, self, "second", (char *)NULL);
    if (!strcmp(how, "execle")) execle(self, self, "second", (char *)NULL, environ);
    if (!strcmp(how, "fexecve")) fexecve(open(self, O_RDONLY), argv, environ);
    if (!strcmp(how, "posix_spawn")) return posix_spawn(&child, self, NULL, NULL, argv, environ) ? 1 : wait_for(child);
    if (!strcmp(how, "posix_spawnp")) return posix_spawnp(&child, self, NULL, NULL, argv, environ) ? 1 : wait_for(child);
    if (!strcmp(how, "system")) return WEXITSTATUS(system(command));
    if (!strcmp(how, "popen")) return WEXITSTATUS(pclose(popen(command, "w")));
    if (!strcmp(how, "vfork")) {
        child = vfork();
        if (child == 0) {
            execv(self, argv);
            _exit(99);
        }
        return wait_for(child);
    }
    return 98;
}

int main(int argc, char **argv)
{
    static char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    gpu_open();
    if (is(argc, argv, "second")) {
        gpu_calls(1, 2);
        return 9;
    }
    gpu_calls(0, 4);
    if (argc > 2)
        environ = nothing;
    printf("starting\n");
    fflush(stdout);
    return argc > 1 ? start(argv[1], self) : 1;
}
