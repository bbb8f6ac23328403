"""Every format of pasted logs: what it recognises, what it says, and what it leaves alone. All examples are made up."""

from __future__ import annotations

import itertools

import pytest
from support.typed import leader, written

from gpudx.causes import every as every_cause
from gpudx.diagnose.logs import Explained, explain
from gpudx.evidence.logs import every
from gpudx.evidence.logs._fold import read_log
from gpudx.model import Finding

LOUD = {
    "windows-stop": (
        "VIDEO_ENGINE_TIMEOUT_DETECTED (141)\nOne of the display engines failed to respond in timely fashion.\nMODULE_NAME: nvlddmkm",
        "an engine of the device did not finish its work in time (VIDEO_ENGINE_TIMEOUT_DETECTED, 0x141)",
    ),
    "compared-results": ("copy ...... OK\nscale ..... NG", "marks a result NG, in the column in which others are marked OK"),
    "amd-log": (
        """:3:rocvirtual.cpp           :2774: 5697 us: 91 : [tid:0x7f63] ShaderName : _Z5scalePfi
:3:hip_memory.cpp           :578 : 5698 us: 91 : [tid:0x7f63] hipMemcpy: Returned hipErrorIllegalAddress : duration: 9 us""",
        "A kernel accessed an illegal address (hipErrorIllegalAddress, 700);",
    ),
    "catch2": (
        "-" * 79 + """
rows add up
""" + "-" * 79 + """
tests/rows.cpp:3
...............................................................................

tests/rows.cpp:3: FAILED:
  REQUIRE( sum == 5 )
with expansion:
  4 == 5""",
        "The test rows add up failed at tests/rows.cpp:3: REQUIRE( sum == 5 ), with 4 == 5.",
    ),
    "clintercept": (
        """>>>> clEnqueueNDRangeKernel( blur ): queue = 0x1, kernel = 0x2, global_work_size = < 100 >, local_work_size = < 64 >
<<<< clEnqueueNDRangeKernel -> CL_INVALID_WORK_GROUP_SIZE""",
        "The work-group is too large, or does not divide the global size (CL_INVALID_WORK_GROUP_SIZE, -54), in clEnqueueNDRangeKernel.",
    ),
    "debug-agent": (
        """wave_7: pc=0x7fd4f0e8 (kernel_code_entry=0x7fd4f000 <void gather<4>(float*)>, kernargs=0x7f) (stopped, reason: MEMORY_VIOLATION)
""",
        "The kernel gather<4> accessed memory that is not mapped, or not for this kind of access (MEMORY_VIOLATION).",
    ),
    "amdgpu": (
        """[   12.5] amdgpu 0000:0a:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32770)
[   12.5] amdgpu 0000:0a:00.0: amdgpu:  Process solver pid 77 thread solver pid 77
[   12.5] amdgpu 0000:0a:00.0: amdgpu:   in page starting at address 0x00007f1122334000 from client 10
[   12.5] amdgpu 0000:0a:00.0: amdgpu:      Faulty UTCL2 client ID: TCP (0x8)
[   12.5] amdgpu 0000:0a:00.0: amdgpu:      RW: 0x1""",
        "A kernel wrote memory that is not mapped (client TCP), in process 77 (solver).",
    ),
    "asan": (
        """==9==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000018 at pc 0x4f bp 0x7f sp 0x7e
READ of size 8 at 0x602000000018 thread T0
    #0 0x4f1122 in fill_table /home/u/table.c:31:5
0x602000000018 is located 0 bytes after 8-byte region [0x602000000010,0x602000000018)""",
        "fill_table made a bad read of 8 bytes at u/table.c:31, 0 bytes past the end of memory of 8 bytes",
    ),
    "valgrind": (
        """==7== Invalid write of size 4
==7==    at 0x4C3: memcpy (vg_replace_strmem.c:9)
==7==    by 0x6F1: clEnqueueReadBuffer (in /usr/lib/libOpenCL.so.1)
==7==    by 0x109: main (rows.c:40)
==7==  Address 0x5f4 is 0 bytes after a block of size 64 alloc'd""",
        "The host program wrote 4 bytes that it may not access inside clEnqueueReadBuffer at rows.c:40 in main, 0 bytes past the end of a "
        "block of 64 bytes (Valgrind, on the host).",
    ),
    "clang-resources": (
        """k.hip:9:1: remark: Function Name: _Z4foldPf [-Rpass-analysis=kernel-resource-usage]
k.hip:9:1: remark:     VGPRs Spill: 2 [-Rpass-analysis=kernel-resource-usage]""",
        "The compiler spilled 8 bytes of the registers of fold to memory (k.hip:9): slow, but no failure.",
    ),
    "compilers": (
        'src/fold.cu(12): error: identifier "widht" is undefined',
        'The compiler rejected src/fold.cu:12: identifier "widht" is undefined.',
    ),
    "compute-sanitizer": (
        """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at scatter(float *, int)+0x90 in scatter.cu:12
=========     by thread (31,0,0) in block (2,0,0)
=========     Address 0x7f0000000404 is out of bounds
=========     and is 5 bytes after the nearest allocation at 0x7f0000000000 of size 1,024 bytes
=========
========= ERROR SUMMARY: 1 error""",
        "scatter writes 4 bytes of global memory 4 bytes past the end of an allocation of 1,024 bytes at scatter.cu:12.",
    ),
    "cuda-debugger": (
        """CUDA Exception: Warp Misaligned Address
[Switching focus to CUDA kernel 0, grid 4, block (1,0,0), thread (32,0,0), device 0, sm 2, warp 3, lane 0]
0x0000 in pack<4>(float4*, int)<<<(8,1,1),(64,1,1)>>> ()""",
        "The kernel pack<4> (grid 8,1,1, block 64,1,1) faulted on the device: an address is not a multiple of the access size.",
    ),
    "cuda-error": (
        "main.cu:88: cudaMemcpy(dst, src, n, kind) failed: unspecified launch failure",
        "does not say how (cudaErrorLaunchFailure, 719); the log shows where this was noticed, not which launch did it.",
    ),
    "cuda-libraries": (
        "RuntimeError: CUBLAS_STATUS_EXECUTION_FAILED when calling cublasGemm(x)",
        "CUBLAS could not run its work on the device, often because of a fault in an earlier kernel (EXECUTION_FAILED);",
    ),
    "linux-kernel": (
        "[9.1] solver[55]: segfault at 18 ip 00007f00 sp 00007ffe error 4 in libcuda.so.1[7f00+1000]",
        "solver (process 55) crashed on the host in libcuda.so.1: a read or call at address 0x18.",
    ),
    "xla": (
        "jaxlib.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4096 bytes.",
        "An allocation of 4,096 bytes did not fit into device memory (XLA, RESOURCE_EXHAUSTED).",
    ),
    "device-assert": (
        "/src/gather.cu:17: gather: block: [3,0,0], thread: [5,0,0] Assertion `index < rows` failed.",
        "An assertion in a kernel failed at src/gather.cu:17: index < rows: an index from the data is outside",
    ),
    "ggml": (
        """CUDA error: misaligned address
  current device: 1, in function ggml_backend_cuda_synchronize at /b/ggml-cuda.cu:99
  cudaStreamSynchronize(s)""",
        "A kernel accessed memory at an address that is not a multiple of the access size (cudaErrorMisalignedAddress, 716);",
    ),
    "gpu-kernel-driver": (
        "i915 0000:00:02.0: [drm] GPU HANG: ecode 12:1:85dcfdfb, in renderer [321]",
        "The device hung in renderer (process 321) and was reset.",
    ),
    "hip-error": (
        "HIP error: an illegal memory access was encountered in hipDeviceSynchronize() at run.cpp:5",
        "A kernel accessed an illegal address (hipErrorIllegalAddress, 700);",
    ),
    "host-assert": (
        "solve: src/plan.c:40: make_plan: Assertion `n > 0' failed.",
        "An assertion in the host program failed at src/plan.c:40: n > 0.",
    ),
    "host-crash": (
        """signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x24010
backtrace:
    #00 pc 0001  /vendor/lib64/libOpenCL.so (clSetKernelArg+10)""",
        "The host process crashed (SIGSEGV at address 0x24010), inside a GPU driver: a bad value was used there, and made elsewhere.",
    ),
    "nccl": (
        "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=BROADCAST, NumelIn=1, Timeout(ms)=600000)"
        " ran for 600100 milliseconds before timing out.",
        "Rank 3 waited 600 s for the collective BROADCAST (number 12); another rank did not join.",
    ),
    "oclgrind": (
        """Invalid write of size 4 at global memory address 0x2000000000010
\tKernel: vecfill
\tEntity: Global(4,0,0) Local(0,0,0) Group(4,0,0)
\tAt line 3 (column 8) of input.cl:""",
        "vecfill writes 4 bytes of global memory out of bounds, at input.cl:3.",
    ),
    "opencl-error": (
        "OpenCL error -54 in clEnqueueNDRangeKernel, global_work_size = <100>, local_work_size = <64>",
        "The work-group is too large, or does not divide the global size (CL_INVALID_WORK_GROUP_SIZE, -54), in clEnqueueNDRangeKernel",
    ),
    "mesa": (
        "ac_rtld error(1): too much LDS (used = 70000, max = 65536)",
        "A kernel was not built: it needs 70,000 bytes of local memory (LDS), and the device has 65,536.",
    ),
    "pocl": (
        """[2026-01-02 03:04:05.1]POCL: in fn POclSetKernelArg at line 80:
  |     ERROR | CL_INVALID_ARG_SIZE given 4 bytes""",
        "PoCL refused clSetKernelArg (CL_INVALID_ARG_SIZE): the size of an argument differs from what the kernel declares: given 4 bytes.",
    ),
    "ptxas": (
        """ptxas info    : Function properties for big
    64 bytes stack frame, 48 bytes spill stores, 40 bytes spill loads""",
        "The compiler spilled 48 bytes of the registers of big to memory",
    ),
    "python-traceback": (
        """Traceback (most recent call last):
  File "/home/u/train.py", line 12, in step
    go()
  File "/opt/lib/python3.12/site-packages/pkg/x.py", line 3, in go
    raise KeyError("k")
KeyError: 'k'""",
        "Python raised KeyError at u/train.py:12 in step.",
    ),
    "pytorch": (
        """RuntimeError: CUDA error: device-side assert triggered
CUDA kernel errors might be asynchronously reported at some other API call.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1""",
        "An assert in a kernel failed (cudaErrorAssert, 710); the log shows where this was noticed, not which launch did it.",
    ),
    "rocm-fault": (
        "Memory access fault by GPU node-3 (Agent handle: 0x55) on address (nil). Reason: Page not present or supervisor privilege.",
        "Work on the device accessed memory that is not mapped (address 0x0); the runtime does not say which kernel.",
    ),
    "rocm-queue": (
        ":0:rocdevice.cpp            :2992: 40 us:  Callback: Queue 0x7d00 aborting with error : "
        "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent attempted to access memory. code: 0x29",
        "Work on the device used an invalid address, global, shared or private "
        "(HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION, 0x29); the runtime does not say which kernel.",
    ),
    "rocm-runtime": (
        "Launch params (512, 1, 1) are larger than launch bounds (128) for kernel softmax please add __launch_bounds__",
        "The launch of softmax was refused: its block is 512x1x1, and it was compiled for 128 threads at most.",
    ),
    "sass": (
        """\tcode for sm_90
\t\tFunction : _Z4foldPf
        /*0a80*/                   HMMA.16816.F32 R16, R4, R16, RZ ;              /* 0x000000100410723c */
        /*0a90*/              @P0 HMMA.16816.F32 R16, R4, R16, RZ ;              /* 0x000000100410723c */""",
        "The code of fold for sm_90 has 2 tensor-core instructions.",
    ),
    "tests": ("test device::copies ... FAILED", "The test device::copies failed."),
    "triton": (
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 200000, Hardware limit: 100000. Reduce",
        "A Triton kernel needs 200,000 bytes of shared memory and the device has 100,000; it was never launched.",
    ),
    "vulkan-validation": (
        "vkCmdDispatch(): (set = 1, binding = 2, index 0)  access out of bounds. The descriptor buffer (VkBuffer 0x1) size is 4096 bytes, "
        "1024 bytes were bound, and the highest out of bounds access was at [1027] bytes",
        "The shader of a vkCmdDispatch reaches 4 bytes past the 1,024 bytes bound at set 1, binding 2.",
    ),
    "device-lost": (
        "wgpu error: Validation Error: In Queue::submit: Parent device is lost",
        "The device was lost: work on it failed, or the driver stopped it; the log shows where this was noticed",
    ),
    "gpu-status": (
        "zeCommandListAppendLaunchKernel returned ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
        "Level Zero reported an error: out of device memory (ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)",
    ),
    "gpu-words": (
        "encoder: unable to open a session on the GPU driver",
        "The GPU or the software around it could not be used: encoder: unable to open a session on the GPU driver.",
    ),
    "kernel-build": (
        "lld: error: undefined hidden symbol: scale_row(float*)",
        "A kernel was not linked: the symbol scale_row is not defined.",
    ),
    "kernel-module": (
        "[  9.123] nouveau 0000:01:00.0: fifo: fault 00 [READ] at 00000000001b0000 engine 00 [GR] reason 02 [PTE], PBDMA0",
        "The kernel driver (nouveau) reported that the device accessed memory that is not mapped.",
    ),
    "launcher": (
        "srun: error: node7: task 3: Exited with exit code 139",
        "Rank 3 ended by SIGSEGV (exit code 139); the reason is in its own output.",
    ),
    "metal": (
        "-[MTLDebugComputeCommandEncoder dispatchThreadgroups:]:1200: failed assertion `threadgroup size 2048 exceeds 1024'",
        "Metal's validation stopped the program in [MTLDebugComputeCommandEncoder dispatchThreadgroups]: threadgroup size 2048",
    ),
    "no-device": (
        "ERROR: no OpenCL devices found",
        "No device was found: ERROR: no OpenCL devices found.",
    ),
    "rocm-debugger": (
        """Thread 4 "solver" received signal SIGSEGV, Segmentation fault.
[Switching to thread 4, lane 0 (AMDGPU Lane 1:2:1:1/0 (3,0,0)[0,0,0])]
gather (a=0x0, n=5) at gather.hip:12""",
        "The kernel gather accessed memory that is not mapped, or not for this kind of access at gather.hip:12 (SIGSEGV on the device).",
    ),
    "check-failed": (
        "F0101 10:00:00 77 grid.cc:40] Check failed: rows > 0 (0 vs. 0) no rows",
        "A check in the program failed at grid.cc:40: rows > 0 (0 against 0).",
    ),
    "program-error": (
        "step 40: loss is nan, stopping",
        "The program found NaN or infinite values in its data: step 40: loss is nan, stopping.",
    ),
    "unrecognised": (
        "the flux capacitor failed to align",
        "This line reads like a failure, and gpudx does not know its format: the flux capacitor failed to align.",
    ),
    "xid": (
        "[5.1] NVRM: Xid (PCI:0000:02:00): 31, pid=400, name=trainer, Ch 1, intr 0. MMU Fault: ENGINE GRAPHICS faulted @ 0x0_00000010. "
        "Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
        "The driver reported Xid 31: a kernel or copy accessed device memory that is not mapped, in process 400 (trainer).",
    ),
}  # fmt: skip

