"""Messages of the tools and drivers that people use beside gpudx, each with the kind and the sentence that it must give.

All lines are made up after the formats that the programs have in them: Oclgrind 21.10, compute-sanitizer 13.4, CLIntercept 3, PoCL 3.1,
ROCm 5.2 and Mesa 22.3. Fixed words are theirs; names, numbers and files are ours."""

from __future__ import annotations

import pytest
from test_logs import findings

OCLGRIND_PLACE = (
    "\tKernel: fold\n\tEntity: Global(3,0,0) Local(3,0,0) Group(0,0,0)\n\t  call\n\tAt line 9 (column 4) of input.cl:\n\t  x;\n"
)
OCLGRIND = {
    f"\nEncountered trap instruction\n{OCLGRIND_PLACE}": ("trap", "fold executes a trap instruction, at input.cl:9."),
    "Work group size must divide NDRange exactly.": ("oclgrind-launch-refused", "Work group size must divide NDRange exactly."),
    "Unable to open simulator file.": ("oclgrind-launch-refused", "refused the description of the launch"),
    "Range doesn't produce correct buffer size": ("oclgrind-launch-refused", "correct buffer size"),
    "Failed to load bitcode from fold.bc": ("oclgrind-launch-refused", "fold.bc"),
    "Oclgrind - OpenCL runtime error detected\n\tFunction: clWaitForEvents\n"
    "\tError:    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST\n\tEvent 0 terminated with error -5": (
        "oclgrind-refusal",
        "which belongs to earlier work",
    ),
}

AT, BY = "    at fold(int *)+0x70 in a.cu:5", "    by thread (1,0,0) in block (2,0,0)"
SANITIZER = {
    "Invalid address space for __global__ read of size 4 bytes": ("invalid-read", "fold reads 4 bytes of global memory"),
    "Invalid __global__ tensor load of size 16 bytes": ("invalid-access", "fold accesses 16 bytes of global memory"),
    "Invalid setSmemSize operation": ("hardware-exception", "raises an exception (Invalid setSmemSize operation)"),
    "Invalid program counter": ("hardware-exception", "raises an exception (Invalid program counter)"),
    "Internal system error during the TMEM allocation.": ("hardware-exception", "Internal system error"),
    "Tensor Memory column 600 being accessed by instruction tcgen05.ld is out of bounds.": ("hardware-exception", "column 600"),
    "Program hit error 700 on CUDA API call.": ("api-error", "A kernel failed before a call returned error 700"),
    "Program hit error 1 on CUDA API call.": ("api-error", "A call returned error 1."),
    "Leaked 4,096 bytes from CUDA array 0x55": ("leak", "4,096 bytes in 1 allocation were never released."),
    "Leaked an OptixProgramGroup with handle 0x7fe": ("leak", "1 OptixProgramGroup was never released."),
    "Address 0x7f1000 is potentially accessed after it is free'd": ("lifetime-race", "after it is freed, on another stream"),
    "Error: Potential RAW hazard detected at __shared__ 0x0 (block rank 1) in block (0,0,0) :\n"
    "=========     Write Thread (1,0,0) at fold()+0x10 in a.cu:5\n=========     Read Thread (2,0,0) at fold()+0x20 in a.cu:6": (
        "race",
        "fold has a race in shared memory between fold+0x10 (a.cu:5) and fold+0x20 (a.cu:6).",
    ),
    "Error: Potential RAW hazard detected at global address 0x7f00 (4 byte access) :\n"
    "=========     Strong Write in device scope, Thread (1,0,0) in Block (0,0,0) at fold()+0x10 in a.cu:5": (
        "race",
        "fold has a race in global memory at fold+0x10 (a.cu:5).",
    ),
    "Host API memory access error at host access to 0x7f10 of size 64 bytes": ("uninitialised-copy", "A copy of 64 bytes reads"),
    "Host API uninitialized memory access on access by cudaMemcpy source": ("uninitialised-copy", "A copy reads device memory"),
    "Barrier error detected.": ("barrier", "fold uses a barrier wrongly (Barrier error detected)"),
}
# What the tool says of itself: a report with such a line is never clean, and its words are no failure of the program.
NOT_CHECKED = {
    "Error: Detected an unsupported driver version. Please update your CUDA installation": "did not check the program",
    "Error: GPU debugging features are disabled.": "did not check the program",
    "Error: CUDA initialized before the Sanitizer. The Sanitizer will be disabled": "did not check the program",
    "Error: Confidential compute mode detected. compute-sanitizer will be disabled.": "did not check the program",
    "Error: Sanitizer is unable to initialize its connection to the CUDA driver": "did not check the program",
    "Error: Could not connect to target application with pid 12": "did not check the program",
    "Warning: CUDA Dynamic Parallelism is not supported by the selected tool": "could not check everything",
    "Error: 7 errors were skipped (error buffer overflow).": "could not check everything",
    "Maximum number of hazards reached. An environment variable can be used to increase this count.": "could not check everything",
}

