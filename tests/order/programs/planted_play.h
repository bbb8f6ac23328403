/* How a mode is chosen and judged, whatever the API: comes behind start(), right(), stop() and `twin`. */
#pragma once

struct mode { const char *name; void (*run)(void); float want; };

static inline int play(const struct mode *modes, int argc, char **argv)
{
    for (; argc == 3 && modes->name; modes++)
        if (!strcmp(modes->name, argv[1])) {
            twin = !strcmp(argv[2], "twin");
            start();
            modes->run();
            bool good = right(modes->want);
            stop();
            puts(!twin ? "done" : good ? "right" : "wrong");
            return twin && !good;
        }
    puts("usage: prog MODE bug|twin");
    return 2;
}
