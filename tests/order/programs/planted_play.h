/* How a mode is chosen and judged, whatever the API: comes behind start(), right(), stop() and `twin`. "judged" is the bug, and
 * looks at its result as the twin does. */
#pragma once

struct mode { const char *name; void (*run)(void); float want; };

static inline int play(const struct mode *modes, int argc, char **argv)
{
    for (; argc == 3 && modes->name; modes++)
        if (!strcmp(modes->name, argv[1])) {
            twin = !strcmp(argv[2], "twin");
            bool looks = strcmp(argv[2], "bug");
            start();
            modes->run();
            bool good = right(modes->want);
            stop();
            puts(!looks ? "done" : good ? "right" : "wrong");
            return looks && !good;
        }
    puts("usage: prog MODE bug|twin|judged");
    return 2;
}