# Lines with the same words that tell of no failure.
SILENT = """
INFO CUDA error checking is on; cudaErrorNotReady is expected while polling
    if (status == cudaErrorIllegalAddress) abort();
    case CL_OUT_OF_RESOURCES: return "CL_OUT_OF_RESOURCES";
#define CHECK(x) if ((x) != hipErrorOutOfMemory) fail()
=========================== 12 passed in 3.21s ===========================
test device::copies ... ok
[       OK ] Copies.Small (3 ms)
100% tests passed, 0 tests failed out of 7
clEnqueueNDRangeKernel took 5 ms, clFinish took -1 us of slack
ptxas info    : Used 12 registers
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
The handler for SIGSEGV and SIGABRT is installed
  |   GENERAL |  Kernel k || SetArg idx 1
wave_3: pc=0x7f (stopped, reason: NONE)
:3:hip_event.cpp :20 : 1 us: hipEventQuery: Returned hipErrorNotReady :
>>>> clFinish
<<<< clFinish -> CL_SUCCESS
All tests passed (1 assertion in 1 test case)
no panicked at all
"""


def explained(text: str) -> Explained:
    return explain([read_log("x.log", [text.encode()])])


def findings(text: str) -> tuple[Finding, ...]:
    return explained(text).findings


def test_every_format_has_an_example() -> None:
    assert {module.FORMAT for module in every()} == set(LOUD)
    assert all(module.__doc__ and module.MARKS for module in every())


