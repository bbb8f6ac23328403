/* A FAKE Python interpreter around launches, with the recorder's core inside: it checks that every function is called
 * with the interpreter's lock where it must be, that all references are given back, and that nothing is left changed.
 *
 *     fake_python held|free|mixed|stuck|deaf|ending|fork|odd|handler */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/stacks.h"

#define API __attribute__((visibility("default"), used))
enum { LAUNCHES = 200, THREADS = 4, DEEP = 40 };

static void must(bool good, const char *what)
{
    if (good)
        return;
    printf("wrong: %s\n", what);
    fflush(stdout);
    _exit(1);
}

/* ---- the interpreter ---- */

struct object {
    long references;
    const char *text;              /* of a name */
    struct object *file, *name;    /* of code */
    struct object *code, *caller;  /* of a frame */
    int line;
};
struct state { struct object *frame, *error; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct state *) holder;
static _Atomic int is_up = 1, is_ending, collecting = 1, made_states;
static int interpreter;
static struct object error_object = { .references = 1 };
static __thread struct state *own;

static void need_lock(const char *function)
{
    must(own && atomic_load(&holder) == own, function);
    must(!collecting, "the collector may run");
    must(!own->error, "an exception is set");
}

static struct object *given(struct object *object)
{
    if (object)
        object->references++;
    return object;
}

API int Py_IsInitialized(void) { return is_up; }
API int Py_IsFinalizing(void) { return is_ending; }
API void *PyGILState_GetThisThreadState(void) { return own; }
API int PyGILState_Check(void) { return own && atomic_load(&holder) == own; }
API void *PyThreadState_GetUnchecked(void) { return PyGILState_Check() ? own : NULL; }
API void *PyThreadState_GetInterpreter(struct state *of) { return of ? &interpreter : NULL; }
API void *PyInterpreterState_Main(void) { return &interpreter; }

API void *PyThreadState_New(void *of)
{
    must(of == &interpreter && is_up, "a thread state of no interpreter");
    static struct state states[4];
    struct state *made = &states[made_states++];
    own = own ? own : made;
    return made;
}

API void PyEval_RestoreThread(struct state *with)
{
    must(with && with == own, "a thread state of another thread");
    pthread_mutex_lock(&lock);
    atomic_store(&holder, with);
}

API void *PyEval_SaveThread(void)
{
    struct state *with = atomic_exchange(&holder, NULL);
    must(with == own, "lets go of a lock that it has not");
    pthread_mutex_unlock(&lock);
    return with;
}

API int PyGC_Disable(void)
{
    must(PyGILState_Check(), "PyGC_Disable");
    return atomic_exchange(&collecting, 0);
}

API int PyGC_Enable(void)
{
    must(PyGILState_Check(), "PyGC_Enable");
    return atomic_exchange(&collecting, 1);
}

API void PyErr_Fetch(struct object **type, struct object **value, struct object **traceback)
{
    must(PyGILState_Check(), "PyErr_Fetch");
    *type = *traceback = NULL;
    *value = own->error;
    own->error = NULL;
}

API void PyErr_Restore(struct object *type, struct object *value, struct object *traceback)
{
    must(PyGILState_Check() && !type && !traceback, "PyErr_Restore");
    own->error = value;
}

API void PyErr_Clear(void)
{
    must(PyGILState_Check(), "PyErr_Clear");
    own->error = NULL;
}

API struct object *PyThreadState_GetFrame(struct state *of)
{
    need_lock("PyThreadState_GetFrame");
    return given(of->frame);
}

API struct object *PyFrame_GetBack(struct object *frame)
{
    need_lock("PyFrame_GetBack");
    return given(frame->caller);
}

API struct object *PyFrame_GetCode(struct object *frame)
{
    need_lock("PyFrame_GetCode");
    return given(frame->code);
}

API int PyFrame_GetLineNumber(struct object *frame)
{
    need_lock("PyFrame_GetLineNumber");
    return frame->line;
}

API struct object *PyObject_GetAttrString(struct object *code, const char *name)
{
    need_lock("PyObject_GetAttrString");
    struct object *value = strcmp(name, "co_filename") ? code->name : code->file;
    own->error = value ? NULL : &error_object;
    return given(value);
}

API const char *PyUnicode_AsUTF8AndSize(struct object *name, ssize_t *bytes)
{
    need_lock("PyUnicode_AsUTF8AndSize");
    own->error = name->text ? NULL : &error_object;
    *bytes = name->text ? (ssize_t)strlen(name->text) : 0;
    return name->text;
}

API void Py_DecRef(struct object *object)
{
    must(PyGILState_Check(), "Py_DecRef");
    must(!object || --object->references >= 1, "a reference too many is given back");
}

/* ---- the program ---- */

struct program { struct state state; struct object file, name, code, frames[DEEP]; };

