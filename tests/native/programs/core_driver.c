/* Drives the recorder's core through a made-up API, one behaviour per mode. Every record checks itself: its words follow
 * from the thread's number and a counter, so that a reader can tell a whole record from a mixture. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/recorder.h"

enum { RING_CALL = GDX_CALL_clSetKernelArg, LEDGER_CALL = GDX_CALL_clCreateBuffer, THREADS_MAX = 64 };

/* tests/native/records.py computes the same. */
static uint64_t word(uint64_t thread, uint64_t counter, uint64_t i)
{
    uint64_t x = (thread + 1) * 0x9e3779b97f4a7c15ull + counter * 0xbf58476d1ce4e5b9ull + i * 0x94d049bb133111ebull;
    return x ^ x >> 29;
}

static void put_blob(struct gdx_open *open, uint64_t counter)
{
    size_t bytes = counter % 3 ? 0 : counter % 97;
    char *room = bytes ? gdx_part(open, 5, bytes) : NULL;
    if (room)
        memset(room, (int)(counter & 0xff), bytes);
}

static bool open_record(struct gdx_open *open, uint32_t call, uint64_t thread, uint64_t counter)
{
    if (!gdx_begin(open, call, __builtin_return_address(0)))
        return false;
    put_blob(open, counter);
    open->slot->w[0] = thread;
    open->slot->w[1] = counter;
    for (unsigned i = 2; i < GDX_WORDS; i++)
        open->slot->w[i] = word(thread, counter, i);
    gdx_commit(open);
    return true;
}

/* Not inlined, as hooks never are: calls inside calls have frames of their own. */
__attribute__((noinline)) static bool record(uint32_t call, uint64_t thread, uint64_t counter)
{
    struct gdx_open open;
    bool recorded = open_record(&open, call, thread, counter);
    gdx_end_quiet(&open, 0);
    return recorded;
}

static void records(uint32_t call, uint64_t thread, long count)
{
    for (long i = 1; i <= count; i++)
        record(call, thread, (uint64_t)i);
}

static long at(int argc, char **argv, int index, long otherwise)
{
    return argc > index ? atol(argv[index]) : otherwise;
}

/* ---- modes ---- */

/* ring N: thread 0 makes N calls. */
static int ring(int argc, char **argv)
{
    records(RING_CALL, 0, at(argc, argv, 2, 100));
    return 0;
}

/* ledger N M: N object records, M calls after each. */
static int ledger(int argc, char **argv)
{
    for (long i = 1; i <= at(argc, argv, 2, 10); i++) {
        record(LEDGER_CALL, 0, (uint64_t)i);
        records(RING_CALL, 1, at(argc, argv, 3, 10));
    }
    return 0;
}

/* notes BYTES...: one note with a text of each size. */
static int notes(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        size_t bytes = (size_t)atol(argv[i]);
        char *text = malloc(bytes + 1);
        uint64_t words[1] = { bytes };
        memset(text, 'a' + (int)(bytes % 26), bytes);
        gdx_note(GDX_CALL_note_source, words, 1, (struct gdx_text){ text, bytes }, (struct gdx_text){ 0 }, NULL, 0);
        free(text);
    }
    return 0;
}

static void *short_thread(void *number)
{
    records(RING_CALL, (uint64_t)(uintptr_t)number, 5);
    record(LEDGER_CALL, (uint64_t)(uintptr_t)number, 1);
    return NULL;
}

/* churn N: N threads that make a few calls and end, four at a time. */
static int churn(int argc, char **argv)
{
    long count = at(argc, argv, 2, 2000);
    for (long i = 0; i < count; i += 4) {
        pthread_t threads[4];
        for (long k = 0; k < 4; k++)
            pthread_create(&threads[k], NULL, short_thread, (void *)(uintptr_t)(i + k));
        for (int k = 0; k < 4; k++)
            pthread_join(threads[k], NULL);
    }
    return 0;
}

static long per_thread;

static void *long_thread(void *number)
{
    uint64_t thread = (uint64_t)(uintptr_t)number, words[1] = { thread };
    static const char text[5000] = "a note";
    for (long i = 1; i <= per_thread; i++) {
        record(RING_CALL, thread, (uint64_t)i);
        if (i % 50 == 0)
            record(LEDGER_CALL, thread, (uint64_t)i / 50);
        if (i % 2500 == 0)
            gdx_note(GDX_CALL_note_source, words, 1, (struct gdx_text){ text, sizeof text }, (struct gdx_text){ 0 }, NULL, 0);
    }
    return NULL;
}

/* threads T N: T threads at the same time, N calls each, with objects and notes in between. */
static int threads(int argc, char **argv)
{
    pthread_t all[THREADS_MAX];
    long count = at(argc, argv, 2, 8);
    per_thread = at(argc, argv, 3, 10000);
    for (long i = 0; i < count; i++)
        pthread_create(&all[i], NULL, long_thread, (void *)(uintptr_t)i);
    for (long i = 0; i < count; i++)
        pthread_join(all[i], NULL);
    return 0;
}

