/* See driver.h. No lock is taken here: the dynamic loader calls constructors with its own lock held, and those may call
 * us. What two threads can do at once (adopting a driver) has the same result twice. */
#define _GNU_SOURCE
#include "cuda/driver.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>

#include "cuda/fence.h"
#include "cuda/hooks.h"

struct gdx_cu_table gdx_cu_driver, gdx_cu_next;
static _Atomic uintptr_t adopted;  /* the dynamic section of the driver in gdx_cu_driver: no two objects share one */

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

bool gdx_is_driver(const struct gdx_object *object)
{
    return gdx_file_begins(object, "libcuda.so");
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

/* ---- the driver's functions ---- */

int gdx_cu_number(const char *name)
{
    int low = 0, high = GDX_CU_NAMES - 1;
    if (name[0] != 'c' || name[1] != 'u')
        return -1;
    while (low <= high) {
        int middle = (low + high) / 2, order = strcmp(name, gdx_cu_names[middle].name);
        if (!order)
            return middle;
        if (order < 0)
            high = middle - 1;
        else
            low = middle + 1;
    }
    return -1;
}

void *gdx_cu_real(int number)
{
    return __atomic_load_n((void **)&gdx_cu_driver + number, __ATOMIC_RELAXED);
}

static void store(struct gdx_cu_table *table, void *const *functions)
{
    for (int i = 0; i < GDX_CU_NAMES; i++)
        __atomic_store_n((void **)table + i, functions[i], __ATOMIC_RELEASE);
}

void gdx_cu_adopt(const struct gdx_object *driver)
{
    struct gdx_symbols symbols = gdx_symbols_of(driver);
    void *fresh[GDX_CU_NAMES] = { 0 };
    if (!symbols.table || !symbols.names)
        return;
    for (size_t i = 1; i < symbols.count; i++) {
        const ElfW(Sym) *symbol = &symbols.table[i];
        bool function = symbol->st_shndx != SHN_UNDEF && (symbol->st_info & 15) == STT_FUNC;
        int number = function ? gdx_cu_number(symbols.names + symbol->st_name) : -1;
        if (number >= 0)
            fresh[number] = (void *)(driver->base + symbol->st_value);
    }
    if (atomic_load(&adopted)) {
        gdx_cu_forget_functions(true);  /* handles of a driver that is gone */
        gdx_cu_fence_forget();
    }
    store(&gdx_cu_driver, fresh);
    gdx_cu_fence_table(fresh);
    gdx_cu_poison_table(fresh);
    store(&gdx_cu_next, fresh);
    atomic_store_explicit(&adopted, (uintptr_t)driver->dynamic, memory_order_release);
}

uintptr_t gdx_cu_adopted(void)
{
    return atomic_load_explicit(&adopted, memory_order_acquire);
}

bool gdx_cu_is_adopted(const struct gdx_object *object)
{
    return object->dynamic && gdx_cu_adopted() == (uintptr_t)object->dynamic;
}

/* A program may close the driver and open it again, at another address. */
static bool still_loaded(void)
{
    struct gdx_object there = gdx_object_of(gdx_cu_real(GDX_CU_cuInit));
    return gdx_is_driver(&there) && gdx_cu_is_adopted(&there);
}

bool gdx_cu_of_driver(void *function)
{
    struct gdx_object object = gdx_object_of(function);
    if (!gdx_is_driver(&object))
        return false;
    if (still_loaded())
        return gdx_cu_is_adopted(&object);  /* a second driver in the process is left alone */
    gdx_cu_adopt(&object);
    return true;
}
