/* What the programs of benchmarks/soak.py share: statuses, children, and the ways in which a program can end. */
#pragma once

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATUSES = 1024 };
static int statuses[STATUSES], made;

static inline void say(int status)
{
    if (made < STATUSES)
        statuses[made++] = status;
}

/* Which calls did not succeed. */
static inline void tell(void)
{
    for (int i = 0; i < made; i++)
        if (statuses[i])
            printf("%d: %d\n", i, statuses[i]);
}

static inline void wait_for(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

/* A child that has nothing to do with the device. */
static inline void fork_one(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(3);
    wait_for(child);
}

/* Another program, found in PATH after some folders that do not have it. */
static inline void start_one(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char *const words[] = { (char *)"true", NULL };
        setenv("PATH", "/nowhere:/nowhere/else:/usr/bin:/bin", 1);
        execvp("true", words);
        _exit(127);
    }
    wait_for(child);
}

/* Faults of the program itself. */
static inline void end(char how)
{
    tell();
    fflush(stdout);
    if (how == 'X')
        *(volatile int *)16 = 1;
    if (how == 'Y')
        abort();
    if (how == 'K')
        raise(SIGKILL);
    exit(7);
}
