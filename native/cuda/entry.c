/* The way in: how a program comes to call our wrappers instead of libcuda's functions.
 *
 * Programs get at the driver in three ways, and all three are met by one rule. Whatever the program would have got
 * without us is looked up first; if, and only if, that is a function of libcuda.so that we have a wrapper for, the
 * program gets the wrapper. Everything else passes through as it is: other names, other libraries that define the same
 * names (other tools, stubs), a second driver in the same process.
 *
 *   dlsym               the runtime library (cudart, linked in statically by nvcc), ctypes, most frameworks
 *   cuGetProcAddress    the runtime since CUDA 11.3, which asks dlsym only for this one name. Which variant of a
 *                       function it answers with depends on version and flags: the answer is mapped, not the question
 *   symbols             programs and extension modules that are linked with -lcuda
 *
 * docs/decisions/003-cuda-way-in.md has the reasons, and what was left out.
 *
 * No lock is taken here: the dynamic loader calls constructors with its own lock held, and those may call us. What two
 * threads can do at once (adopting a driver) has the same result twice. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "core/process.h"
#include "cuda/hooks.h"

struct gdx_cu_table gdx_cu_next;
_Atomic(void *) gdx_cu_targets[GDX_CU_NAMES];

typedef void *dlsym_function(void *handle, const char *name);
__attribute__((visibility("hidden"), used)) dlsym_function *gdx_real_dlsym;

/* ---- objects ---- */

