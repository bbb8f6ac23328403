/* Programs that are started without our environment are noted, so that the report can say "we were not in there"
 * instead of "nothing found". Nothing is changed: the call goes on exactly as it was made.
 *
 * These wrappers may run in a forked or vforked child: stack variables and system calls only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "core/process.h"
#include "core/recorder.h"

extern char **environ;

static bool carries_us(char *const env[])
{
    bool directory = false, preload = false;
    for (; env && *env; env++) {
        directory |= !strncmp(*env, "GPUDX_DIR=", 10);
        preload |= !strncmp(*env, "LD_PRELOAD=", 11) && strstr(*env, "libgpudx");
    }
    return directory && preload;
}

static bool leaves_us(const char *path, char *const env[])
{
    return gdx_directory() && path && !carries_us(env);
}

static void note(const char *path, char *const env[])
{
    if (leaves_us(path, env))
        gdx_roll(GDX_ROLL_EXEC_WITHOUT, path);
}

static void note_spawn(const char *path, char *const env[])
{
    if (leaves_us(path, env))
        gdx_roll_spawn(path);
}

/* dlsym is not safe after fork in a threaded program, so the real functions are found when we are loaded. */
static int (*real_execve)(const char *, char *const[], char *const[]);
static int (*real_execv)(const char *, char *const[]);
static int (*real_execvp)(const char *, char *const[]);
static int (*real_execvpe)(const char *, char *const[], char *const[]);
static int (*real_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                         char *const[], char *const[]);
static int (*real_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                          char *const[], char *const[]);

#define FIND(variable, name) (*(void **)&(variable) = dlsym(RTLD_NEXT, name))

__attribute__((constructor)) static void find_real(void)
{
    FIND(real_execve, "execve");
    FIND(real_execv, "execv");
    FIND(real_execvp, "execvp");
    FIND(real_execvpe, "execvpe");
    FIND(real_spawn, "posix_spawn");
    FIND(real_spawnp, "posix_spawnp");
}

/* A constructor that runs before ours may start programs. */
#define READY(variable) \
    do {                \
        if (!(variable)) \
            find_real(); \
    } while (0)

GDX_EXPORT int execve(const char *path, char *const argv[], char *const env[])
{
    READY(real_execve);
    note(path, env);
    return real_execve(path, argv, env);
}

GDX_EXPORT int execv(const char *path, char *const argv[])
{
    READY(real_execv);
    note(path, environ);
    return real_execv(path, argv);
}

GDX_EXPORT int execvp(const char *file, char *const argv[])
{
    READY(real_execvp);
    note(file, environ);
    return real_execvp(file, argv);
}

GDX_EXPORT int execvpe(const char *file, char *const argv[], char *const env[])
{
    READY(real_execvpe);
    note(file, env);
    return real_execvpe(file, argv, env);
}

GDX_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
    READY(real_spawn);
    note_spawn(path, env);
    return real_spawn(pid, path, actions, attr, argv, env);
}

GDX_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
    READY(real_spawnp);
    note_spawn(file, env);
    return real_spawnp(pid, file, actions, attr, argv, env);
}