static void set_up(struct program *program, int depth, const char *file, const char *name)
{
    *program = (struct program){ .file = { .references = 1, .text = file }, .name = { .references = 1, .text = name } };
    program->code = (struct object){ .references = 1, .file = &program->file, .name = &program->name };
    for (int i = 0; i < depth; i++)
        program->frames[i] = (struct object){ .references = 1, .code = &program->code, .line = 10 + i,
                                              .caller = i + 1 < depth ? &program->frames[i + 1] : NULL };
    program->state.frame = &program->frames[0];
    own = &program->state;
}

static void check(const struct program *program)
{
    must(program->file.references == 1 && program->name.references == 1 && program->code.references == 1, "names are held");
    for (int i = 0; i < DEEP; i++)
        must(program->frames[i].references <= 1, "a frame is held");
}

__attribute__((noinline)) static void launch(void)
{
    struct gdx_open open;
    if (gdx_begin(&open, GDX_CALL_clEnqueueNDRangeKernel, __builtin_return_address(0))) {
        gdx_commit(&open);
        gdx_stack_of_work(&open);
    }
    gdx_end(&open, 0);
}

static void launches(bool held)
{
    for (int i = 0; i < LAUNCHES; i++) {
        if (held)
            PyEval_RestoreThread(own);
        errno = i;
        launch();
        must(errno == i, "errno");
        if (held)
            PyEval_SaveThread();
    }
}

static void *run(void *held)
{
    struct program program;
    set_up(&program, 3, "/home/user/train.py", "step");
    launches(held != NULL);
    check(&program);
    return NULL;
}

/* Threads with and without the lock at the same time. */
static void mixed(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, i % 2 ? &lock : NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Keeps the lock until it is over. */
static void *keep(void *over)
{
    struct program program;
    set_up(&program, 1, "keeper.py", "keep");
    PyEval_RestoreThread(own);
    atomic_store((_Atomic int *)over, 1);
    while (atomic_load((_Atomic int *)over) == 1)
        usleep(1000);
    PyEval_SaveThread();
    return NULL;
}

static void while_kept(void (*act)(void))
{
    pthread_t keeper;
    _Atomic int over = 0;
    pthread_create(&keeper, NULL, keep, (void *)&over);
    while (!atomic_load(&over))
        usleep(1000);
    act();
    atomic_store(&over, 2);
    pthread_join(keeper, NULL);
    usleep(500000);  /* the helper gets the lock, finds that nobody waits any more, and is ready again */
}

static void run_free(void)
{
    run(NULL);
}

/* Somebody else keeps the lock: one launch waits a little, the others not at all. */
static void stuck(void)
{
    while_kept(run_free);
    run(NULL);
    must(made_states == 1, "the helper has more than one thread state");
}

/* The lock is never to be had: after some launches nobody asks any more, even when it is free. */
static void deaf(void)
{
    struct program program;
    set_up(&program, 3, "/home/user/train.py", "step");
    for (int i = 0; i < 4; i++)
        while_kept(launch);
    launch();
    check(&program);
}

/* The interpreter ends, then is gone. */
static void ending(void)
{
    is_ending = 1;
    run(NULL);
    run(&lock);
    is_up = is_ending = 0;
    run(NULL);
    must(!made_states, "a thread state was made while the interpreter ended");
}

static void with_child(void)
{
    run(NULL);
    if (fork() == 0) {
        run(NULL);
        run(&lock);
        must(made_states == 2, "the child has a helper of its own");
        _exit(0);
    }
    int status;
    wait(&status);
    must(status == 0, "the child");
}

/* An exception is set; names are missing, unreadable or very long; there are more frames than are kept. */
static void odd(void)
{
    static char name[5000];
    struct program program;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 2] = '!';
    set_up(&program, DEEP, name, name);
    program.state.error = &error_object;
    PyEval_RestoreThread(own);
    launch();
    must(program.state.error == &error_object, "the exception is gone");
    program.file.text = NULL;
    program.code.name = NULL;
    program.frames[0].line = -1;
    launch();
    must(program.state.error == &error_object, "the exception is gone");
    PyEval_SaveThread();
    check(&program);
}

static void on_signal(int number)
{
    (void)number;
    launch();
}

static void in_handler(void)
{
    static char stack[1 << 16];
    const stack_t apart = { .ss_sp = stack, .ss_size = sizeof stack };
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
    struct program program;
    set_up(&program, 3, "/home/user/train.py", "step");
    PyEval_RestoreThread(own);
    launch();
    sigaltstack(&apart, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    PyEval_SaveThread();
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (!strcmp(mode, "held"))
        run(&lock);
    else if (!strcmp(mode, "free"))
        run(NULL);
    else if (!strcmp(mode, "mixed"))
        mixed();
    else if (!strcmp(mode, "stuck"))
        stuck();
    else if (!strcmp(mode, "deaf"))
        deaf();
    else if (!strcmp(mode, "ending"))
        ending();
    else if (!strcmp(mode, "fork"))
        with_child();
    else if (!strcmp(mode, "odd"))
        odd();
    else
        in_handler();
    must(collecting, "the collector was left off");  /* here, where no other thread is being walked */
    printf("right\n");
    return 0;
}