INTERCEPT = {
    ">>>> clEnqueueNDRangeKernel( fold ): queue = 0x1, kernel = 0x2\n... clFinish after clEnqueueNDRangeKernel returned "
    "CL_OUT_OF_RESOURCES (-5)\n<<<< clEnqueueNDRangeKernel -> CL_SUCCESS": ("command-failed", "The kernel fold failed on the device"),
    ">>>> eventCallbackCaller: event = 0x55, status = UNKNOWN (-5)": ("event-failed", "an event failed (CL_OUT_OF_RESOURCES, -5)"),
    "Build Status for device 0 = Fold (OpenCL C 1.2): CL_BUILD_ERROR": ("build-failed", "A kernel was not built"),
    "Unexpectedly got a NULL timing event for clEnqueueNDRangeKernel, check for OpenCL errors!": ("launch-failed", "A launch"),
}

POCL_AT = "[2026-01-02 03:04:05.6]POCL: in fn {} at line 7:\n  |   ERROR | {}"
POCL = {
    POCL_AT.format("pocl_llvm_codegen", "pocl_llvm_codegen() failed for kernel fold"): ("build-failed", "did not build a kernel"),
    POCL_AT.format("pocl_invoke_clang", "Final linking of kernel fold failed."): ("build-failed", "(in pocl_invoke_clang)"),
    POCL_AT.format("void pocl_init_devices()", "Device 0 / cpu initialization failed!"): ("no-device", "(in pocl_init_devices)"),
    POCL_AT.format("cuda_error", "CUDA_ERROR_ILLEGAL_ADDRESS during cuStreamSynchronize"): ("pocl-driver-error", "of earlier work"),
    POCL_AT.format("pocl_mutex", "Error from pthread call:"): ("pocl-error", "PoCL failed (in pocl_mutex)"),
    "[2026-01-02 03:04:05.6]POCL: in fn run at line 7:\n  |  EVENTS | basic: Command FAILED, event 12": (
        "pocl-command-failed",
        "A command on PoCL's device basic failed (event 12)",
    ),
    "clang: error: unable to execute command: Segmentation fault": ("compiler-crashed", "clang ended with Segmentation fault"),
}

ROCM = {
    "Memory access fault by GPU node-2 (Agent handle: 0x5) on address 0x7f1000. Reason: SRAM ECC failure.": (
        "rocm-memory-fault",
        "the hardware reports as damaged",
    ),
    "HW Exception by GPU node-1 (Agent handle: 0x5) reason: ECC": ("device-lost", "The device was lost"),
    "System event (HSA_AMD_GPU_HW_EXCEPTION_EVENT: reset)": ("device-lost", "The device was lost"),
    "LoaderError: code object's ISA (amdgcn-amd-amdhsa--gfx90a) is not supported by the agent": ("code-object-refused", "gfx90a"),
    "LoaderError: unsupported code object version: 6": ("code-object-refused", "version: 6"),
    "HSA Error:  Incompatible kernel and userspace, AMD Radeon disabled. Upgrade amdgpu.": ("no-device", "is too old for ROCm's runtime"),
    "MIOpen(HIP): Error [FoldHip] comgr status = ERROR (1)": ("build-failed", "MIOpen did not build a kernel"),
    "kfd kfd: amdgpu: HIQ MQD's queue_doorbell_id0 is not 0, Queue preemption time out": ("device-hang", "in time"),
    ":1:rocdevice.cpp :2032: 1 us: Fail allocation local memory": ("gpu-failure", "Fail allocation local memory"),
    "Code object is not compatible with device": ("wrong-device-code", "does not fit this device"),
}

