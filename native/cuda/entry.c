/* How the recorder gets into CUDA programs: driver/lookup.c says how a program comes to call our wrappers, and here is what
 * it needs to know of CUDA. Beside dlsym and linking there is a third way:
 *
 *   cuGetProcAddress    the runtime since CUDA 11.3, which asks dlsym only for this one name. Which variant of a
 *                       function it answers with depends on version and flags: the answer is mapped, not the question */
#define _GNU_SOURCE
#include <string.h>

#include "driver/driver.h"
#include "cuda/crumbs.h"
#include "cuda/fence.h"
#include "cuda/hooks.h"

struct gdx_cu_table gdx_cu_driver, gdx_cu_next;

static const char *const tools[] = { "libcuda.so", "libcudadebugger.so", "libcupti", "libnvperf", "libsanitizer-",
                                     "libInterceptor", "libTreeLauncher", "libToolsInjection", "libnvidia-", NULL };

static void gone(void)
{
    gdx_forget_functions(GDX_OF_CUDA);
    gdx_cu_fence_forget();
    gdx_cu_crumbs_forget_all();
}

/* One by one, as driver.c does: two threads may adopt the driver at once. */
static void keep_launches(const struct gdx_cu_table *next)
{
    __atomic_store_n(&gdx_cu_launch.cuLaunchKernel, next->cuLaunchKernel, __ATOMIC_RELEASE);
    __atomic_store_n(&gdx_cu_launch.cuLaunchKernel_ptsz, next->cuLaunchKernel_ptsz, __ATOMIC_RELEASE);
    __atomic_store_n(&gdx_cu_launch.cuLaunchKernelEx, next->cuLaunchKernelEx, __ATOMIC_RELEASE);
    __atomic_store_n(&gdx_cu_launch.cuLaunchKernelEx_ptsz, next->cuLaunchKernelEx_ptsz, __ATOMIC_RELEASE);
}

static void stand_in(void **functions)
{
    gdx_cu_fence_table(functions);
    gdx_cu_poison_table(functions);
    gdx_cu_what_if_table(functions);
    keep_launches((const struct gdx_cu_table *)functions);
}

_Static_assert((int)GDX_CU_NAMES <= GDX_NAMES_MAX, "names");
struct gdx_driver gdx_cu_api = {
    .library = "libcuda.so",
    .tools = tools,
    .names = gdx_cu_names,
    .count = GDX_CU_NAMES,
    .first = GDX_CU_cuInit,
    .driver = (void **)&gdx_cu_driver,
    .next = (void **)&gdx_cu_next,
    .gone = gone,
    .stand_in = stand_in,
    .mark = "Assertion `",
};

/* ---- cuGetProcAddress ---- */

/* Is this a name for what was asked for? "cuMemAlloc" is answered with cuMemAlloc_v2, "cuGraphInstantiate" with
 * cuGraphInstantiateWithFlags. */
static bool named_so(int number, const char *symbol, size_t length)
{
    return !strncmp(gdx_cu_names[number].name, symbol, length);
}

/* The driver answered with a function that is not among its symbols. That is no loss where we would not have recorded
 * it anyway; otherwise the trace says that these calls are missing. */
static void note_unknown(const char *symbol, int version, cuuint64_t flags)
{
    enum { TOLD = 64 };
    static _Atomic int told;
    int number = gdx_number(&gdx_cu_api, symbol);
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
        if (gdx_real(&gdx_cu_api, i) != real)
            continue;
        known = true;
        if (gdx_cu_names[i].wrapper && named_so(i, symbol, length))
            return gdx_cu_names[i].wrapper;
    }
    if (!known)
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
