/* Asks the driver's own questions: cuGetProcAddress for itself, before cuInit, with odd arguments, and for what does
 * not exist. Prints what a program could notice. */
#include "reach.h"

typedef CUresult ask_function(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

int main(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *at = NULL, *again = NULL, *unknown = NULL;
    CUdriverProcAddressQueryResult found = 9;
    ask_function *ask, *itself;
    CUresult (*old_ask)(const char *, void **, int, cuuint64_t);
    __typeof__(&cuLaunchKernel) launch;
    *(void **)&ask = dlsym(driver, "cuGetProcAddress_v2");
    *(void **)&old_ask = dlsym(driver, "cuGetProcAddress");
    printf("itself: %d", ask("cuGetProcAddress", (void **)&itself, 12000, 0, &found));
    printf(" found %u same %d\n", found, itself == ask);
    printf("old itself: %d", ask("cuGetProcAddress", &at, 11030, 0, NULL));
    printf(" same %d\n", at == (void *)old_ask);
    printf("without a place: %d %d\n", ask("cuInit", NULL, 13000, 0, &found), old_ask("cuInit", NULL, 13000, 0));
    printf("without a name: %d\n", ask(NULL, &at, 13000, 0, NULL));
    printf("missing: %d", itself("cuNeverMade", &at, 13000, 0, &found));
    printf(" %d found %u, old %d\n", at == NULL, found, old_ask("cuNeverMade", &at, 13000, 0));
    printf("too old: %d %d\n", old_ask("cuLibraryLoadData", &at, 11000, 0), at == NULL);
    printf("new: %d", itself("cuMadeTomorrow", &unknown, 13000, 0, NULL));
    printf(" gives %d\n", ((CUresult (*)(void))unknown)());
    itself("cuMemAlloc", &at, 13000, 0, NULL);
    again = dlsym(driver, "cuMemAlloc_v2");
    printf("two ways, one function: %d\n", at == again);
    itself("cuLaunchKernel", &at, 13000, 0, NULL);
    itself("cuLaunchKernel", &again, 13000, 2, NULL);
    *(void **)&launch = again;
    printf("per thread differs: %d, is %d\n", at != again, again == dlsym(driver, "cuLaunchKernel_ptsz"));
    CUresult (*init)(unsigned);
    itself("cuInit", (void **)&init, 13000, 0, NULL);
    CHECK(init(0));
    printf("launch of nothing: %d\n", launch(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    return 0;
}