MESA = {
    "SPIR-V parsing FAILED:\n    In file ../src/fold.c:9\n    Unsupported storage class\n    12 bytes into the SPIR-V binary": (
        "build-failed",
        "Mesa did not build a kernel: Unsupported storage class.",
    ),
    "ACO ERROR:\n    In file ../src/fold.cpp:9\n    Instruction has too many operands": ("compiler-crashed", "too many operands"),
    "Can't find clc function _Z4foldf": ("symbol-missing", "has no function _Z4foldf"),
    "VM fault report.\n\nFailing VM page: 0x7f000": ("device-page-fault", "a page that is not mapped (0x7f000)"),
    "intel_do_flush_locked failed: Input/output error": ("device-lost", "earlier work hung, or the device was reset"),
    "DRI driver not from this Mesa build ('22.3.6' vs '23.0.0')": ("driver-versions-differ", "(22.3.6 and 23.0.0)"),
    "MESA: warning: Driver does not support the 0xa780 PCI ID.": ("no-device", "does not know the device 0xa780"),
    "amdgpu: command stream overflowed": ("driver-error", "than fits in it"),
    "EE ../src/gallium/drivers/fold.c:5 fold - failed to create temporary texture": ("object-not-created", "could not be created"),
    "v3d: submit failed: Input/output error": ("device-lost", "where this was noticed"),
    "libGL error: MESA-LOADER: failed to retrieve device information": ("no-device", "could not be used"),
}


@pytest.mark.parametrize(
    ("log", "kind", "said"), [(log, *told) for table in (OCLGRIND, INTERCEPT, POCL, ROCM, MESA) for log, told in table.items()]
)
def test_what_a_tool_or_a_driver_says(log: str, kind: str, said: str) -> None:
    found = findings(log + "\n")[0]
    assert found.id == f"log-{kind}" and said in found.message


@pytest.mark.parametrize(("line", "kind", "said"), [(line, *told) for line, told in SANITIZER.items()])
def test_records_of_compute_sanitizer(line: str, kind: str, said: str) -> None:
    place = () if "hazard" in line or "hit error" in line or "Leaked" in line else (AT, BY)
    lines = ("COMPUTE-SANITIZER", line, *place, "", "ERROR SUMMARY: 1 error")
    found = findings("".join(f"========= {one}\n" for one in lines))
    assert [one.id for one in found] == [f"sanitizer-{kind}"] and said in found[0].message


@pytest.mark.parametrize(("line", "said"), NOT_CHECKED.items())
def test_a_report_with_such_a_line_is_not_clean(line: str, said: str) -> None:
    found = findings(f"========= COMPUTE-SANITIZER\n========= {line}\n========= ERROR SUMMARY: 0 errors\n")
    assert len(found) == 1 and said in found[0].message


@pytest.mark.parametrize(
    "line",
    [
        "Injection source file doesn't exist: /x/CLI_0001_source.cl",  # CLIntercept looks for several names
        "Calling clFinish after clEnqueueNDRangeKernel...",
        "... clFinish after clEnqueueNDRangeKernel returned CL_SUCCESS (0)",
        ">>>> eventCallbackCaller: event = 0x55, status = CL_COMPLETE (0)",
        "[2026-01-02 03:04:05.6]POCL: in fn run at line 7:\n  |  EVENTS | basic: Command complete, event 12",
        "WARNING: OpenCL support via iris+clover is incomplete.",
        "========= COMPUTE-SANITIZER\n========= Barrier called by threads starting at (0,0,0) in block (0,0,0), (active mask: 0xf) at "
        "fold()+0x20 in a.cu:1\n========= ERROR SUMMARY: 0 errors",
    ],
)
def test_ordinary_words_of_the_same_tools(line: str) -> None:
    assert not [one for one in findings(line + "\n") if one.severity != "info"]


@pytest.mark.parametrize(
    "line",
    [
        "SPIR-V WARNING:\n    In file ../src/fold.c:9\n    Unsupported capability Float16\n    12 bytes into the SPIR-V binary",
        "pocl warning: encountered incomplete implementation in fold.c:9",
        "MIOpen(HIP): Warning [FoldBase] Missing system database file: fold.kdb Performance may degrade.",
        'Tool lib "libfold.so" failed to load.',
        "Warning: Resource leak detected by SharedSignalPool, 12 Signals leaked.",
        "Signal handler unable to be set.",
        "Unknown token in POCL_DEBUG env var: fold",
        "Unrecognised option '--fold'",
        "Missing argument to --log",
    ],
)
def test_warnings_are_no_errors(line: str) -> None:
    assert {one.severity for one in findings(line + "\n")} == {"warning"}


def test_the_context_whose_work_did_not_hang_is_told() -> None:
    innocent = findings("amdgpu: The CS has been cancelled because the context is lost. This context is innocent.\n")[0]
    assert any("work of another context" in one.text for one in innocent.evidence)
    guilty = findings("amdgpu: The CS has been cancelled because the context is lost. This context is guilty of a hard recovery.\n")[0]
    assert not any("work of another context" in one.text for one in guilty.evidence)