/* nested N: a call stays open while N others are made inside it (a callback), more than the ring may hold. */
static int nested(int argc, char **argv)
{
    struct gdx_open outer;
    open_record(&outer, RING_CALL, 0, 1);
    records(RING_CALL, 1, at(argc, argv, 2, 10));
    bool open = gdx_still_open(&outer);
    gdx_end_quiet(&outer, 5);
    record(RING_CALL, 2, 1);
    printf("%d\n", open);
    return 0;
}

/* failing N: N calls that fail; the first ones get their host stack. */
static int failing(int argc, char **argv)
{
    for (long i = 1; i <= at(argc, argv, 2, 5); i++) {
        struct gdx_open open;
        open_record(&open, RING_CALL, 0, (uint64_t)i);
        gdx_end(&open, -5);
    }
    return 0;
}

static void put_from(const void *pointer, size_t bytes, uint64_t counter)
{
    struct gdx_open open;
    if (!gdx_begin(&open, RING_CALL, NULL))
        return;
    memset(open.slot->w, 0, sizeof open.slot->w);
    open.slot->w[0] = counter;
    gdx_show(&open);
    gdx_put(&open, 2, pointer, bytes);
    gdx_put_text(&open, 3, pointer);
    gdx_put_properties(&open, 4, pointer);
    gdx_commit(&open);
    gdx_end_quiet(&open, 0);
}

/* unreadable: content at addresses that cannot be read. The first is readable, the others are not, or not to the end. */
static int unreadable(int argc, char **argv)
{
    char *page = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)argc, (void)argv;
    memset(page, 'x', 4096);
    memset(page + 40, 0, 24);
    put_from(page, 16, 0);
    mprotect(page + 4096, 4096, PROT_NONE);
    put_from(page + 4096 - 8, 16, 1);
    put_from(page + 4096, 16, 2);
    put_from((void *)16, 16, 3);
    put_from((void *)-64, 128, 4);
    put_from((void *)0xffff800000000000, 8, 5);
    put_from((void *)0x8000000000000000, 8, 6);
    put_from(page, SIZE_MAX, 7);
    put_from(page, (size_t)1 << 40, 8);
    return 0;
}

/* remapping N: N records each by two threads with content that two others unmap, protect and map again all the time. */
static struct { char *pages; _Atomic bool stop; _Atomic unsigned steps; long count; } shared;
enum { SHARED = 8 * 4096, TOGETHER = 50 };

static void *remap(void *unused)
{
    (void)unused;
    for (unsigned i = 0; !shared.stop; i++) {
        if (i % 2)
            mprotect(shared.pages, SHARED, PROT_NONE);
        else
            mmap(shared.pages, SHARED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (i % 7 == 3)  /* not a hole, in which somebody else's memory could come to lie */
            mmap(shared.pages + 4096, SHARED / 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        shared.steps++;
    }
    return NULL;
}

static void *put_shared(void *unused)
{
    (void)unused;
    for (long i = 0; i < shared.count; i++) {
        /* On a busy machine the others may not have run yet. */
        for (unsigned seen = shared.steps; i % TOGETHER == 0 && shared.steps == seen;)
            sched_yield();
        put_from(shared.pages + i * 24 % (SHARED - 64), 1 + (size_t)i % 5000, (uint64_t)i);
    }
    return NULL;
}

static int remapping(int argc, char **argv)
{
    pthread_t threads[4];
    shared.count = at(argc, argv, 2, 1000);
    shared.pages = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, i < 2 ? put_shared : remap, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    shared.stop = true;
    pthread_join(threads[2], NULL);
    pthread_join(threads[3], NULL);
    return 0;
}

/* properties: lists of names and values, in which a value may be 0. */
static int properties(int argc, char **argv)
{
    static const uint64_t queue[] = { 0x1094, 0, 0x1093, 1, 0 }, parts[] = { 0x1087, 1, 3, 0, 0x1086, 2, 0, 99 }, none[] = { 0 };
    const uint64_t *lists[] = { queue, parts, none };
    (void)argc, (void)argv;
    for (int i = 0; i < 3; i++) {
        struct gdx_open open;
        if (!gdx_begin(&open, RING_CALL, NULL))
            return 1;
        memset(open.slot->w, 0, sizeof open.slot->w);
        gdx_put_properties(&open, 4, lists[i]);
        gdx_commit(&open);
        gdx_end_quiet(&open, 0);
    }
    return 0;
}

/* Not inlined: hooks have a frame of their own. */
__attribute__((noinline)) static int stays_here(const void *at)
{
    return gdx_stays(&gdx_lane()->reader, at, 8);
}

/* stays: where values may lie that are read without asking the kernel, and where they may not. */
static int stays(int argc, char **argv)
{
    static uint64_t data = 7;
    uint64_t local = 8, *heap = malloc(sizeof *heap);
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)argc, (void)argv;
    printf("%d %d %d %d %d\n", stays_here(&data), stays_here(&local), stays_here(heap), stays_here(page),
           stays_here((void *)((uintptr_t)&local - (1 << 16))));
    free(heap);
    return 0;
}

/* reused: a thread leaves a call by longjmp and ends; the thread that gets its lane next is not taken for one that did. */
static jmp_buf out;

__attribute__((noinline)) static void leave_a_call(void)
{
    struct gdx_open open[64];  /* the first lies deeper than any that is made after it was left */
    open_record(open, RING_CALL, 0, 1);
    longjmp(out, 1);
}

static void *leaves(void *calls_left)
{
    if (!setjmp(out))
        leave_a_call();
    record(RING_CALL, 0, 2);
    *(bool *)calls_left = gdx_lane()->calls_left;
    return NULL;
}

static void *asks(void *calls_left)
{
    record(RING_CALL, 0, 3);
    *(bool *)calls_left = gdx_lane()->calls_left;
    return NULL;
}

static int reused(int argc, char **argv)
{
    bool first = false, second = true;
    pthread_t thread;
    (void)argc, (void)argv;
    pthread_create(&thread, NULL, leaves, &first);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, asks, &second);
    pthread_join(thread, NULL);
    printf("%d %d\n", first, second);
    return 0;
}

