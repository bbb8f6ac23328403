"""What programs, runtimes and compilers of many kinds say in lines of their own: each with the nearest lines that say nothing of the kind.

All examples are made up."""

from __future__ import annotations

import pytest
from test_logs import explained, findings

# Each log, the kind of its first event that is no note, and a part of what is said.
SAID = {
    # the reason that Go prints above its stack
    "panic: failed to allocate 4096 bytes of managed memory\n\ngoroutine 1 [running]:\nmain.fold()": ("program-no-memory", "panic: failed"),
    "panic: cl: Invalid Kernel Args\n\ngoroutine 1 [running]:\nmain.main()": ("invalid-kernel-args", "was never set"),
    # what googletest compared with success
    "[ RUN      ] Fold.half\n/src/fold.cu:8: Failure\nExpected equality of these values:\n  cudaDeviceSynchronize()\n    Which is: 700\n"
    "  cudaSuccess\n    Which is: 0": ("illegal-address", "an illegal address"),
    "PVR_K:  1234: RGXFWIF: HWR has occurred: page fault, recovering": ("device-page-fault", "(pvr_k)"),
    "Compute shader (Fold): Property (_Rows) at kernel index (0) is not set": ("call-refused", "is not set"),
    "[Fold] [Fatal] GPU learner was not enabled in this build.": ("no-device", "built without support"),
    "RuntimeError: CUDA error: Invalid access of peer GPU memory over nvlink or a hardware error": ("contained", "cudaErrorContained, 226"),
    "This thread has been waiting for `fold` for 10 seconds and may be stuck": ("watchdog", "saw no progress"),
    "Watchdog: the fold thread has not responded for 30 seconds": ("watchdog", "saw no progress"),
    "ERROR: vkEnumeratePhysicalDevices returned 0 devices": ("no-device", "No device was found"),
    "[AdaptiveCpp Error] cudaEventSynchronize() failed (error code = CUDA:700)": ("illegal-address", "an illegal address"),
    "[AdaptiveCpp Error] hipEventSynchronize() failed (error code = HIP:719)": ("launch-failure", "(hipErrorLaunchFailure, 719)"),
    "[AdaptiveCpp Error] error while enqueueing kernel (error code = CL:-54)": ("invalid-work-group-size", "work-group"),
    '/x/fold.cpp(9): error: in "fold_suite/rows": check a == b has failed [0 != 3]': ("test-failed", "fold_suite/rows failed at"),
    "The call to cuMemHostRegister(0x7000, 64, 0) failed.\n  cuMemHostRegister return value:  1": ("invalid-value", "in cuMemHostRegister"),
    "validateComputeFunctionArguments:9: failed assertion `Compute Function(fold): missing buffer binding at index 2.'": (
        "metal-assertion",
        "missing buffer binding",
    ),
    "[ 7.123456] i915 0000:00:02.0: [drm] Resetting vcs0 for stopped heartbeat on vcs0": ("device-hang", "in time"),
    "!!! Exception during processing !!! Allocation on device": ("memory-refused", "An allocation was refused"),
    "FATAL ERROR: data in PRESENT clause was not found on device 1: name=rows": ("data-not-present", "never copied to the device"),
    "v4l2-request: Unable to set format for type 1: Device or resource busy": ("device-busy", "in use by another program"),
    "sbatch: error: Invalid generic resource (gres) specification": ("no-device", "The scheduler has no node for it"),
    "OrtRun() failed: cannot create a pipeline: A valid external Instance reference no longer exists.": ("device-lost", "was lost"),
    "what():  Unknown ze_result_t value: 1879179264": ("status-dependency-unavailable", "dependency unavailable"),
    "InductorError: tuning failed: PTXASError: PTXAS error: Internal Triton PTX codegen error": ("compiler-crashed", "codegen error"),
    "Error while parsing WGSL: :14:9 error: unresolved value 'fold'": ("build-failed", "was not built"),
    "[  812.123456] nouveau 0000:01:00.0: fifo: fault 00 [VIRT_READ] at 0000000000200000": ("device-page-fault", "not mapped"),
    "[  99.123456] vfio-pci 0000:01:00.0: not ready 65535ms after FLR; giving up": ("reset-failed", "could not be reset"),
    "folder aborts with SIGABRT": ("host-abort", "SIGABRT"),
    "llvm-fold: /x/llvm/ADT/Fold.h:9: T& llvm::Fold<T>::at(int): Assertion `i < size()' failed.": (
        "compiler-crashed",
        "An assertion in the device compiler failed",
    ),
    "app: /x/fold.cpp:9: int fold(int): Assertion `i < n' failed.": ("host-assertion", "An assertion in the host program failed"),
    "RuntimeException: Fold::Raw Failed to allocate memory for requested buffer of size 512": ("program-no-memory", "got no memory"),
    # places in the messages of compilers
    "\"/tmp/OCL7.cl\", line 12: error: identifier \"fold\" is undefined": ("build-failed", "OCL7.cl:12: identifier"),
    "ptxas /tmp/fold.ptx, line 33; error   : Unknown symbol 'fold'": ("build-failed", "fold.ptx:33: Unknown symbol"),
    "0:12(9): error: no function with name 'fold'": ("build-failed", "rejected line 12 of"),
    "BC-src-code:12:9:{12:9-12:13}: error: implicit declaration of function 'fold'": ("build-failed", "rejected line 12 of"),
    "error: unknown target CPU 'gfx1100'": ("build-failed", "unknown target CPU"),
}
QUIET = (
    "The property color is set, and the kernel index is 0.",
    "GPU learner was enabled in this build.",
    "Watchdog: the fold thread responded after 30 ms",
    "vkEnumeratePhysicalDevices returned 2 devices",
    "[AdaptiveCpp Info] finished (error code = CUDA:0)",
    "0:12(9): warning: `fold' used uninitialized",
    "Using CUDA/OpenCL platform 0",
    "0x22: OpenCL device 0",
    "Device disconnected: DeviceLostReason::CallbackCancelled, A valid external Instance reference no longer exists.",
    "[ 7.123456] i915 0000:00:02.0: [drm] heartbeat interval is 2500 ms",
    "vfio-pci 0000:01:00.0: ready 12ms after FLR",
    "PVR_K:  1234: Read BVNC 36.29 from device registers",
)


