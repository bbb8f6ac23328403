/* Drivers of GPU APIs as objects in memory, and how programs come to call our wrappers instead of their functions.
 *
 * The functions of a driver are read from its own symbol table. Not with dlsym: that could answer with another tool's
 * functions, takes the loader's lock and leaves its errors where the program may look for its own. */
#pragma once

#include <link.h>
#include <stdatomic.h>
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

/* A name that a driver exports; wrapper is NULL where we do not record. */
struct gdx_name { const char *name; void *wrapper; };

/* One API whose driver is entered so. Its tables hold one function per name, in the order of the names, which is that of
 * strcmp: `driver` functions of the driver itself and nothing else, `next` what wrappers call. */
struct gdx_driver {
    const char *library;                 /* how its file is called, as far as that is always the same */
    const char *const *exports;          /* what a driver under another file name exports, all of it; NULL: there is none */
    const char *const *tools;            /* libraries whose calls are not the program's work, by how their files begin */
    const struct gdx_name *names;
    int count, first;                    /* of the names; one that every driver has */
    void **driver, **next;
    void (*gone)(void);                  /* handles of an earlier driver mean nothing any more */
    void (*stand_in)(void **functions);  /* puts ours in front, for `next`; NULL: nothing does */
    const char *speaker;                 /* a library that prints for it, by how its file begins; NULL: it does so itself */
    const char *mark;                    /* what is in the lines that are kept of it */
    const char *second_mark;             /* or this; NULL: there is none */
    _Atomic uintptr_t heard;
    _Atomic uintptr_t adopted;           /* the dynamic section of the driver in the tables: no two objects share one */
};
extern struct gdx_driver gdx_cu_api, gdx_hip_api;
enum { GDX_DRIVERS = 2, GDX_NAMES_MAX = 1024 };
extern struct gdx_driver *const gdx_drivers[GDX_DRIVERS];

bool gdx_is_driver(const struct gdx_driver *api, const struct gdx_object *object);
bool gdx_needs(const struct gdx_object *object, const char *start);     /* a library whose name begins so? */
int gdx_number(const struct gdx_driver *api, const char *name);         /* in its names; -1: not there */
void *gdx_real(const struct gdx_driver *api, int number);               /* the adopted driver's function; NULL: it has none */
void gdx_adopt(struct gdx_driver *api, const struct gdx_object *driver);  /* from now on the tables are this driver's */
bool gdx_is_adopted(const struct gdx_driver *api, const struct gdx_object *object);
bool gdx_of_driver(struct gdx_driver *api, void *function);  /* adopts the first driver it meets. Takes the loader's lock */

/* Is the API of the loaded driver made out of the library whose name begins so, and does nobody else in the process use that? Then
 * the calls of that library are the driver's own work. Takes the loader's lock. */
bool gdx_is_over(const struct gdx_driver *api, const char *library);

/* lookup.c: dlsym */
typedef void *gdx_dlsym(void *handle, const char *name);
extern gdx_dlsym *gdx_real_dlsym;
void gdx_find_dlsym(void);                                /* for what runs before our constructor */
void *gdx_beyond(const char *name, const void *caller);   /* what the caller would have got without us; NULL: nothing */

/* messages.c: keeps lines that a driver prints. Only for a driver that is loaded completely. */
void gdx_listen(struct gdx_driver *api);

/* linked.c: the places of an object that lead to functions of others (its global offset table). */
void gdx_look_at_linked(void);                       /* for all drivers, where something was loaded since */
void gdx_look_for(struct gdx_driver *api);
struct gdx_extent { ElfW(Addr) from, to, sealed_from, sealed_to; };  /* sealed: read-only after relocation */
struct gdx_slot_of { const char *name; void **place, *now; bool unbound; const struct gdx_extent *extent; };
typedef void gdx_slot_visitor(const struct gdx_slot_of *slot, void *data);
struct gdx_object gdx_object_in(const struct dl_phdr_info *info);
struct gdx_extent gdx_extent_of(const struct dl_phdr_info *info);
void gdx_visit_slots(const struct dl_phdr_info *info, gdx_slot_visitor *visit, void *data);
void gdx_store_slot(void **place, void *value, const struct gdx_extent *extent);
