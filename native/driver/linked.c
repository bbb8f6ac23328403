/* Programs and extension modules that are linked with a driver: their references to its functions are turned to our wrappers, in their own tables (the global offset table), once they are loaded.
 *
 * Exporting the driver's names from the preloaded library would be simpler, and was tried. But libraries exist that
 * keep function pointers in variables of these very names; they would find our code where they expect their variable,
 * and write to it. Here nobody sees a name of ours: only objects that say they need the driver are looked at, and of their
 * tables only the places that lead to it.
 *
 * How a place is told that is safe to change:
 *   - it belongs to a relocation for a name we wrap, which the object does not define itself
 *   - it holds the driver's function, or it still leads to the object's own lazy stub and nothing in the global scope
 *     would come before the driver
 *   - the object was loaded completely. dl_iterate_phdr also shows objects that another thread is still relocating;
 *     those are done when dlsym, which waits for that thread, has returned. So objects are listed first, then dlsym is
 *     called, and only what was listed is changed
 *
 * Nothing here waits for a lock of ours: a second thread that comes at the same time leaves the work to the first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver/driver.h"
#include "core/process.h"

#if defined(__x86_64__)
enum { SLOT_LAZY = R_X86_64_JUMP_SLOT, SLOT_BOUND = R_X86_64_GLOB_DAT, SLOT_DATA = R_X86_64_64 };
#elif defined(__aarch64__)
enum { SLOT_LAZY = R_AARCH64_JUMP_SLOT, SLOT_BOUND = R_AARCH64_GLOB_DAT, SLOT_DATA = R_AARCH64_ABS64 };
#else
enum { SLOT_LAZY = -1, SLOT_BOUND = -1, SLOT_DATA = -1 };
#endif
enum { LISTED_MAX = 256, SONAME_MAX = 128 };

struct look {
    struct gdx_driver *api;
    size_t count;
    const ElfW(Dyn) *listed[LISTED_MAX];      /* objects that need the driver */
    struct gdx_object driver;                 /* the adopted one if it is still there, else the first */
    char soname[SONAME_MAX];                  /* what it calls itself; "": nothing */
    bool foreign[GDX_NAMES_MAX];              /* something in the global scope comes before the driver */
};

struct gdx_object gdx_object_in(const struct dl_phdr_info *info)
{
    struct gdx_object object = { info->dlpi_addr, NULL, info->dlpi_name };
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            object.dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return object;
}

/* The driver is named in the objects that need it by the name it gives itself. */
static bool needs_driver(const struct look *look, const struct gdx_object *object)
{
    return gdx_needs(object, look->api->library) || (*look->soname && gdx_needs(object, look->soname));
}

/* ---- listing ---- */

static int count_adds(struct dl_phdr_info *info, size_t size, void *adds)
{
    (void)size;
    *(unsigned long long *)adds = info->dlpi_adds;
    return 1;
}

static void keep_soname(struct look *look, const struct gdx_object *object)
{
    const char *names = NULL;
    ElfW(Xword) at = 0;
    for (const ElfW(Dyn) *d = object->dynamic; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_STRTAB)
            names = gdx_dynamic_address(object, d->d_un.d_ptr);
        if (d->d_tag == DT_SONAME)
            at = d->d_un.d_val;
    }
    bool fits = names && at && strnlen(names + at, SONAME_MAX) < SONAME_MAX;
    strcpy(look->soname, fits ? names + at : "");
}

/* A driver of the usual name comes before one that is only known by what it exports. */
static int find_one(struct dl_phdr_info *info, size_t size, void *look_)
{
    (void)size;
    struct look *look = look_;
    struct gdx_object object = gdx_object_in(info);
    if (!object.dynamic || !gdx_is_driver(look->api, &object))
        return 0;
    bool better = gdx_file_begins(&object, look->api->library) && !gdx_file_begins(&look->driver, look->api->library);
    bool adopted = look->driver.dynamic && gdx_is_adopted(look->api, &look->driver);
    if (!look->driver.dynamic || gdx_is_adopted(look->api, &object) || (better && !adopted)) {
        look->driver = object;
        keep_soname(look, &object);
    }
    return 0;
}

