/* Leaves signal handlers by siglongjmp.
 *   driver   a fault inside the driver's call is survived, 3 times
 *   timer    a timer throws the program out of whatever it was doing, also out of the recorder */
#include "gpu.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf back;
static volatile sig_atomic_t armed, jumps;

void fake_driver(const char *call);
void fake_driver(const char *call)
{
    if (armed && !strcmp(call, "clFinish"))
        *(volatile int *)16 = 1;
}

static void jump(int number)
{
    (void)number;
    if (armed) {
        jumps++;
        siglongjmp(back, 1);
    }
}

static void by_driver(void)
{
    if (sigsetjmp(back, 1) == 0 || jumps < 3) {
        armed = 1;
        clFinish(NULL);
    }
    armed = 0;
}

static void by_timer(void)
{
    struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
    setitimer(ITIMER_REAL, &often, NULL);
    sigsetjmp(back, 1);
    armed = 1;
    while (jumps < 3000)
        gpu_calls(0, 10);
    armed = 0;
    setitimer(ITIMER_REAL, &never, NULL);
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = jump };
    gpu_open();
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    if (is(argc, argv, "driver"))
        by_driver();
    else
        by_timer();
    gpu_calls(1, 100);
    printf("jumped\n");
    return 0;
}
