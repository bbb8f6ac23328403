/* Programs that are started without our environment are noted, so that the report can say "we were not in there"
 * instead of "nothing found". Nothing is changed: the call goes on exactly as it was made.
 *
 * These wrappers may run in a forked or vforked child: stack variables and system calls only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

/* What a successful exec leaves behind must be written before it. One that fails takes it back: programs try each folder of
 * PATH in turn. */
static bool note(const char *path, char *const env[])
{
    bool leaves = leaves_us(path, env);
    if (leaves)
        gdx_roll(GDX_ROLL_EXEC_WITHOUT, path);
    return leaves;
}

static int failed(bool noted, const char *path, int result)
{
    if (noted)
        gdx_roll(GDX_ROLL_NOT_STARTED, path);
    return result;
}

/* The caller of these goes on, so that what was started is noted afterwards. */
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
static int (*real_fexecve)(int, char *const[], char *const[]);
static int (*real_system)(const char *);
static FILE *(*real_popen)(const char *, const char *);
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
    FIND(real_fexecve, "fexecve");
    FIND(real_system, "system");
    FIND(real_popen, "popen");
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
    bool noted = note(path, env);
    return failed(noted, path, real_execve(path, argv, env));
}

GDX_EXPORT int execv(const char *path, char *const argv[])
{
    READY(real_execv);
    bool noted = note(path, environ);
    return failed(noted, path, real_execv(path, argv));
}

GDX_EXPORT int execvp(const char *file, char *const argv[])
{
    READY(real_execvp);
    bool noted = note(file, environ);
    return failed(noted, file, real_execvp(file, argv));
}

GDX_EXPORT int execvpe(const char *file, char *const argv[], char *const env[])
{
    READY(real_execvpe);
    bool noted = note(file, env);
    return failed(noted, file, real_execvpe(file, argv, env));
}

/* The forms with a list of arguments are, here as in the C library, the forms with an array. GATHER copies the list to
 * `argv` and leaves `list` behind its end. */
static size_t count_list(const char *first, va_list list)
{
    size_t count = 0;
    for (const char *arg = first; arg; arg = va_arg(list, const char *))
        count++;
    return count;
}

static void copy_list(char **argv, const char *first, size_t count, va_list *list)
{
    for (size_t i = 0; i < count; i++)
        argv[i] = i ? va_arg(*list, char *) : (char *)first;
    argv[count] = count ? va_arg(*list, char *) : NULL;
}

#define GATHER(first)                                \
    va_list list;                                    \
    va_start(list, first);                           \
    size_t count = count_list(first, list);          \
    va_end(list);                                    \
    char *argv[count + 1];                           \
    va_start(list, first);                           \
    copy_list(argv, first, count, &list)

GDX_EXPORT int execl(const char *path, const char *arg, ...)
{
    GATHER(arg);
    va_end(list);
    return execv(path, argv);
}

GDX_EXPORT int execlp(const char *file, const char *arg, ...)
{
    GATHER(arg);
    va_end(list);
    return execvp(file, argv);
}

GDX_EXPORT int execle(const char *path, const char *arg, ...)
{
    GATHER(arg);
    char *const *env = va_arg(list, char *const *);
    va_end(list);
    return execve(path, argv, env);
}

GDX_EXPORT int fexecve(int fd, char *const argv[], char *const env[])
{
    READY(real_fexecve);
    bool noted = gdx_directory() && !carries_us(env);
    if (noted)
        gdx_roll_descriptor(GDX_ROLL_EXEC_WITHOUT, fd);
    int result = real_fexecve(fd, argv, env);
    if (noted)
        gdx_roll_descriptor(GDX_ROLL_NOT_STARTED, fd);
    return result;
}

/* The shell that these start has the environment of the moment. */
GDX_EXPORT int system(const char *command)
{
    READY(real_system);
    if (command)
        note_spawn("/bin/sh", environ);
    return real_system(command);
}

GDX_EXPORT FILE *popen(const char *command, const char *mode)
{
    READY(real_popen);
    note_spawn("/bin/sh", environ);
    return real_popen(command, mode);
}

GDX_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
    READY(real_spawn);
    int result = real_spawn(pid, path, actions, attr, argv, env);
    if (result == 0)
        note_spawn(path, env);
    return result;
}

GDX_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
    READY(real_spawnp);
    int result = real_spawnp(pid, file, actions, attr, argv, env);
    if (result == 0)
        note_spawn(file, env);
    return result;
}
