/* A signal handler forks at moments of its own, also while the recorder is writing; both sides return from the handler
 * and go on with what was interrupted. */
#include "gpu.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

static volatile sig_atomic_t forks, in_child;

static void on_alarm(int number)
{
    (void)number;
    if (!in_child && forks < 200) {
        forks++;
        if (fork() == 0)
            in_child = 1;
    }
}

int main(void)
{
    struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = { { 0, 0 }, { 0, 0 } };
    int status, bad = 0;
    gpu_open();
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (!in_child && forks < 200)
        gpu_calls(0, 100);
    setitimer(ITIMER_REAL, &never, NULL);
    if (in_child) {
        gpu_calls(1, 10);
        _exit(0);
    }
    while (wait(&status) > 0)
        bad += status != 0;
    printf("bad children %d\n", bad);
    return bad != 0;
}
