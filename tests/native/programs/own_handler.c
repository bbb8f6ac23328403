/* Has a SIGSEGV handler of its own: installed before the first call, or after it, or put back to the default;
 * "once": one that is called once only; "built": the same, installed while a program is built; "chained": one that calls the one before. */
#include "gpu.h"

#include <signal.h>

static void ours(int number)
{
    static const char text[] = "caught\n";
    (void)number;
    if (write(1, text, sizeof text - 1) < 0)
        _exit(6);
    _exit(5);
}

static void install_with(void (*handler)(int), int flags)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
    sigaction(SIGSEGV, &action, NULL);
}

static void install(void (*handler)(int))
{
    install_with(handler, 0);
}

static struct sigaction earlier;

static void returns(int number)
{
    (void)number;
    if (write(1, "earlier\n", 8) < 0)
        _exit(6);
}

/* Each time for the same instruction, which faults again. */
static void calls_earlier(int number, siginfo_t *info, void *context)
{
    static int calls;
    if (++calls == 3)
        _exit(9);
    if (write(1, "later\n", 6) < 0)
        _exit(6);
    if (earlier.sa_flags & SA_SIGINFO)
        earlier.sa_sigaction(number, info, context);
    else
        earlier.sa_handler(number);
}

int main(int argc, char **argv)
{
    if (is(argc, argv, "chained"))
        install_with(returns, SA_RESETHAND | SA_NODEFER);
    if (is(argc, argv, "before"))
        install(ours);
    if (is(argc, argv, "once"))
        install_with(ours, SA_RESETHAND | SA_NODEFER);
    gpu_open();
    gpu_calls(0, 3);
    if (is(argc, argv, "before")) {
        struct sigaction now;
        sigaction(SIGSEGV, NULL, &now);
        printf("still mine: %d\n", now.sa_handler == ours);
        fflush(stdout);
    }
    if (is(argc, argv, "after"))
        install(ours);
    if (is(argc, argv, "chained")) {
        struct sigaction action = { .sa_sigaction = calls_earlier, .sa_flags = SA_SIGINFO };
        sigaction(SIGSEGV, &action, &earlier);
    }
    if (is(argc, argv, "built")) {
        install_with(ours, SA_RESETHAND | SA_NODEFER);
        clBuildProgram(gpu_program, 0, NULL, NULL, NULL, NULL);
    }
    if (is(argc, argv, "default"))
        install(SIG_DFL);
    if (is(argc, argv, "ignore")) {
        install(SIG_IGN);
        raise(SIGSEGV);
        puts("ignored");
        return 8;
    }
    *(volatile int *)16 = 1;
    return 0;
}
