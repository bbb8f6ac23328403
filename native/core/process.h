/* The process around the recorder: its environment, its name, its signals, its children. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gdx_abi.h"

/* The roll: one file per run, one record per process image, so that a process we were never in can be told from one
 * that never touched a GPU. Read by src/gpudx/lab/roll.py. */
enum gdx_roll_kind {
    GDX_ROLL_LOADED = 1,        /* we are in this process image */
    GDX_ROLL_EXEC_WITHOUT = 2,  /* this process starts `path` without our environment */
    GDX_ROLL_NOT_ENTERED = 3,   /* the OpenCL library `path` is loaded, but nothing reached us */
    GDX_ROLL_CANNOT_WRITE = 4,  /* the trace could not be created in `path` */
    GDX_ROLL_ENDED = 5,         /* this process calls its exit handlers with the status in `number` */
    GDX_ROLL_NOT_STARTED = 6,   /* the last EXEC_WITHOUT of this process did not happen: starting `path` failed */
};
struct gdx_roll_record {
    char magic[8];
    uint32_t kind, pid, ppid;
    uint32_t number;            /* EXEC_WITHOUT: 1 in a new process, so that the one that writes this goes on */
    uint64_t monotonic_ns;
    char path[480];
};
_Static_assert(sizeof(struct gdx_roll_record) == 512, "roll record");
void gdx_roll(enum gdx_roll_kind kind, const char *path);
void gdx_roll_spawn(const char *path);  /* EXEC_WITHOUT in a new process */
void gdx_roll_end(int status, void *unused);  /* for on_exit() */
void gdx_roll_descriptor(enum gdx_roll_kind kind, int fd);  /* of an open file */
void gdx_roll_unentered(void);

const char *gdx_directory(void);     /* where traces go; NULL: we were not asked to record */
bool gdx_may_write(uint64_t end);     /* may a file become this long? Trying would be a SIGXFSZ (RLIMIT_FSIZE) */
bool gdx_memory_is_limited(void);    /* is what we map taken from a limit that the program has to live within? */
uint32_t gdx_ring_chunks(void);      /* ring size per thread in chunks; 0: keep everything */
void gdx_describe_process(struct gdx_header *header);

int gdx_backtrace(void **frames, int room);
void gdx_warm_backtrace(void);       /* may load libgcc_s: not with a lock held */
char *gdx_read_maps(size_t *bytes);  /* /proc/self/maps; NULL when it cannot be read */
void gdx_free_maps(char *text);

void gdx_watch_signals(void);        /* last words on SIGSEGV and its like, where the program has no handler; again after a build,
                                        in which a driver's compiler may have installed its own */
void gdx_before_death(void (*wait)(void));   /* called at the end of the last words; system calls only */
struct gdx_header *gdx_own_header(void);                  /* recorder.c */
uint64_t gdx_ticks_of(uint64_t ns);                       /* recorder.c: a time in ticks, where there is a header */
char *gdx_last_room(size_t bytes, uint32_t *where);       /* recorder.c */
