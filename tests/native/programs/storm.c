/* A timer's handler makes calls at moments of its own, also while the recorder writes another call down. */
#include "gpu.h"

#include <signal.h>
#include <sys/time.h>

static volatile long handled;

static void on_alarm(int number)
{
    int saved = errno;
    long value = ++handled;
    (void)number;
    clSetKernelArg(gpu_kernel, 1, sizeof value, &value);
    errno = saved;
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    struct itimerval often = { { 0, 40 }, { 0, 40 } }, never = { { 0, 0 }, { 0, 0 } };
    long made = 0;
    gpu_open();
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (long want = number(argc, argv, 1, 2000); handled < want; made++)
        clSetKernelArg(gpu_kernel, 0, sizeof made, &made);
    setitimer(ITIMER_REAL, &never, NULL);
    fprintf(stderr, "%ld %ld\n", made, handled);
    return 0;
}
