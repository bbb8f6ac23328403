/* A FAKE libcuda.so.1. It runs nothing on any GPU: it exists so that the hooks can be tested on machines without one.
 *
 * Device memory is host memory, streams run at once, and a "module" is a text with one line per kernel:
 *
 *     kernel NAME SIZE SIZE ...         parameter sizes in bytes; offsets are padded to each size, up to 8
 *
 * A comment at the head of real PTX can say the same, so that one image serves here and on a device.
 * The kernel `add(float *a, float *b, float *out, int n)` adds, as does its C++ namesake; all others only fold their arguments into a checksum
 * that fakeChecksum() returns, so that a program can tell whether every byte of every launch arrived.
 *
 *     FAKE_CUDA_FAIL=cuLaunchKernel:3:700   the third cuLaunchKernel succeeds, and every later call fails with 700,
 *                                           as after a fault on a real device
 *                                           (710, an assertion, is also printed as a real driver prints it)
 *     FAKE_CUDA_REFUSE=cuMemAlloc_v2:2:2    the second cuMemAlloc_v2 fails with 2, once
 *     FAKE_CUDA_LAZY=all                    no kernel can be had from a library that is loaded with code of gpudx's in it ("optimized":
 *                                           only if it is loaded without options)
 *     FAKE_CUDA_CRASH=cuMemFree_v2:1        the first cuMemFree_v2 dies by SIGSEGV inside the driver
 *     FAKE_CUDA_BUSY=1                      no stream is ever done, if asked
 *     FAKE_CUDA_STUCK=3                     what is put into the third stream that is made never ends: asked, it is not done,
 *                                           and whoever waits for it waits for ever
 *     FAKE_CUDA_CATCH=1                     a kernel that touches memory it may not touch ends there, and every later call
 *                                           fails with 700; without it the program dies by SIGSEGV in the launch
 *
 * Virtual memory management is real: addresses that are reserved and not mapped cannot be touched. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cu.h"

#define API __attribute__((visibility("default")))
enum { PARAMS = 512, THREADS_MAX = 1024, SHARED_MAX = 49152, NODES = 64, DRIVER = 13000 };
enum magic { CONTEXT = 0x10, MODULE, FUNCTION, KERNEL, STREAM, EVENT, GRAPH, NODE, EXEC, LIBRARY, DEAD };

struct function {
    enum magic magic;
    char name[128];
    int count;
    size_t offset[PARAMS], size[PARAMS], bytes;
    struct function *function;   /* of a kernel: the same as a function */
};
struct module { enum magic magic; int count; bool refused; struct function functions[8], kernels[8]; };
struct context { enum magic magic; CUdevice device; };
struct node {
    enum magic magic;
    struct node *stands_for;     /* of a changed node in an executable: the one that the program names */
    CUDA_KERNEL_NODE_PARAMS params;
    void *pointers[PARAMS];
    char values[32768];
};
struct graph { enum magic magic; int count, lost, joined; struct node *nodes[NODES]; struct stream *streams[8]; };
struct stream { enum magic magic; struct graph *capture; bool stuck; };
struct event { enum magic magic; int polls; struct graph *capture; };

/* ---- state.c ---- */
struct plan { char name[64]; int nth, code; _Atomic int seen; };
extern struct plan refuse_plan;
extern _Atomic int sticky, started;                    /* sticky: the error that every later call returns */
extern _Atomic uint64_t checksum;
extern struct context primary;
extern _Thread_local struct context *current;
extern struct stream per_thread;
int due(struct plan *plan, const char *name);          /* is this the call that the plan is about? */
CUresult enter(const char *name);                      /* what every entry begins with */
void put_into(const char *what, const void *stream);

#define ENTER(name)                         \
    do {                                    \
        CUresult fault_ = enter(#name);     \
        if (fault_ != CUDA_SUCCESS)         \
            return fault_;                  \
    } while (0)
#define NEED(condition, code) \
    do {                      \
        if (!(condition))     \
            return (code);    \
    } while (0)

/* ---- mapping.c ---- */
struct reserved { char *at; size_t size, mapped_at, mapped; struct physical *physical; };
struct reserved *range_of(CUdeviceptr address);

/* ---- streams.c ---- */
struct stream *stream_of(CUstream stream);
bool stands_still(CUstream stream);
void wait_for_ever(void);

/* ---- launches.c ---- */
CUresult gather(const struct function *f, void **params, void **extra, char *block);
void execute(const struct function *f, const char *block);
struct node *make_node(const struct function *f, CUDA_KERNEL_NODE_PARAMS params, const char *block);