@pytest.mark.parametrize("name", LOUD)
def test_loud(name: str) -> None:
    text, message = LOUD[name]
    (found,) = [one for one in findings(f"before\n{text}\nafter\n") if written(one).format == name][:1]
    assert message in found.message
    assert found.message.count(". ") == 0, "one sentence"
    assert all(cause in every_cause() for cause in found.causes)
    assert "of x.log" in found.evidence[0].text


def test_silent() -> None:
    assert [one.message for one in findings(SILENT) if one.severity == "error"] == []


def test_nothing_is_known_of_other_text() -> None:
    told = explained("the quick brown fox\n" * 3)
    assert not told.findings and not told.diagnosis
    assert told.outcome.summary.startswith("Nothing in 3 lines looks like a failure.")


def test_no_line_is_blamed_for_an_asynchronous_error() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/u/train.py", line 3, in step\n    x.cpu()\n'
        "RuntimeError: CUDA error: an illegal memory access was encountered\n"
    )
    told = explained(text)
    (error,) = [one for one in told.findings if one.severity == "error"]
    assert "train.py" not in error.message
    (note,) = [one for one in told.findings if one.severity == "info"]
    assert (
        note.message
        == "Python raised RuntimeError at u/train.py:3 in step: this line noticed the fault of line 4 and did not cause it."
    )
    (entry,) = told.diagnosis
    assert (entry.cause, entry.status, entry.guilty) == ("device-error-reported", "inconclusive", None)
    assert entry.fix == ("To settle it: gpudx run --serialise --stacks -- ./app",)


