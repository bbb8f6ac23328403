"""Where a program says only that a kernel was not built, the compiler's own first error leads, and the program's line follows it.
All logs are made up."""

from __future__ import annotations

import pytest
from test_logs import explained

# Each log, the line that leads, and a part of what is said.
LED = {
    "clang, below the status": ("clBuildProgram: error CL_BUILD_PROGRAM_FAILURE (-11)\n<kernel>:7:3: error: use of undeclared "
                                "identifier 'rwo'\n<kernel>:9:1: error: expected '}'\n", 2, "line 7 of the program's source"),
    "clang, above it": ("blur.cl:31:8: error: expected ')'\n1 error generated.\nclBuildProgram failed with -11 "
                        "(CL_BUILD_PROGRAM_FAILURE)\n", 1, "blur.cl:31"),
    "EDG": ("OpenCL error CL_BUILD_PROGRAM_FAILURE in clBuildProgram\n\"/tmp/OCL12T3.cl\", line 40: error: identifier \"NB\" is "
            "undefined\n1 error detected in the compilation of \"/tmp/OCL12T3.cl\".\n", 2, "OCL12T3.cl:40"),
    "Qualcomm, with Android's prefix": ("E/app (77): Build info: BC-src-code:5:9:{5:9-5:14}: error: use of undeclared identifier "
                                        "'hlaf4'\nE/app (77): error: Compilation failed (--device=adreno)\n", 1, "line 5 of the"),
    "NVRTC": ("/tmp/a1.cubin.cu(3): error: identifier \"gridim\" is undefined\n1 error detected in the compilation of "
              "\"/tmp/a1.cubin.cu\".\nNVRTC_ERROR_COMPILATION\n", 1, "a1.cubin.cu:3"),
    "hipRTC": ("HIPRTC_ERROR_COMPILATION\n/tmp/comgr-1/input/act.hip:12:2: error: unknown type name 'flaot'\n", 2, "act.hip:12"),
    "Intel": ("1:20:4: error: use of type 'double' requires cl_khr_fp64 support\nerror: backend compiler failed build.\n", 1, "line 20 of"),
    "a place without a name": ("what(): The program build failed: UR_RESULT_ERROR_PROGRAM_BUILD_FAILURE\n6:2: error: unknown type name "
                               "'foat4'\n", 2, "line 6 of the program's source"),
    "Mesa's GLSL": ("0:14(9): error: `lenght' undeclared\nFailed to compile the compute shader\n", 1, "line 14 of the program's source"),
    "MIOpen": ("MIOpen Error: /b/hipoc_program.cpp:30: Code object build failed. Source: pool.cpp\n/b/kernels/pool.cpp:4:10: fatal error: "
               "'tpye.h' file not found\n", 2, "pool.cpp:4"),
}  # fmt: skip


@pytest.mark.parametrize("name", LED)
def test_the_compilers_own_line_leads(name: str) -> None:
    text, line, said = LED[name]
    found = explained(text)
    (led,) = [one for one in found.findings if "kernel-does-not-build" in one.causes]
    assert found.diagnosis[0].cause == "kernel-does-not-build"
    assert said in led.message
    assert led.written is not None and led.written.line == line


@pytest.mark.parametrize(
    "text",
    [
        "clBuildProgram returned CL_BUILD_PROGRAM_FAILURE (-11)\n",  # no compiler's line
        "a.cl:3:1: warning: unused variable 'k'\nclBuildProgram returned CL_BUILD_PROGRAM_FAILURE (-11)\n",  # none of an error
        "a.cl:3:1: error: expected ';'\n" + "step\n" * 500 + "clBuildProgram returned CL_BUILD_PROGRAM_FAILURE (-11)\n",  # of another
        "a.cl:3:1: error: expected ';'\nclEnqueueNDRangeKernel returned CL_INVALID_WORK_GROUP_SIZE (-54)\n",  # not for a build
    ],
)
def test_other_refusals_keep_their_own_line(text: str) -> None:
    assert explained(text).diagnosis[0].cause != "kernel-does-not-build"