static struct link_map *object_of(const void *at)
{
    Dl_info info;
    struct link_map *map = NULL;
    return at && dladdr1(at, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

static bool ours(const void *at)
{
    return object_of(at) == object_of(gdx_cu_names);
}

static bool named_like(const struct link_map *map, const char *start)
{
    const char *slash = map && map->l_name ? strrchr(map->l_name, '/') : NULL;
    const char *file = slash ? slash + 1 : map ? map->l_name : NULL;
    return file && !strncmp(file, start, strlen(start));
}

static bool is_driver(const struct link_map *map)
{
    return named_like(map, "libcuda.so");
}

/* Libraries of the driver and of its tools call the driver for their own purposes: that is not the program's work. */
static bool is_tool(const void *caller)
{
    static const char *const starts[] = { "libcuda.so", "libcudadebugger.so", "libcupti", "libnvperf", "libsanitizer-",
                                          "libInterceptor", "libTreeLauncher", "libToolsInjection", "libnvidia-" };
    struct link_map *map = object_of(caller);
    for (size_t i = 0; map && i < sizeof starts / sizeof *starts; i++)
        if (named_like(map, starts[i]))
            return true;
    return false;
}

/* ---- the driver's functions, read from its own symbol table ----
 *
 * Not with dlsym: that could answer with another tool's functions, takes the loader's lock and leaves its errors where
 * the program may look for its own. */

struct symbols { const ElfW(Sym) *table; const char *names; size_t count; };

/* glibc stores addresses in the dynamic section of a loaded object; linkers that make that section read-only leave
 * offsets there. */
static const void *address(const struct link_map *map, ElfW(Addr) value)
{
    return (const void *)(value >= map->l_addr ? value : value + map->l_addr);
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

static struct symbols symbols_of(const struct link_map *map)
{
    struct symbols found = { 0 };
    for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            found.table = address(map, d->d_un.d_ptr);
        if (d->d_tag == DT_STRTAB)
            found.names = address(map, d->d_un.d_ptr);
        if (d->d_tag == DT_HASH)
            found.count = ((const uint32_t *)address(map, d->d_un.d_ptr))[1];
        if (d->d_tag == DT_GNU_HASH && !found.count)
            found.count = gnu_count(address(map, d->d_un.d_ptr));
    }
    return found;
}

/* Our number of a name, -1 if it is not in the table. */
static int find_name(const char *name)
{
    int low = 0, high = GDX_CU_NAMES - 1;
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

static void *next(int number)
{
    return __atomic_load_n((void **)&gdx_cu_next + number, __ATOMIC_RELAXED);
}

static _Atomic(struct link_map *) adopted;

static void adopt(struct link_map *map)
{
    struct symbols symbols = symbols_of(map);
    void *fresh[GDX_CU_NAMES] = { 0 };
    if (!symbols.table || !symbols.names)
        return;
    for (size_t i = 1; i < symbols.count; i++) {
        const ElfW(Sym) *symbol = &symbols.table[i];
        const char *name = symbols.names + symbol->st_name;
        if (symbol->st_shndx == SHN_UNDEF || (symbol->st_info & 15) != STT_FUNC || name[0] != 'c' || name[1] != 'u')
            continue;
        int number = find_name(name);
        if (number >= 0)
            fresh[number] = (void *)(map->l_addr + symbol->st_value);
    }
    for (int i = 0; i < GDX_CU_NAMES; i++)
        __atomic_store_n((void **)&gdx_cu_next + i, fresh[i], __ATOMIC_RELAXED);
    atomic_store_explicit(&adopted, map, memory_order_release);
}

/* A program may close the driver and open it again, at another address. */
static bool still_loaded(struct link_map *map)
{
    struct link_map *there = object_of(next(GDX_CU_cuInit));
    return there && there == map && is_driver(there);
}

/* Is `function` one of the driver that we stand in front of? Makes the first driver it meets that one. */
static bool of_driver(void *function)
{
    struct link_map *known = atomic_load_explicit(&adopted, memory_order_acquire), *map = object_of(function);
    if (!is_driver(map))
        return false;
    if (known == map && still_loaded(known))
        return true;
    if (known && still_loaded(known))
        return false;
    if (known)
        gdx_cu_forget_functions(true);  /* handles of a driver that is gone */
    adopt(map);
    return true;
}

/* ---- the rule ---- */

/* What the program gets for `real`, which it would have got under the name `number`. */
static void *instead_of(void *real, int number)
{
    if (real && (real == next(number) || (of_driver(real) && real == next(number))) && gdx_cu_names[number].wrapper)
        return gdx_cu_names[number].wrapper;
    return real;
}

/* What `caller` would have found under this name if we exported nothing: what follows us in the global scope, else what
 * its own dependencies provide (an extension module of Python sees libraries that nobody else does). */
static void *without_us(int number, void *caller)
{
    const char *name = gdx_cu_names[number].name;
    void *at = gdx_real_dlsym(RTLD_NEXT, name);
    if (at && !ours(at))
        return at;
    struct link_map *map = object_of(caller);
    at = map && map->l_name && *map->l_name ? gdx_real_dlsym(map, name) : NULL;
    return at && !ours(at) ? at : NULL;
}

/* ---- dlsym ---- */

static void find_real_dlsym(void)
{
    /* glibc 2.34 moved dlsym from libdl to libc under a new version; the old one stays for old programs. */
    static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.0" };
    for (size_t i = 0; !gdx_real_dlsym && i < sizeof versions / sizeof *versions; i++)
        *(void **)&gdx_real_dlsym = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
}

/* 1: `answer` is what the program gets. 0: the real dlsym is to be entered as if we were not there. */
__attribute__((visibility("hidden"), used))
int gdx_dlsym_ours(void *handle, const char *name, void *caller, void **answer)
{
    if (GDX_UNLIKELY(!gdx_real_dlsym))
        find_real_dlsym();
    if (!gdx_real_dlsym) {
        *answer = NULL;
        return 1;
    }
    if (handle == RTLD_NEXT || !name || name[0] != 'c' || name[1] != 'u' || !gdx_directory())
        return 0;
    int number = find_name(name);
    if (number < 0 || !gdx_cu_names[number].wrapper || is_tool(caller))
        return 0;
    void *real = gdx_real_dlsym(handle, name);
    if (real && ours(real))
        real = without_us(number, caller);
    *answer = instead_of(real, number);
    return 1;
}

/* RTLD_NEXT and RTLD_DEFAULT mean "as seen from the caller", and glibc tells the caller by the return address. So for
 * everything that is not about us the real function is entered by a jump, with the caller's return address on the
 * stack. Unversioned, and so found for every version of dlsym that a program may ask for (glibc, elf/dl-lookup.c,
 * check_match). */
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq $0\n"                    /* room for the answer; the stack is aligned again */
        "    .cfi_adjust_cfa_offset 8\n"
        "    movq 24(%rsp), %rdx\n"         /* the caller */
        "    movq %rsp, %rcx\n"
        "    call gdx_dlsym_ours\n"
        "    popq %rdx\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    testl %eax, %eax\n"
        "    jne 1f\n"
        "    jmpq *gdx_real_dlsym(%rip)\n"
        "1:  movq %rdx, %rax\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size dlsym, .-dlsym\n"
        ".popsection\n");
#endif

/* ---- cuGetProcAddress ---- */

/* Is this a name for what was asked for? "cuMemAlloc" is answered with cuMemAlloc_v2, "cuGraphInstantiate" with
 * cuGraphInstantiateWithFlags. */
static bool named_so(int number, const char *symbol, size_t length)
{
    return !strncmp(gdx_cu_names[number].name, symbol, length);
}

/* The driver answered with a function that is not among its symbols. That is no loss where we would not have recorded it
 * anyway; otherwise the trace says that these calls are missing. */
static void note_unknown(const char *symbol, int version, cuuint64_t flags)
{
    enum { TOLD = 64 };
    static _Atomic int told;
    int number = find_name(symbol);
    if ((number >= 0 && !gdx_cu_names[number].wrapper) || !gdx_on() || atomic_fetch_add(&told, 1) >= TOLD)
        return;
    const uint64_t words[] = { (uint64_t)(int64_t)version, flags };
    gdx_note(GDX_CALL_note_unknown_entry, words, 2, (struct gdx_text){ symbol, strlen(symbol) }, (struct gdx_text){ 0 },
             NULL, 0);
}

/* Different entries of the driver may be one function (a linker folds equal code), so the wrapper must also be called
 * what was asked for. */
static void *instead_of_answer(void *real, const char *symbol, int version, cuuint64_t flags)
{
    size_t length = strlen(symbol);
    bool known = !length;
    for (int i = 0; length && i < GDX_CU_NAMES; i++) {
        if (next(i) != real)
            continue;
        known = true;
        if (gdx_cu_names[i].wrapper && named_so(i, symbol, length))
            return gdx_cu_names[i].wrapper;
    }
    if (!known && !ours(real))
        note_unknown(symbol, version, flags);
    return real;
}

CUresult rec_cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
    CUresult result = gdx_cu_next.cuGetProcAddress(symbol, function, version, flags);
    if (result == CUDA_SUCCESS && symbol && function && *function)
        *function = instead_of_answer(*function, symbol, version, flags);
    return result;
}

CUresult rec_cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult *found)
{
    CUresult result = gdx_cu_next.cuGetProcAddress_v2(symbol, function, version, flags, found);
    if (result == CUDA_SUCCESS && symbol && function && *function)
        *function = instead_of_answer(*function, symbol, version, flags);
    return result;
}

/* ---- symbols ---- */

/* A library that defines these names itself (a stub, another tool) and takes their addresses gets ours, and may hand
 * them to others for whom no library defines them. The driver that is loaded is what they mean. */
static void *of_known_driver(int number)
{
    struct link_map *known = atomic_load_explicit(&adopted, memory_order_acquire);
    return known && still_loaded(known) ? next(number) : NULL;
}

/* Only wrappers are remembered: they are always good. What another library defines is looked up for each call, because
 * it depends on the caller and may be unloaded. */
void *gdx_cu_resolve(unsigned number, void *caller)
{
    if (!gdx_real_dlsym)
        find_real_dlsym();
    void *at = gdx_real_dlsym ? without_us((int)number, caller) : NULL;
    dlerror();  /* a name that was not found is our affair; the program must not see it as its own error */
    at = instead_of(at ? at : of_known_driver((int)number), (int)number);
    if (at == gdx_cu_names[number].wrapper)
        atomic_store_explicit(&gdx_cu_targets[number], at, memory_order_release);
    return at;
}

__attribute__((constructor)) static void early(void)
{
    find_real_dlsym();
}