def test_followers() -> None:
    text = (
        "/k.cu:9: f: block: [0,0,0], thread: [1,0,0] Assertion `i < n` failed.\n"
        "/k.cu:9: f: block: [0,0,0], thread: [2,0,0] Assertion `i < n` failed.\n"
        "CUDA error: device-side assert triggered at a.cu:1\nCUDA error: invalid argument at b.cu:2\nAborted (core dumped)\n"
    )
    told = explained(text)
    assert [(one.severity, written(one).line, leader(one)) for one in told.findings] == [
        ("error", 1, None),
        ("info", 3, 1),
        ("info", 4, 1),
        ("info", 5, 1),
    ]
    assert told.findings[0].count == 2
    assert told.diagnosis[0].cause == "device-assertion" and len(told.diagnosis[0].not_counted) == 3


def test_a_refusal_before_a_fault_stands_first() -> None:
    text = "CUDA error: invalid configuration argument at a.cu:1\nCUDA error: an illegal memory access was encountered at b.cu:2\n"
    told = explained(text)
    assert [one.severity for one in told.findings] == ["error", "error"]
    assert told.diagnosis[0].cause == "launch-refused"


def test_another_process_is_another_story() -> None:
    text = (
        "CUDA error: an illegal memory access was encountered at a.cu:1\nAborted (core dumped)\n"
        "CUDA error: invalid configuration argument at b.cu:2\n"
    )
    assert [one.severity for one in findings(text)] == ["error", "info", "error"]


