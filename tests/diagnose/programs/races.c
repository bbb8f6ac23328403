/* Races between work-items of a program that exits with 0 unless a result is wrong. What each mode does is said with its kernel. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../detectors/programs/common.h"

enum { ITEMS = 64, GROUP = 16 };
static const char text[] =
    /* Levels of a binary tree: a node reads levels of the last launch, while nodes of this one are marked. */
    "kernel void expand(global int *level, int depth, int n, global int *changed) {\n"
    "    int v = get_global_id(0);\n"
    "    if (v >= n || level[v] != depth) return;\n"
    "    for (int child = 2 * v + 1; child < min(2 * v + 3, n); child++)\n"
    "        if (level[child] < 0) {\n"
    "            level[child] = depth + 1;\n"
    "            *changed = 1;\n"
    "        }\n"
    "}\n"
    /* Reads what its neighbour writes, with no barrier in between: right as long as the neighbour runs first. */
    "kernel void shift(global int *out, local int *s) {\n"
    "    int l = get_local_id(0);\n"
    "    s[l] = get_global_id(0);\n"
    "    out[get_global_id(0)] = l ? s[l - 1] : -1;\n"
    "}\n"
    "kernel void count(global int *total) {\n"
    "    total[0] += 1;\n"
    "}\n"
    "kernel void count_apart(global int *total) {\n"
    "    int before = total[0];\n"
    "    total[0] = before + 1;\n"
    "}\n"
    "kernel void last(global int *total) {\n"
    "    total[0] = get_global_id(0);\n"
    "}\n"
    /* Half of the items write elements that others read; the rest all write one element. */
    "kernel void late(global int *a) {\n"
    "    int i = get_global_id(0), next = a[(i + 1) % 32];\n"
    "    a[i < 32 ? i : 0] = next + i;\n"
    "}\n"
    /* Items write squares until one says that it is done; who comes late writes none. */
    "kernel void until(global int *out, global int *done) {\n"
    "    int i = get_global_id(0);\n"
    "    if (*done) return;\n"
    "    out[i] = i * i;\n"
    "    if (i % 16 == 15) *done = 1;\n"
    "}\n"
    /* The same tree, and a number for each node that atomics hand out. */
    "kernel void visit(global int *level, int depth, int n, global int *changed, global int *slots) {\n"
    "    int v = get_global_id(0);\n"
    "    if (v >= n || level[v] != depth) return;\n"
    "    slots[1 + atomic_inc(slots)] = v;\n"
    "    for (int child = 2 * v + 1; child < min(2 * v + 3, n); child++)\n"
    "        if (level[child] < 0) {\n"
    "            level[child] = depth + 1;\n"
    "            *changed = 1;\n"
    "        }\n"
    "}\n";

static void in_groups(cl_kernel kernel, size_t items, size_t group)
{
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL), "clEnqueueNDRangeKernel");
}

static cl_mem buffer_of(const int *values, size_t count)
{
    cl_int status;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, count * sizeof *values, (void *)values, &status);
    check(status, "clCreateBuffer");
    return made;
}

static void fetch(cl_mem from, int *values, size_t count)
{
    check(clEnqueueReadBuffer(queue, from, CL_TRUE, 0, count * sizeof *values, values, 0, NULL, NULL), "clEnqueueReadBuffer");
}

static int wrong(const char *what)
{
    fprintf(stderr, "wrong: %s\n", what);
    return 1;
}

static int of_tree(bool with_slots)
{
    int level[ITEMS], changed = 1, zero = 0, slots[1 + ITEMS] = { 0 };
    memset(level, 0xff, sizeof level);
    level[0] = 0;
    cl_kernel kernel = make_kernel(with_slots ? "visit" : "expand");
    cl_mem levels = buffer_of(level, ITEMS), flag = buffer_of(&zero, 1), places = buffer_of(slots, 1 + ITEMS);
    set_mem(kernel, 0, levels);
    set_int(kernel, 2, ITEMS);
    set_mem(kernel, 3, flag);
    if (with_slots)
        set_mem(kernel, 4, places);
    for (int depth = 0; changed; depth++) {
        set_int(kernel, 1, depth);
        check(clEnqueueWriteBuffer(queue, flag, CL_TRUE, 0, sizeof zero, &zero, 0, NULL, NULL), "clEnqueueWriteBuffer");
        in_groups(kernel, ITEMS, GROUP);
        fetch(flag, &changed, 1);
    }
    fetch(levels, level, ITEMS);
    fetch(places, slots, 1 + ITEMS);
    for (int v = 1; v < ITEMS; v++)
        if (level[v] != level[(v - 1) / 2] + 1)
            return wrong("level");
    for (int at = 1; with_slots && at <= slots[0]; at++)
        printf("%d ", slots[at]);
    printf("%d levels\n", level[ITEMS - 1] + 1);
    return 0;
}

static int of_group(void)
{
    int out[GROUP];
    cl_kernel kernel = make_kernel("shift");
    cl_mem memory = filled_buffer(sizeof out);
    set_mem(kernel, 0, memory);
    set(kernel, 1, GROUP * sizeof(int), NULL);
    in_groups(kernel, GROUP, GROUP);
    fetch(memory, out, GROUP);
    for (int i = 0; i < GROUP; i++)
        if (is("shown"))
            printf("%d\n", out[i]);
        else if (out[i] != i - 1)
            return wrong("neighbour");
    return 0;
}

static int of_elements(void)
{
    int a[ITEMS / 2] = { 0 };
    cl_kernel kernel = make_kernel("late");
    cl_mem memory = buffer_of(a, ITEMS / 2);
    set_mem(kernel, 0, memory);
    in_groups(kernel, ITEMS, ITEMS);
    fetch(memory, a, ITEMS / 2);
    return 0;
}

/* One group: PoCL runs its work-items one after the other, so that nothing is lost there. */
static int of_total(const char *name, int expected)
{
    int total = 0;
    cl_kernel kernel = make_kernel(name);
    cl_mem memory = buffer_of(&total, 1);
    set_mem(kernel, 0, memory);
    in_groups(kernel, GROUP, GROUP);
    fetch(memory, &total, 1);
    return expected && total != expected ? wrong("total") : 0;
}

static int of_flag(void)
{
    int out[GROUP] = { 0 }, done = 0;
    cl_kernel kernel = make_kernel("until");
    cl_mem memory = buffer_of(out, GROUP), flag = buffer_of(&done, 1);
    set_mem(kernel, 0, memory);
    set_mem(kernel, 1, flag);
    in_groups(kernel, GROUP, GROUP);
    fetch(memory, out, GROUP);
    fetch(flag, &done, 1);
    for (int i = 0; i < GROUP; i++)
        if (out[i] != i * i)
            return wrong("square");
    return done ? 0 : wrong("flag");
}

int main(int argc, char **argv)
{
    struct timespec now;
    open_device(argc, argv);
    program = build(text);
    int status = is("tree") || is("timed") ? of_tree(false)
               : is("slots")               ? of_tree(true)
               : is("group") || is("shown") ? of_group()
               : is("until")               ? of_flag()
               : is("late")                ? of_elements()
               : is("last")                ? of_total("last", 0)
                                           : of_total(is("apart") ? "count_apart" : "count", GROUP);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (is("timed"))
        printf("took %ld.%03ld s\n", (long)now.tv_sec, now.tv_nsec / 1000000);
    finish();
    return status;
}
