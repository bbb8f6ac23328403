/* A fill that may be held for long, and a program that does not wait for it: it leaves, has a child that does, or was refused. */
#include "planted_opencl.h"

#include <sys/wait.h>
#include <unistd.h>

static int child_status(void)
{
    int status = 0;
    pid_t child = fork();
    if (!child)
        exit(0);
    waitpid(child, &status, 0);
    return status;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    float value = 2;
    size_t bytes = strcmp(mode, "refused") ? BYTES : X_BYTES + 4;
    start();
    cl_int status = clEnqueueFillBuffer(a, x, &value, sizeof value, 0, bytes, 0, NULL, NULL);
    if ((status != CL_SUCCESS) != (bytes > X_BYTES) || (!strcmp(mode, "forks") && child_status()))
        return 1;
    back[0] = in[0];
    puts("done");
    return 0;
}
