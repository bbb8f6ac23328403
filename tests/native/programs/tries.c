/* Tries programs in several folders, as Python does with PATH, and then starts one that is there, without our environment. */
#include "gpu.h"

#include <spawn.h>

int main(void)
{
    char *argv[] = { "sh", "-c", "exit 9", NULL }, *nothing[] = { NULL };
    pid_t child;
    gpu_open();
    execve("/nowhere/sh", argv, nothing);
    execve("/usr/local/nowhere/sh", argv, nothing);
    execve("/etc/passwd", argv, nothing);
    posix_spawn(&child, "/nowhere/sh", NULL, NULL, argv, nothing);
    execve("/bin/sh", argv, nothing);
    return 1;
}
