/* What the calling thread is doing, in the words of the framework that it runs: "module=layers.7.mlp". gpudx's code inside
 * Python programs (src/gpudx/preload_python) says so, and stacks (stacks.h) have it. */
#pragma once

#include <stdint.h>

const char *gdx_scope(void);  /* "": nobody has said so */
uint64_t gdx_sequence(void);  /* the number that the framework gives the next step of its graph; 0: not known */
