/* See driver.h. No lock is taken here: the dynamic loader calls constructors with its own lock held, and those may call
 * us. What two threads can do at once (adopting a driver) has the same result twice. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>

struct gdx_driver *const gdx_drivers[GDX_DRIVERS] = { &gdx_cu_api, &gdx_hip_api };

struct gdx_object gdx_object_of(const void *at)
{
    Dl_info info;
    struct link_map *map = NULL;
    if (!at || !dladdr1(at, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return (struct gdx_object){ 0 };
    return (struct gdx_object){ map->l_addr, map->l_ld, map->l_name };
}

bool gdx_file_begins(const struct gdx_object *object, const char *start)
{
    const char *slash = object->path ? strrchr(object->path, '/') : NULL;
    const char *file = slash ? slash + 1 : object->path;
    return file && !strncmp(file, start, strlen(start));
}


/* ---- symbols ---- */

/* glibc stores addresses in the dynamic section of a loaded object; linkers that make that section read-only leave
 * offsets there. */
const void *gdx_dynamic_address(const struct gdx_object *object, ElfW(Addr) value)
{
    return (const void *)(value >= object->base ? value : value + object->base);
}

/* The GNU hash table has no count: the last symbol is the end of the last chain. (Layout: "GNU Hash ELF Sections") */
static size_t gnu_count(const uint32_t *hash)
{
    uint32_t buckets = hash[0], offset = hash[1], bloom = hash[2];
    const uint32_t *bucket = hash + 4 + bloom * (sizeof(ElfW(Addr)) / sizeof *hash), *chain = bucket + buckets;
    uint32_t last = 0;
    for (uint32_t i = 0; i < buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    if (last < offset)
        return offset;
    while (!(chain[last - offset] & 1))
        last++;
    return (size_t)last + 1;
}

struct gdx_symbols gdx_symbols_of(const struct gdx_object *object)
{
    struct gdx_symbols found = { 0 };
    for (const ElfW(Dyn) *d = object->dynamic; d && d->d_tag != DT_NULL; d++) {
        const void *at = gdx_dynamic_address(object, d->d_un.d_ptr);
        if (d->d_tag == DT_SYMTAB)
            found.table = at;
        if (d->d_tag == DT_STRTAB)
            found.names = at;
        if (d->d_tag == DT_HASH)
            found.count = ((const uint32_t *)at)[1];
        if (d->d_tag == DT_GNU_HASH && !found.count)
            found.count = gnu_count(at);
    }
    return found;
}

/* "GNU Hash ELF Sections": a filter with two bits per symbol, then buckets, then chains whose last entry has the lowest bit set. */
static const ElfW(Sym) *find_gnu(const struct gdx_symbols *symbols, const uint32_t *hash, const char *name)
{
    uint32_t wanted = 5381, buckets = hash[0], offset = hash[1], words = hash[2], shift = hash[3];
    for (const char *c = name; *c; c++)
        wanted = wanted * 33 + (unsigned char)*c;
    enum { BITS = sizeof(ElfW(Addr)) * 8 };
    const ElfW(Addr) *filter = (const ElfW(Addr) *)(hash + 4);
    const uint32_t *bucket = (const uint32_t *)(filter + words), *chain = bucket + buckets;
    if (!buckets || !words)
        return NULL;
    ElfW(Addr) bits = (ElfW(Addr))1 << wanted % BITS | (ElfW(Addr))1 << (wanted >> shift) % BITS;
    if ((filter[wanted / BITS % words] & bits) != bits)
        return NULL;
    for (uint32_t i = bucket[wanted % buckets]; i >= offset && i; i++) {
        const ElfW(Sym) *symbol = &symbols->table[i];
        if ((chain[i - offset] | 1) == (wanted | 1) && !strcmp(symbols->names + symbol->st_name, name))
            return symbol;
        if (chain[i - offset] & 1)
            break;
    }
    return NULL;
}

/* Asked of everything that is loaded, whenever something is: by hash, so that it takes a few reads each. Objects without a GNU hash
 * table are no runtimes of today. */
static bool defines(const struct gdx_object *object, const char *name)
{
    struct gdx_symbols symbols = { 0 };
    const uint32_t *hash = NULL;
    for (const ElfW(Dyn) *d = object->dynamic; d && d->d_tag != DT_NULL; d++) {
        const void *at = gdx_dynamic_address(object, d->d_un.d_ptr);
        if (d->d_tag == DT_SYMTAB)
            symbols.table = at;
        if (d->d_tag == DT_STRTAB)
            symbols.names = at;
        if (d->d_tag == DT_GNU_HASH)
            hash = at;
    }
    const ElfW(Sym) *found = hash && symbols.table && symbols.names ? find_gnu(&symbols, hash, name) : NULL;
    return found && found->st_shndx != SHN_UNDEF && (found->st_info & 15) == STT_FUNC;
}

/* Tools that stand in front of a driver define some of its names, never all of these. */
bool gdx_is_driver(const struct gdx_driver *api, const struct gdx_object *object)
{
    if (gdx_file_begins(object, api->library))
        return true;
    const char *const *name = api->exports;
    if (!name || !object->dynamic)
        return false;
    while (*name && defines(object, *name))
        name++;
    return !*name;
}

bool gdx_needs(const struct gdx_object *object, const char *start)
{
    const char *names = NULL;
    for (const ElfW(Dyn) *d = object->dynamic; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB)
            names = gdx_dynamic_address(object, d->d_un.d_ptr);
    for (const ElfW(Dyn) *d = object->dynamic; names && d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_NEEDED && !strncmp(names + d->d_un.d_val, start, strlen(start)))
            return true;
    return false;
}

/* ---- the driver's functions ---- */

int gdx_number(const struct gdx_driver *api, const char *name)
{
    int low = 0, high = api->count - 1;
    while (low <= high) {
        int middle = (low + high) / 2, order = strcmp(name, api->names[middle].name);
        if (!order)
            return middle;
        if (order < 0)
            high = middle - 1;
        else
            low = middle + 1;
    }
    return -1;
}

void *gdx_real(const struct gdx_driver *api, int number)
{
    return __atomic_load_n(api->driver + number, __ATOMIC_RELAXED);
}

static void store(void **table, void *const *functions, int count)
{
    for (int i = 0; i < count; i++)
        __atomic_store_n(table + i, functions[i], __ATOMIC_RELEASE);
}

/* Where several versions of a name exist, the last one that is not hidden is the default; there is no driver with two so
 * far. */
static void read_functions(const struct gdx_driver *api, const struct gdx_object *driver, void **functions)
{
    struct gdx_symbols symbols = gdx_symbols_of(driver);
    for (size_t i = 1; symbols.table && symbols.names && i < symbols.count; i++) {
        const ElfW(Sym) *symbol = &symbols.table[i];
        bool function = symbol->st_shndx != SHN_UNDEF && (symbol->st_info & 15) == STT_FUNC;
        int number = function ? gdx_number(api, symbols.names + symbol->st_name) : -1;
        if (number >= 0)
            functions[number] = (void *)(driver->base + symbol->st_value);
    }
}

void gdx_adopt(struct gdx_driver *api, const struct gdx_object *driver)
{
    void *fresh[GDX_NAMES_MAX] = { 0 };
    read_functions(api, driver, fresh);
    if (!fresh[api->first])
        return;
    if (atomic_load(&api->adopted) && api->gone)
        api->gone();
    store(api->driver, fresh, api->count);
    if (api->stand_in)
        api->stand_in(fresh);
    store(api->next, fresh, api->count);
    atomic_store_explicit(&api->adopted, (uintptr_t)driver->dynamic, memory_order_release);
}

bool gdx_is_adopted(const struct gdx_driver *api, const struct gdx_object *object)
{
    return object->dynamic && atomic_load_explicit(&api->adopted, memory_order_acquire) == (uintptr_t)object->dynamic;
}

/* A program may close the driver and open it again, at another address. */
static bool still_loaded(const struct gdx_driver *api)
{
    struct gdx_object there = gdx_object_of(gdx_real(api, api->first));
    return gdx_is_driver(api, &there) && gdx_is_adopted(api, &there);
}

bool gdx_of_driver(struct gdx_driver *api, void *function)
{
    struct gdx_object object = gdx_object_of(function);
    if (!gdx_is_driver(api, &object))
        return false;
    if (still_loaded(api))
        return gdx_is_adopted(api, &object);  /* a second driver in the process is left alone */
    gdx_adopt(api, &object);
    return true;
}
