#include "runner.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 64, DEFAULT_THREADS = 8 };

static struct {
    struct test *chosen[MOST];
    int count, threads, shuffle;
    unsigned seed;
    const char *filter, *report;
    atomic_int next;
    pthread_mutex_t print;
} run = {.threads = DEFAULT_THREADS, .filter = "*", .print = PTHREAD_MUTEX_INITIALIZER};

void fail(struct test *test, const char *format, ...)
{
    va_list more;
    if (test->message[0])
        return;
    va_start(more, format);
    vsnprintf(test->message, sizeof test->message, format, more);
    va_end(more);
}

static const char *value_of(const char *word, const char *option)
{
    size_t length = strlen(option);
    return strncmp(word, option, length) == 0 ? word + length : NULL;
}

/* Whole names and "*", as many as there are colons between. */
static int is_chosen(const struct test *test)
{
    char whole[128], filter[4096];
    snprintf(whole, sizeof whole, "%s.%s", test->suite, test->name);
    snprintf(filter, sizeof filter, "%s", run.filter);
    for (char *rest = filter, *one; (one = strsep(&rest, ":"));)
        if (strcmp(one, "*") == 0 || strcmp(one, whole) == 0)
            return 1;
    return 0;
}

static void list(const struct test *tests, int count)
{
    const char *suite = "";
    for (int i = 0; i < count; i++) {
        if (strcmp(suite, tests[i].suite) != 0)
            printf("%s.\n", suite = tests[i].suite);
        printf("  %s\n", tests[i].name);
    }
}

static void choose(struct test *tests, int count)
{
    for (int i = 0; i < count && run.count < MOST; i++)
        if (is_chosen(&tests[i]))
            run.chosen[run.count++] = &tests[i];
    for (int i = run.count - 1; run.shuffle && i > 0; i--) {
        int other = rand_r(&run.seed) % (i + 1);
        struct test *kept = run.chosen[i];
        run.chosen[i] = run.chosen[other];
        run.chosen[other] = kept;
    }
}

static void say(const char *mark, const struct test *test)
{
    pthread_mutex_lock(&run.print);
    if (mark[3] == 'F')
        printf("%s\n", test->message);
    printf("[%s] %s.%s", mark, test->suite, test->name);
    printf(mark[1] == 'R' ? "\n" : " (%ld ms)\n", test->milliseconds);
    fflush(stdout);
    pthread_mutex_unlock(&run.print);
}

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void *work(void *unused)
{
    for (int i; (i = atomic_fetch_add(&run.next, 1)) < run.count;) {
        struct test *test = run.chosen[i];
        long start = now();
        say(" RUN      ", test);
        test->body(test);
        test->milliseconds = now() - start;
        say(test->message[0] ? "  FAILED  " : "       OK ", test);
    }
    return unused;
}

static void run_chosen(void)
{
    pthread_t threads[MOST];
    int count = run.threads < run.count ? run.threads : run.count;
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void report_test(FILE *file, const struct test *test, const char *comma)
{
    fprintf(file, "{\"name\":\"%s\",\"status\":\"RUN\",\"result\":\"COMPLETED\"", test->name);
    if (test->message[0])
        fprintf(file, ",\"failures\":[{\"failure\":\"%s\",\"type\":\"\"}]", test->message);
    fprintf(file, "}%s", comma);
}

/* A suite for each test: readers join them by name. */
static void report(void)
{
    const char *path = run.report ? value_of(run.report, "json:") : NULL;
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "{\"testsuites\":[");
    for (int i = 0; i < run.count; i++) {
        fprintf(file, "{\"name\":\"%s\",\"testsuite\":[", run.chosen[i]->suite);
        report_test(file, run.chosen[i], "]}");
        fprintf(file, "%s", i + 1 < run.count ? "," : "");
    }
    fprintf(file, "]}\n");
    fclose(file);
}

int run_tests(int count, char **words, struct test *tests, int number_of_tests)
{
    int failed = 0, only_list = 0;
    const char *value;
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--gtest_list_tests") == 0)
            only_list = 1;
        else if (strcmp(words[i], "--gtest_shuffle") == 0)
            run.shuffle = 1;
        else if ((value = value_of(words[i], "--gtest_random_seed=")))
            run.seed = (unsigned)atoi(value);
        else if ((value = value_of(words[i], "--gtest_filter=")))
            run.filter = value;
        else if ((value = value_of(words[i], "--gtest_output=")))
            run.report = value;
        else if ((value = value_of(words[i], "--threads=")))
            run.threads = atoi(value) > 0 ? atoi(value) : 1;
    }
    if (only_list) {
        list(tests, number_of_tests);
        return 0;
    }
    choose(tests, number_of_tests);
    run_chosen();
    for (int i = 0; i < run.count; i++)
        failed += run.chosen[i]->message[0] != 0;
    report();
    printf("%d of %d tests failed\n", failed, run.count);
    return failed ? 1 : 0;
}
