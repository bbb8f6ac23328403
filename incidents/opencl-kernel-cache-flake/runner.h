/* A runner of tests that speaks googletest's command line, and runs tests in threads of one process. */
#ifndef RUNNER_H
#define RUNNER_H

struct test {
    const char *suite, *name;
    void (*body)(struct test *);
    int number;
    char message[256]; /* of the first failure; empty: passed */
    long milliseconds;
};

void fail(struct test *test, const char *format, ...) __attribute__((format(printf, 2, 3)));
int run_tests(int count, char **words, struct test *tests, int number_of_tests);

#endif
