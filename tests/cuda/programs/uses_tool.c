/* Launches, twice, a function whose coming the recorder did not see. */
#include "reach.h"

int main(int argc, char **argv)
{
    (void)argc;
    CUcontext context;
    CUfunction (*tool_function)(void), function;
    int one = 1, two = 2;
    void *params[] = { &one, &two };
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    *(void **)&tool_function = dlsym(dlopen(argv[1], RTLD_NOW), "tool_function");
    function = tool_function();
    CHECK(DO(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    CHECK(DO(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    return 0;
}
