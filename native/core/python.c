/* Walks the calling thread's Python frames with functions of CPython that are the same from 3.9 to 3.14.
 *
 * A thread that holds the interpreter's lock walks by itself. One that has let go of it (most libraries do around a
 * launch) must not wait for it: whoever holds the lock may be waiting for a lock of this thread, and a thread that asks for
 * it while the interpreter ends is itself ended (up to 3.13) or never comes back (since 3.14; documentation of
 * PyEval_RestoreThread). So a helper thread takes the lock and walks the frames of the thread that asked, which cannot
 * change while that thread stands here; sys._current_frames does the same. It waits PATIENCE_MS at most, and after
 * MISSES_MOST misses in a row nobody is asked any more.
 *
 * To CPython the helper is one more daemon thread, with a thread state that it keeps: taking the lock with it is safe
 * even after the interpreter has ended (Python/ceval_gil.h, take_gil, says why), making a new one then is not.
 *
 * Nothing here runs Python code: the collector, which could, is held off while frame objects are made, and an exception
 * that is set is put away and back. */
#define _GNU_SOURCE
#include "core/python.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/recorder.h"
#include "core/sandbox.h"

enum { PATIENCE_MS = 250, MISSES_MOST = 4, HELPER_STACK = 1 << 20 };

typedef struct gdx_py_object object;        /* PyObject, PyFrameObject, PyCodeObject */
typedef struct gdx_py_thread thread_state;  /* PyThreadState */

/* Two names where one was renamed in 3.13; the first that is there counts. */
#define FUNCTIONS(X)                                                                                   \
    X(int, is_initialised, (void), "Py_IsInitialized", "")                                             \
    X(int, is_finalising, (void), "Py_IsFinalizing", "_Py_IsFinalizing")                               \
    X(thread_state *, own_state, (void), "PyGILState_GetThisThreadState", "")                          \
    X(int, checks_lock, (void), "PyGILState_Check", "")                                                \
    X(thread_state *, current_state, (void), "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet") \
    X(void *, interpreter_of, (thread_state *), "PyThreadState_GetInterpreter", "")                    \
    X(void *, main_interpreter, (void), "PyInterpreterState_Main", "")                                 \
    X(thread_state *, new_state, (void *), "PyThreadState_New", "")                                    \
    X(void, take_lock, (thread_state *), "PyEval_RestoreThread", "")                                   \
    X(thread_state *, leave_lock, (void), "PyEval_SaveThread", "")                                     \
    X(object *, frame_of, (thread_state *), "PyThreadState_GetFrame", "")                              \
    X(object *, caller_of, (object *), "PyFrame_GetBack", "")                                          \
    X(object *, code_of, (object *), "PyFrame_GetCode", "")                                            \
    X(int, line_of, (object *), "PyFrame_GetLineNumber", "")                                           \
    X(object *, attribute, (object *, const char *), "PyObject_GetAttrString", "")                     \
    X(const char *, utf8, (object *, ssize_t *), "PyUnicode_AsUTF8AndSize", "")                        \
    X(void, let_go, (object *), "Py_DecRef", "")                                                       \
    X(void, put_away, (object **, object **, object **), "PyErr_Fetch", "")                            \
    X(void, put_back, (object *, object *, object *), "PyErr_Restore", "")                             \
    X(void, forget_error, (void), "PyErr_Clear", "")

#define MEMBER(result, name, parameters, first, second) result (*name) parameters;
static struct functions {
    FUNCTIONS(MEMBER)
    int (*hold_collector)(void), (*let_collector)(void);
} py;
static _Atomic int found;  /* 0: nobody has looked yet, 1: not all of them are here, 2: `py` is complete */

static void *symbol(const char *first, const char *second)
{
    void *at = dlsym(RTLD_DEFAULT, first);
    return at || !*second ? at : dlsym(RTLD_DEFAULT, second);
}

/* 3.11 makes frame objects for a walk and collects whenever objects are made; before, every frame was an object, and since
 * 3.12 the collector waits for the next Python instruction. Builds without one lock for all threads (the function named
 * here is in no other) are left alone: another thread may be switching the collector right now. */
static void find_collector(struct functions *fresh)
{
    if (symbol("PyUnstable_Module_SetGIL", ""))
        return;
    *(void **)&fresh->hold_collector = symbol("PyGC_Disable", "");
    *(void **)&fresh->let_collector = symbol("PyGC_Enable", "");
}

