/* What-if experiments (core/what_if.h) for CUDA and HIP. Functions that are made from the schema (tools/driver_what_if.py) stand between the
 * recording wrappers and the driver, and only where an experiment asks for it. They give the driver what is worked out here. */
#pragma once

#include "core/what_if.h"
#include "driver/functions.h"

/* ---- launches ---- */

enum { GDX_PAIRS_OF_EXTRA = 8 };

/* Arguments in the place of the program's, for as long as the launch is made. */
struct gdx_passed {
    void **params, **extra;
    void *list[GDX_ARGUMENTS];
    void *pairs[2 * GDX_PAIRS_OF_EXTRA];
    char packed[GDX_TAIL], structure[GDX_TAIL];
    uint64_t memory;
};
/* What a kernel is passed: what the program passes, or in `passed` what it is to be passed instead. */
void gdx_what_if_launch(const char *kernel, const struct gdx_layout *layout, void **params, void **extra, struct gdx_passed *passed);

/* The groups of a launch, in each dimension. */
void gdx_what_if_grid(const char *kernel, unsigned int groups[3]);

/* ---- copies and fills ---- */

/* What a call is given, of its source and of its destination; one that has only one of them has it first. 0: it has none such. */
struct gdx_transfer { uint64_t memory[2], pitch[2], bytes; bool backwards; };

/* Changes what the experiment asks to be changed in this call; asked once for each. */
void gdx_what_if_transfer(const char *call, struct gdx_transfer *transfer);

/* The process made memory, as a call says that counts (the same ones as in facts/redirects.py). */
void gdx_what_if_made(uint64_t address, uint64_t bytes);
