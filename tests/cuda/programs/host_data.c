/* Host functions of one stream with the same data. With "changes" the program writes it between them; else it leaves it alone. */
#include "reach.h"

struct data { int frame, other[3]; };

static void use(void *given)
{
    (void)given;
}

int main(int argc, char **argv)
{
    int changes = argc > 1 && strcmp(argv[1], "changes") == 0;
    CUcontext context;
    CUstream stream;
    struct data data = { 0 };
    reach_driver();
    CHECK(DO(cuInit)(0));
    CHECK(DO(cuCtxCreate_v2)(&context, 0, 0));
    CHECK(DO(cuStreamCreate)(&stream, 0));
    for (int i = 0; i < 3; i++) {
        data.frame = changes ? i : 7;
        CHECK(DO(cuLaunchHostFunc)(stream, use, &data));
    }
    CHECK(DO(cuStreamSynchronize)(stream));
    printf("done\n");
    return 0;
}