/* Threads that come at the same time all look and find the same; the first to be done publishes it. None waits for another:
 * one of them may hold the loader's lock, which dlsym needs. A forked child knows what its parent found. */
void gdx_find_python(void)
{
    static atomic_flag published = ATOMIC_FLAG_INIT;
    struct functions fresh = { 0 };
    bool all = true;
    if (atomic_load_explicit(&found, memory_order_acquire))
        return;
#define FIND(result, name, parameters, first, second) all = all && (*(void **)&fresh.name = symbol(first, second));
    FUNCTIONS(FIND)
    if (all)
        find_collector(&fresh);
    dlerror();  /* what was not found is no error of the program's */
    if (atomic_flag_test_and_set(&published))
        return;
    py = fresh;
    atomic_store_explicit(&found, all ? 2 : 1, memory_order_release);
}

static bool is_up(void)
{
    return py.is_initialised() && !py.is_finalising();
}

bool gdx_runs_python(void)
{
    if (!atomic_load_explicit(&found, memory_order_acquire))
        gdx_find_python();
    return atomic_load_explicit(&found, memory_order_acquire) == 2 && is_up() && py.own_state();
}

/* ---- the walk: with the interpreter's lock ---- */

static bool put(struct gdx_python *out, const char *from, size_t bytes)
{
    if (out->bytes + bytes + 1 > sizeof out->text)
        return false;
    memcpy(out->text + out->bytes, from, bytes);
    out->bytes += bytes;
    out->text[out->bytes++] = 0;
    return true;
}

/* The end of a long name says more than its beginning. A name that is no valid text (PEP 383) becomes "?". */
static bool put_attribute(struct gdx_python *out, object *code, const char *name, ssize_t most)
{
    ssize_t bytes = 0;
    object *value = py.attribute(code, name);
    const char *text = value ? py.utf8(value, &bytes) : NULL;
    if (!text)
        py.forget_error();
    ssize_t from = bytes > most ? bytes - most : 0;
    bool fits = text ? put(out, text + from, (size_t)(bytes - from)) : put(out, "?", 1);
    py.let_go(value);
    return fits;
}

static bool put_number(struct gdx_python *out, int number)
{
    char digits[12];
    size_t at = sizeof digits;
    for (unsigned rest = number > 0 ? (unsigned)number : 0; at == sizeof digits || rest; rest /= 10)
        digits[--at] = (char)('0' + rest % 10);
    return put(out, digits + at, sizeof digits - at);
}

/* The whole frame or nothing of it. */
static bool put_frame(struct gdx_python *out, object *frame)
{
    size_t before = out->bytes;
    object *code = py.code_of(frame);
    bool whole = put_attribute(out, code, "co_filename", GDX_PYTHON_FILE) && put_number(out, py.line_of(frame))
        && put_attribute(out, code, "co_name", GDX_PYTHON_NAME);
    py.let_go(code);
    if (!whole)
        out->bytes = before;
    return whole;
}

static void walk(thread_state *of, struct gdx_python *out)
{
    object *type, *value, *traceback;
    int was_on = py.hold_collector ? py.hold_collector() : 0;
    py.put_away(&type, &value, &traceback);
    object *frame = py.frame_of(of);
    for (int i = 0; frame && i < GDX_PYTHON_FRAMES; i++) {
        object *caller = put_frame(out, frame) ? py.caller_of(frame) : NULL;
        py.let_go(frame);
        frame = caller;
    }
    py.let_go(frame);
    py.put_back(type, value, traceback);
    if (was_on && py.let_collector)
        py.let_collector();
    out->answer = GDX_PYTHON_TAKEN;
}

/* ---- the helper ---- */

/* All but `step` belongs to the holder of GDX_LOCK_PYTHON, and to the helper while ASKED or WALKING.
 *
 * IDLE --asks--> ASKED --has the lock--> WALKING --> DONE --> IDLE; or ASKED --the time is over--> LEFT --> IDLE; or
 * ASKED --the interpreter ends--> IDLE. Only the helper leaves LEFT: while it waits for the lock, nobody else asks. */
enum step { IDLE, ASKED, WALKING, DONE, LEFT };
static struct {
    _Atomic uint32_t step;
    uint32_t generation;  /* of the process that has the helper; a forked child has none */
    unsigned misses;      /* in a row */
    thread_state *helper; /* its own; NULL until it has walked once */
    thread_state *of;
    struct gdx_python *out;
} asked;