def test_an_ending_does_not_follow_what_comes_later() -> None:
    text = "Segmentation fault (core dumped)\nCUDA error: an illegal memory access was encountered at a.cu:1\n"
    assert [leader(one) for one in findings(text)] == [None, None]


def test_geometry_and_addresses_are_decoded() -> None:
    launch = findings(LOUD["opencl-error"][0])[0]
    assert [one.text for one in launch.evidence[1:]] == [
        "global size 100, work-group 64 = 64 work-items",
        "100 is not a multiple of 64",
    ]
    crash = findings(LOUD["host-crash"][0])[0]
    assert "a size, count or handle was used as one (147,456 = 9 * 2^14 plus 16)" in crash.evidence[1].text


WRAPPERS = {
    'Error: Cuda(Cuda(DriverError(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered")))': "illegal-address",
    'called `Result::unwrap()` on an `Err` value: DriverError(CUDA_ERROR_NOT_FOUND, "named symbol not found")': "symbol-not-found",
    "OFFLOAD ERROR: memory access fault by GPU 4 (agent 0x5) at virtual address 0x7ffb61f02000. Reasons: Unknown": "rocm-memory-fault",
    "GPUassert: an illegal memory access was encountered main.cu 45": "illegal-address",
    "CUDA error 700 at a.cu:5": "illegal-address",
    "CUDA failure 2: 'out of memory' at b.cpp:9": "memory-allocation",
    "cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorMisalignedAddress: misaligned address": "misaligned-address",
    "numba.cuda.cudadrv.driver.CudaAPIError: [719] Call to cuMemcpyDtoH results in UNKNOWN": "launch-failure",
    "what():  parallel_for failed: cudaErrorNoKernelImageForDevice: no kernel image is available": "no-kernel-image-for-device",
    "pyopencl._cl.LogicError: clSetKernelArg failed: INVALID_ARG_SIZE": "invalid-arg-size",
    "ERROR: clEnqueueNDRangeKernel(-55)": "invalid-work-item-size",
    "clFinish returned CL_OUT_OF_RESOURCES": "out-of-resources",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which "
    "1.00 GiB is free.": "memory-allocation",
}