/* In a second walk: programs come before the libraries that they need. */
static int list_one(struct dl_phdr_info *info, size_t size, void *look_)
{
    (void)size;
    struct look *look = look_;
    struct gdx_object object = gdx_object_in(info);
    if (object.dynamic && object.dynamic != look->driver.dynamic && look->count < LISTED_MAX && needs_driver(look, &object))
        look->listed[look->count++] = object.dynamic;
    return 0;
}

/* In a walk of its own: during a walk nothing is unloaded. */
static int adopt_one(struct dl_phdr_info *info, size_t size, void *look_)
{
    (void)size;
    struct look *look = look_;
    struct gdx_object object = gdx_object_in(info);
    if (object.dynamic != look->driver.dynamic || !gdx_is_driver(look->api, &object))
        return 0;
    gdx_adopt(look->api, &object);
    return 1;
}

/* ---- drivers on top of another API ---- */

struct over { const struct gdx_driver *api; const char *library; bool by_driver, by_others; };

static int look_over(struct dl_phdr_info *info, size_t size, void *over_)
{
    (void)size;
    struct over *over = over_;
    struct gdx_object object = gdx_object_in(info);
    if (!object.dynamic || !gdx_needs(&object, over->library))
        return 0;
    if (gdx_is_driver(over->api, &object))
        over->by_driver = true;
    else
        over->by_others = true;
    return 0;
}

bool gdx_is_over(const struct gdx_driver *api, const char *library)
{
    struct over over = { api, library, false, false };
    dl_iterate_phdr(look_over, &over);
    return over.by_driver && !over.by_others;
}

/* ---- changing ---- */

struct gdx_extent gdx_extent_of(const struct dl_phdr_info *info)
{
    struct gdx_extent extent = { ~(ElfW(Addr))0, 0, 0, 0 };
    ElfW(Addr) page = (ElfW(Addr))sysconf(_SC_PAGESIZE);
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        ElfW(Addr) from = info->dlpi_addr + part->p_vaddr, to = from + part->p_memsz;
        if (part->p_type == PT_LOAD) {
            extent.from = from < extent.from ? from : extent.from;
            extent.to = to > extent.to ? to : extent.to;
        }
        if (part->p_type == PT_GNU_RELRO) {
            /* The loader seals whole pages: from the page of the first byte, without the last, unfinished one. */
            extent.sealed_from = from & ~(page - 1);
            extent.sealed_to = to & ~(page - 1);
        }
    }
    return extent;
}

void gdx_store_slot(void **place, void *value, const struct gdx_extent *extent)
{
    ElfW(Addr) at = (ElfW(Addr))place, page = (ElfW(Addr))sysconf(_SC_PAGESIZE);
    bool sealed = at >= extent->sealed_from && at < extent->sealed_to;
    void *start = (void *)(at & ~(page - 1));
    if (sealed && mprotect(start, page, PROT_READ | PROT_WRITE))
        return;
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
    if (sealed)
        mprotect(start, page, PROT_READ);
}

static void consider(const struct gdx_slot_of *slot, void *look_)
{
    const struct look *look = look_;
    int number = gdx_number(look->api, slot->name);
    void *real = number < 0 ? NULL : gdx_real(look->api, number);
    void *wrapper = number < 0 ? NULL : look->api->names[number].wrapper;
    if (!real || !wrapper || slot->now == wrapper)
        return;
    if (slot->now == real || (slot->unbound && !look->foreign[number]))
        gdx_store_slot(slot->place, wrapper, slot->extent);
}

