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
void gdx_cu_adopt(const struct gdx_object *driver);  /* from now on gdx_cu_driver and gdx_cu_next are this driver's */
bool gdx_cu_is_adopted(const struct gdx_object *object);
uintptr_t gdx_cu_adopted(void);                      /* tells drivers apart; 0: none yet */
bool gdx_cu_of_driver(void *function);               /* adopts the first driver it meets. Takes the loader's lock */

/* linked.c: the places of an object that lead to functions of others (its global offset table). */
void gdx_cu_look_at_linked(void);
struct gdx_extent { ElfW(Addr) from, to, sealed_from, sealed_to; };  /* sealed: read-only after relocation */
struct gdx_slot_of { const char *name; void **place, *now; bool unbound; const struct gdx_extent *extent; };
typedef void gdx_slot_visitor(const struct gdx_slot_of *slot, void *data);
struct gdx_object gdx_object_in(const struct dl_phdr_info *info);
struct gdx_extent gdx_extent_of(const struct dl_phdr_info *info);
void gdx_visit_slots(const struct dl_phdr_info *info, gdx_slot_visitor *visit, void *data);
void gdx_store_slot(void **place, void *value, const struct gdx_extent *extent);

/* messages.c: keeps what the driver prints about assertions. Only for a driver that is loaded completely. */
void gdx_cu_listen(void);