/* The bare system call: glibc has no function for it, and this one is no place where a thread can be cancelled. */
static void sleep_while(uint32_t step, const struct timespec *longest)
{
    syscall(SYS_futex, &asked.step, FUTEX_WAIT_PRIVATE, step, longest, NULL, 0);
}

static void go_to(enum step step)
{
    atomic_store(&asked.step, step);
    syscall(SYS_futex, &asked.step, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static bool change(uint32_t from, enum step to)
{
    return atomic_compare_exchange_strong(&asked.step, &from, to);
}

static bool can_take_lock(void)
{
    void *interpreter = is_up() ? py.main_interpreter() : NULL;
    if (interpreter && !asked.helper)
        asked.helper = py.new_state(interpreter);
    return interpreter && asked.helper;
}

static void answer(void)
{
    bool wanted = false;
    if (can_take_lock()) {
        py.take_lock(asked.helper);
        wanted = change(ASKED, WALKING);
        if (wanted)
            walk(asked.of, asked.out);
        py.leave_lock();
    }
    go_to(wanted ? DONE : IDLE);
}

static void *help(void *nothing)
{
    (void)nothing;
    pthread_setname_np(pthread_self(), "gpudx-python");
    for (;;) {
        uint32_t step = atomic_load(&asked.step);
        if (step == ASKED)
            answer();
        else
            sleep_while(step, NULL);
    }
    return NULL;
}

/* All signals are blocked here, and so they are in the helper: it handles none of the program's. */
static bool start_helper(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes))
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, HELPER_STACK);
    bool started = !gdx_is_shut_in() && pthread_create(&thread, &attributes, help, NULL) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

static bool helper_is_here(uint32_t generation)
{
    if (asked.generation != generation) {
        atomic_store(&asked.step, IDLE);
        asked.generation = generation;
        asked.helper = NULL;
        asked.misses = start_helper() ? 0 : MISSES_MOST;
    }
    return asked.misses < MISSES_MOST && atomic_load(&asked.step) == IDLE;
}

static struct timespec time_left(const struct timespec *until)
{
    struct timespec now, left;
    clock_gettime(CLOCK_MONOTONIC, &now);
    left.tv_sec = until->tv_sec - now.tv_sec;
    left.tv_nsec = until->tv_nsec - now.tv_nsec;
    if (left.tv_nsec < 0) {
        left.tv_sec--;
        left.tv_nsec += 1000000000;
    }
    return left;
}

/* Once the helper walks it is soon done, and it writes to our stack: that is waited for. False: there is no answer. */
static bool wait_for_helper(void)
{
    struct timespec until, left;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PATIENCE_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    for (uint32_t step; (step = atomic_load(&asked.step)) != DONE;) {
        if (step == IDLE)
            return false;
        left = time_left(&until);
        if (step == ASKED && left.tv_sec < 0) {
            if (change(ASKED, LEFT))
                return false;
        } else {
            sleep_while(step, step == ASKED ? &left : NULL);
        }
    }
    atomic_store(&asked.step, IDLE);
    return true;
}

static void ask_helper(thread_state *of, struct gdx_python *out, uint32_t generation)
{
    struct gdx_calm calm;
    out->answer = GDX_PYTHON_BUSY;
    gdx_lock(GDX_LOCK_PYTHON, &calm);
    if (helper_is_here(generation)) {
        asked.of = of;
        asked.out = out;
        go_to(ASKED);
        asked.misses = wait_for_helper() ? 0 : asked.misses + 1;
    }
    gdx_unlock(GDX_LOCK_PYTHON, &calm);
}

/* ---- the way in ---- */

/* The helper walks in the main interpreter, and a thread that let go of another one's lock is not asked about. Up to 3.11
 * the thread's own state is that of the main interpreter even then, but PyGILState_Check, which is of no use once there
 * was a second interpreter, gives it away: it says yes without looking (Python/pylifecycle.c, new_interpreter). */
static bool helper_may_walk(thread_state *own)
{
    return !py.checks_lock() && py.interpreter_of(own) == py.main_interpreter();
}

void gdx_python_frames(struct gdx_python *python, uint32_t generation)
{
    thread_state *own = py.own_state();
    python->answer = GDX_PYTHON_NONE;
    python->bytes = 0;
    if (py.current_state() == own)
        walk(own, python);
    else if (helper_may_walk(own))
        ask_helper(own, python, generation);
}
