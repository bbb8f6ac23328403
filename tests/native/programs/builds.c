/* Builds a program with different options and asks what they were. */
#include "gpu.h"

static void build(const char *options)
{
    char text[64] = "unset";
    size_t bytes = 0;
    cl_program program = (cl_program)(size_t)0x4000;
    cl_int status = clBuildProgram(program, 0, NULL, options, NULL, NULL);
    clGetProgramBuildInfo(program, NULL, CL_PROGRAM_BUILD_OPTIONS, 0, NULL, &bytes);
    cl_int asked = clGetProgramBuildInfo(program, NULL, CL_PROGRAM_BUILD_OPTIONS, sizeof text, text, NULL);
    printf("%d %zu %d \"%s\"\n", status, bytes, asked, text);
    asked = clGetProgramBuildInfo(program, NULL, CL_PROGRAM_BUILD_OPTIONS, bytes - 1, text, NULL);
    printf("%d\n", asked);
}

int main(void)
{
    gpu_open();
    build(NULL);
    build("");
    build("-O2");
    build("-O2 -cl-kernel-arg-info");
    build("-cl-kernel-arg-info -O2");
    build("-a-long-option-that-does-not-fit-into-the-room-for-it-when-asked-for");
    build("-strict");
    build("-fail");
    return 0;
}
