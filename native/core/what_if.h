/* What-if experiments of a lab: one thing is done otherwise than the program asks. The record keeps what it asked for. A failure that goes
 * with the change shows what the program gets wrong.
 *
 *     GPUDX_OTHER_NUMBER=KERNEL:ARGUMENT:OLD:NEW    the kernel is passed another number where the program passes this one; both in hexadecimal
 *                        KERNEL:ARGUMENT+BYTE:OLD:NEW   the same of 4 bytes in an argument that is a structure (CUDA, HIP)
 *     GPUDX_EXCHANGE=KERNEL:1:2                     two of its arguments get each other's values;
 *                   KERNEL:1:2+grid               and with them the first two dimensions of its grid (CUDA, HIP)
 *                   KERNEL:1:2=app+1a2b;app+1c0d    only where a call passes them that has one of these return addresses on its stack
 *     GPUDX_REDIRECT=CALL=CALLS=WHAT                some calls of this name use something else:
 *
 *         CALLS  3,5-9              counted from 1 in each process
 *                all
 *                @app+1a2b;app+1c0d those with one of these return addresses on their stack: a file, and bytes from where it is mapped
 *         WHAT   0:4>7,7>4          the first memory of the call is the 7th that the process made where it is the 4th
 *                1:4>7              the second
 *                exchange           source and destination are exchanged, with their offsets, origins and pitches
 *                pitch0:400>512     the first of the two row pitches is 512 where it is 400
 *                size:1024>4096     the call is about 4,096 bytes where it is about 1,024
 *                argument1:4>7      CALL is a kernel, whose argument 1 is other memory
 *                grid0:39>40        CALL is a kernel, whose first dimension has 40 groups where it has 39 (CUDA, HIP)
 *
 * KERNEL is the name that the driver knows it by. Here is what is asked for; what an API does about it is in its own what_if.c and in
 * opencl/redirect.c. Off, it is one load and one branch in OpenCL, and nothing in CUDA and HIP. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/recorder.h"

enum { GDX_WHAT_IF_NAME = 2048, GDX_WHAT_IF_PAIRS = 16 };

enum gdx_what { GDX_NO_REDIRECT, GDX_OTHER_MEMORY, GDX_EXCHANGED, GDX_OTHER_PITCH, GDX_OTHER_SIZE, GDX_OTHER_ARGUMENT, GDX_OTHER_GRID };

enum { GDX_WHOLE = UINT32_MAX };  /* the argument as a whole, no part of it */

struct gdx_what_if {  /* a kernel without a name: nothing of this kind is asked for */
    struct { char kernel[GDX_WHAT_IF_NAME]; uint32_t index, at; uint64_t before, after; } number;
    struct { char kernel[GDX_WHAT_IF_NAME]; uint32_t first, second; bool grid; } exchange;
    struct {
        char name[GDX_WHAT_IF_NAME];  /* of the call, or the kernel */
        enum gdx_what what;
        unsigned which;               /* memory or pitch of the call; argument */
        struct { uint64_t old, wanted; } pairs[GDX_WHAT_IF_PAIRS];
        unsigned num_pairs;
    } redirect;
};
extern struct gdx_what_if gdx_asked;

extern _Atomic int gdx_what_if_setting;  /* 0: not read yet, 1: off, 2: on */
bool gdx_read_what_if(void);

static inline bool gdx_what_if(void)
{
    int known = atomic_load_explicit(&gdx_what_if_setting, memory_order_relaxed);
    return GDX_LIKELY(known == 1) ? false : known == 2 ? true : gdx_read_what_if();
}

/* Is it one of the calls that are meant? Asked once for each that could be: calls of this name, launches of this kernel, or calls that set
 * one of the two arguments. */
bool gdx_redirect_is_here(void);
bool gdx_exchange_is_here(void);