/* big N: parts of growing size until nothing fits. */
static int big(int argc, char **argv)
{
    static char data[1 << 17];
    for (long i = 0; i < at(argc, argv, 2, 200); i++) {
        struct gdx_open open;
        if (!gdx_begin(&open, RING_CALL, NULL))
            return 1;
        memset(open.slot->w, 0, sizeof open.slot->w);
        open.slot->w[0] = (uint64_t)i;
        memset(data, (int)i, sizeof data);
        for (uint32_t part = 0; part < 5; part++)
            gdx_put(&open, part, data, (size_t)i * 700);
        gdx_commit(&open);
        gdx_end_quiet(&open, 0);
    }
    return 0;
}

/* errno: no function of the recorder changes it, not even where it takes new chunks or fails. */
static int keeps_errno(int argc, char **argv)
{
    int changed = 0;
    (void)argc, (void)argv;
    for (long i = 1; i <= 5000; i++) {
        errno = 77;
        record(i % 5 ? RING_CALL : LEDGER_CALL, 0, (uint64_t)i);
        changed += errno != 77;
        put_from((void *)16, 8, 0);
        changed += errno != 77;
        if (i % 1000 == 0) {
            struct gdx_open open;
            open_record(&open, RING_CALL, 0, 0);
            gdx_end(&open, -1);
            gdx_note(GDX_CALL_note_source, NULL, 0, (struct gdx_text){ "text", 4 }, (struct gdx_text){ 0 }, NULL, 0);
            changed += errno != 77;
        }
    }
    printf("%d\n", changed);
    return changed != 0;
}

/* forks N: the parent and N children, each with a few calls of its own; children of threaded parents too. */
static int forks(int argc, char **argv)
{
    int bad = 0;
    records(RING_CALL, 0, 10);
    for (long i = 1; i <= at(argc, argv, 2, 5); i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            records(RING_CALL, (uint64_t)i, 10);
            _exit(0);
        }
        waitpid(child, &status, 0);
        bad += status != 0;
    }
    records(RING_CALL, 0, 10);
    return bad;
}

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
    (void)number;
    alarms++;
    record(RING_CALL, 1, (uint64_t)alarms);
}

/* storm N: thread 0 is interrupted N times by a handler that makes calls as thread 1. */
static int storm(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
    uint64_t made = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (alarms < at(argc, argv, 2, 1000))
        record(RING_CALL, 0, ++made);
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%llu %d\n", (unsigned long long)made, (int)alarms);
    return 0;
}

/* ---- kill: writes until it is killed, and tells in shared memory what was committed ---- */

struct told { uint64_t ring, ledger; uint64_t spare[6]; };
static struct told *told;

static void *endless(void *number)
{
    uint64_t thread = (uint64_t)(uintptr_t)number;
    struct told *own = &told[thread];
    for (uint64_t i = 1;; i++) {
        if (record(RING_CALL, thread, i))
            __atomic_store_n(&own->ring, i, __ATOMIC_RELEASE);
        if (i % 64 == 0 && record(LEDGER_CALL, thread, i / 64))
            __atomic_store_n(&own->ledger, i / 64, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* endless FILE THREADS: FILE holds one `struct told` per thread. */
static int until_killed(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    int fd = open(argv[2], O_RDWR);
    long count = atol(argv[3]);
    told = mmap(NULL, (size_t)count * sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || told == MAP_FAILED)
        return 2;
    for (long i = 1; i < count; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, endless, (void *)(uintptr_t)i);
    }
    endless((void *)0);
    return 0;
}

static const struct { const char *name; int (*run)(int, char **); } modes[] = {
    { "ring", ring }, { "ledger", ledger }, { "notes", notes }, { "churn", churn }, { "threads", threads },
    { "nested", nested }, { "failing", failing }, { "unreadable", unreadable }, { "big", big }, { "errno", keeps_errno },
    { "remapping", remapping }, { "properties", properties }, { "stays", stays }, { "reused", reused },
    { "forks", forks }, { "storm", storm }, { "endless", until_killed },
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(argv[1], modes[i].name))
            return modes[i].run(argc, argv);
    return 2;
}