@pytest.mark.parametrize("line", WRAPPERS)
def test_wrappers(line: str) -> None:
    assert findings(line)[0].id == f"log-{WRAPPERS[line]}"


def test_the_same_pytest_run_passes_and_fails() -> None:
    told = explained("$ pytest -q\n9 passed in 1.00s\n$ pytest -q\n9 failed in 1.10s\n")
    assert told.diagnosis[0].cause == "order-or-timing" and told.diagnosis[0].status == "inconclusive"
    assert not explained("$ pytest -q\n9 passed in 1.00s\n").findings


def test_thousands_of_records_are_one_finding() -> None:
    lines = "".join(f"/k.cu:9: f: block: [{i},0,0], thread: [1,0,0] Assertion `i < n` failed.\n" for i in range(5000))
    (found,) = findings(lines)
    assert found.count == 5000 and "4,999 more, up to line 5,000" in found.evidence[0].text


def test_what_is_too_much_is_counted_and_said() -> None:
    words = ("".join(letters) for letters in itertools.product("ghijkl", repeat=6))  # lines of which no two are alike
    told = explained("".join(f"[5.1] NVRM: Xid (PCI:0000:02:00): 31, pid=4, name={word}, Ch 1\n" for word in words))
    assert any("lines of xid after the first were counted" in text for text in told.not_checked)


def test_lines_that_differ_in_digits_only_are_all_counted() -> None:
    text = "".join(f"[{i}.5] NVRM: Xid (PCI:0000:02:00): 31, pid={i}, name=t, Ch 1\n" for i in range(60_000))
    told = explained(text)
    (found,) = told.findings
    assert found.count == 60_000 and "up to line 60,000" in found.evidence[0].text
    assert not any("counted, not read" in text for text in told.not_checked)


def test_a_failure_among_many_lines_that_only_look_alike() -> None:
    """ "0 failed" says nothing, however often; "3 failed" does."""
    fine = "".join(f"step {i}: 0 GPU kernels failed to launch\n" for i in range(5000))
    told = explained(f"{fine}step 5000: 3 GPU kernels failed to launch\n{fine}")
    assert [found.written.line for found in told.findings if found.written] == [5001]


def test_a_fault_record_without_a_kernel_proves_no_cause() -> None:
    assert explained(LOUD["xid"][0]).diagnosis[0].status == "inconclusive"
    assert explained(LOUD["compute-sanitizer"][0]).diagnosis[0].status == "likely"
