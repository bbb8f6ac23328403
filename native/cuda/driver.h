/* The driver as an object in memory: its functions are read from its own symbol table.
 *
 * Not with dlsym: that could answer with another tool's functions, takes the loader's lock and leaves its errors where
 * the program may look for its own. */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An ELF object that is loaded, as the dynamic loader sees it. */
struct gdx_object { ElfW(Addr) base; const ElfW(Dyn) *dynamic; const char *path; };

struct gdx_symbols { const ElfW(Sym) *table; const char *names; size_t count; };
struct gdx_symbols gdx_symbols_of(const struct gdx_object *object);
const void *gdx_dynamic_address(const struct gdx_object *object, ElfW(Addr) value);

struct gdx_object gdx_object_of(const void *at);     /* all zero: none. Takes the loader's lock */
bool gdx_file_begins(const struct gdx_object *object, const char *start);
bool gdx_is_driver(const struct gdx_object *object);

int gdx_cu_number(const char *name);                 /* in gdx_cu_names; -1: not there */
void *gdx_cu_real(int number);                       /* the adopted driver's function; NULL: it has none */
void gdx_cu_adopt(const struct gdx_object *driver);  /* from now on gdx_cu_next is this driver's */
bool gdx_cu_is_adopted(const struct gdx_object *object);
bool gdx_cu_of_driver(void *function);               /* adopts the first driver it meets. Takes the loader's lock */

void gdx_cu_look_at_linked(void);                    /* linked.c */