static void visit_table(const struct gdx_object *object, const struct gdx_extent *extent, const ElfW(Rela) *table,
                        size_t bytes, gdx_slot_visitor *visit, void *data)
{
    struct gdx_symbols symbols = gdx_symbols_of(object);
    for (size_t i = 0; table && symbols.table && i < bytes / sizeof *table; i++) {
        int type = (int)ELF64_R_TYPE(table[i].r_info);
        const ElfW(Sym) *symbol = &symbols.table[ELF64_R_SYM(table[i].r_info)];
        if (type != SLOT_LAZY && type != SLOT_BOUND && !(type == SLOT_DATA && table[i].r_addend == 0))
            continue;
        if (symbol->st_shndx != SHN_UNDEF)
            continue;
        void **place = (void **)(object->base + table[i].r_offset), *now = __atomic_load_n(place, __ATOMIC_ACQUIRE);
        bool unbound = type == SLOT_LAZY && (ElfW(Addr))now >= extent->from && (ElfW(Addr))now < extent->to;
        visit(&(struct gdx_slot_of){ symbols.names + symbol->st_name, place, now, unbound, extent }, data);
    }
}

void gdx_visit_slots(const struct dl_phdr_info *info, gdx_slot_visitor *visit, void *data)
{
    struct gdx_object object = gdx_object_in(info);
    struct gdx_extent extent = gdx_extent_of(info);
    const ElfW(Rela) *plain = NULL, *jumps = NULL;
    size_t plain_bytes = 0, jump_bytes = 0;
    for (const ElfW(Dyn) *d = object.dynamic; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_RELA)
            plain = gdx_dynamic_address(&object, d->d_un.d_ptr);
        if (d->d_tag == DT_RELASZ)
            plain_bytes = d->d_un.d_val;
        if (d->d_tag == DT_JMPREL)
            jumps = gdx_dynamic_address(&object, d->d_un.d_ptr);
        if (d->d_tag == DT_PLTRELSZ)
            jump_bytes = d->d_un.d_val;
    }
    visit_table(&object, &extent, plain, plain_bytes, visit, data);
    visit_table(&object, &extent, jumps, jump_bytes, visit, data);
}

static int change_one(struct dl_phdr_info *info, size_t size, void *look_)
{
    (void)size;
    struct look *look = look_;
    const ElfW(Dyn) *dynamic = gdx_object_in(info).dynamic;
    for (size_t i = 0; i < look->count; i++)
        if (look->listed[i] == dynamic)
            gdx_visit_slots(info, consider, look);
    return 0;
}

/* Another tool that is preloaded comes before the driver for everyone. Also the wait that makes sure that what was
 * listed is loaded completely. */
static void find_foreign(struct look *look)
{
    const struct gdx_name *names = look->api->names;
    for (int i = 0; i < look->api->count; i++) {
        void *first = names[i].wrapper ? gdx_real_dlsym(RTLD_DEFAULT, names[i].name) : NULL;
        look->foreign[i] = first && first != gdx_real(look->api, i);
    }
    dlerror();
}

void gdx_look_for(struct gdx_driver *api)
{
    struct look look = { .api = api };
    dl_iterate_phdr(find_one, &look);
    if (!look.driver.dynamic)
        return;
    if (!gdx_is_adopted(api, &look.driver))
        dl_iterate_phdr(adopt_one, &look);
    dl_iterate_phdr(list_one, &look);
    gdx_find_dlsym();
    if (!look.count || !gdx_directory() || !gdx_real_dlsym)
        return;
    find_foreign(&look);
    gdx_listen(api);
    dl_iterate_phdr(change_one, &look);
}

static void look_around(unsigned long long adds)
{
    static _Atomic unsigned long long done;
    if (adds == atomic_load(&done))
        return;
    for (int i = 0; i < GDX_DRIVERS; i++)
        gdx_look_for(gdx_drivers[i]);
    atomic_store(&done, adds);
}

void gdx_look_at_linked(void)
{
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    unsigned long long adds = 0;
    if (!gdx_directory() || !gdx_real_dlsym || SLOT_LAZY < 0)
        return;
    dl_iterate_phdr(count_adds, &adds);
    if (atomic_flag_test_and_set(&busy))
        return;
    look_around(adds);
    atomic_flag_clear(&busy);
}