@pytest.mark.parametrize("log", SAID)
def test_a_line_is_understood(log: str) -> None:
    kind, said = SAID[log]
    found = next(one for one in findings(log + "\n") if one.severity != "info")
    assert found.id == f"log-{kind}" and said in found.message


@pytest.mark.parametrize("line", QUIET)
def test_near_lines_say_nothing(line: str) -> None:
    assert not [one for one in findings(line + "\n") if one.severity != "info"]


REFUSED = "ERROR: clEnqueueNDRangeKernel -> Returned: -4"
NO_EVENT = "ERROR: clWaitForEvents -> Returned: -58"


def test_rust_prints_a_value_below_its_title() -> None:
    text = "thread 'main' panicked at 'called `Result::unwrap()` on an `Err` value: \n\n##### FOLD ERROR #####\n\nNo row was left.\n"
    assert "value: No row was left" in findings(text)[0].message


def test_what_was_never_made_is_no_second_fault() -> None:
    """The refused launch made no event, so that the wait for it is refused."""
    first, second = findings(f"{REFUSED}\n{NO_EVENT}\n")
    assert (first.severity, second.severity) == ("error", "info")
    assert "this follows line 1" in second.message
    assert explained(f"{REFUSED}\n{NO_EVENT}\n").diagnosis[0].cause == "failed-call"


@pytest.mark.parametrize("other", ["ERROR: clCreateSampler -> Returned: -30", "Note: clEnqueueNDRangeKernel -> Returned: 0"])
def test_a_bad_handle_after_something_else_stands_for_itself(other: str) -> None:
    assert findings(f"{other}\n{NO_EVENT}\n")[-1].severity == "error"
    assert findings(f"{NO_EVENT}\n{REFUSED}\n")[0].severity == "error", "what came before follows from nothing"


HUNG = "[ 7.1234] amdgpu 0000:2d:00.0: ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=2\n"
OPCODE = "[ 7.1235] [drm:gfx_bad_op_irq [amdgpu]] *ERROR* Illegal opcode in command stream\n"


def test_a_fault_is_no_consequence_of_the_timeout_that_was_printed_first() -> None:
    found = findings(HUNG + OPCODE)
    assert [(one.id, one.severity) for one in found] == [("log-device-hang", "error"), ("log-device-bad-command", "error")]
    again = findings(OPCODE + HUNG)
    assert [one.severity for one in again] == ["error", "info"], "a timeout behind a fault follows from it"
