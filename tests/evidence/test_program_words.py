"""What programs nobody has listed say about their failures, sorted by what happened. All examples are made up."""

from __future__ import annotations

import pytest
from test_logs import explained, findings

from gpudx.evidence.logs._event import NOT_UNDERSTOOD
from gpudx.evidence.logs._fold import read_log

# Each log, the kind of its first event, and a part of what is said.
SAID = {
    # checks of any library, with the values that were compared
    "E: Check failed: used <= free (4096 vs. 1024) : pool too small": ("check-failed", "used <= free (4096 against 1024)"),
    "grid assertion 'n % 4 == 0' failed in void solve(int) at /a/src/solve.cu:81": ("check-failed", "src/solve.cu:81: n % 4 == 0"),
    "AssertionError: width should be in [64, 128].": ("check-failed", "width should be in"),
    "RuntimeError: Expected all inputs on one device, but found two": ("check-failed", "Expected all inputs on one device"),
    "rank == 0 INTERNAL ASSERT FAILED at \"/b/c10/trace.h\":23": ("check-failed", "c10/trace.h:23: rank == 0"),
    # a check of a GPU call's result is an error of the device, by name, by number, or unknown
    "Check failed: res == VK_SUCCESS is false: code=-4: VK_ERROR_DEVICE_LOST": ("device-lost", "The device was lost"),
    "x.cc:9: Check failed: e == cudaSuccess (700 vs. 0)": ("illegal-address", "cudaErrorIllegalAddress, 700"),
    "Check failed: s == CUBLAS_STATUS_SUCCESS (13 vs. 0)": ("library-execution-failed", "EXECUTION_FAILED"),
    "grid assertion 'err == cudaSuccess' failed in alloc at a/stack.cpp:33": ("call-failed", "a/stack.cpp:33"),
    "NPP Assertion Failed: cudaError_t=719, file=a.cu, line=3": ("launch-failure", "cudaErrorLaunchFailure, 719"),
    # an error on the next line
    "Error using gpuArray\nThe CUDA error was:\ninvalid configuration argument": ("invalid-configuration", "a grid, block"),
    "terminate called after throwing an instance of 'thrust::system::system_error'\n  what():  for_each failed: invalid argument": (
        "invalid-value", "a value that it does not accept",
    ),
    "RuntimeError: src/indice.cu 57\ncuda execution failed with error 9": ("invalid-configuration", "a grid, block"),
    "Error in src/jit.cpp(152):\nOpenCL Error: Invalid Program Executable when calling clEnqueueNDRangeKernel": (
        "invalid-program-executable", "CL_INVALID_PROGRAM_EXECUTABLE",
    ),
    # interfaces by number
    "verbose,common,error,level_zero,errcode 1879048196": ("status-module-build-failure", "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"),
    "D3D11: Failed to create RenderTexture, error 0x8007000e": ("status-out-of-memory", "E_OUTOFMEMORY"),
    "Failed to execute 'createBuffer' on 'GPUDevice': bad size": ("call-refused", "refused for what it was passed"),
    "AbortError: Failed to execute 'mapAsync' on 'GPUBuffer': unmapped": ("wait-failed", "not which work caused it"),
    "could not execute a primitive": ("launch-failed", "earlier work may have caused it"),
    "nvidia-container-cli: initialization error: cuda error: unknown error": ("no-device", "container tool"),
    "panicked at src/draw.rs:230:14:\nSurface became unavailable: Outdated": ("rust-panic", "draw.rs:230: Surface became unavailable"),
    "free(): double free detected in tcache 2": ("host-heap-damaged", "freed twice"),
    "virtual void shader_config::init(): Assertion `toks' failed.": ("check-failed", "toks"),
    # the kernel, and the C library
    "[ 8.123456] Internal error: Oops - BUG: 0 [#1] SMP\n[ 8.2]  vm_del+0x1/0x20 [panfrost]": ("kernel-oops", "module panfrost"),
    "audit[9]: ANOM_ABEND auid=0 pid=81 comm=\"solver\" exe=\"/a\" sig=11 res=1": ("host-crash", "solver (process 81) ended by SIGSEGV"),
    "malloc(): unaligned tcache chunk detected": ("host-heap-damaged", "host memory is damaged"),
    "vfio-pci 0000:43:00.0: psp mode1 reset failed": ("reset-failed", "could not be reset"),
    "    !!! Unknown header type 7f": ("no-device", "does not answer on the PCI bus"),
    'panic(cpu 0 caller 0xff7f): "GPU Panic: mux-regs 4 3"@/a/GPUPanic.cpp:170': ("gpu-panic", "macOS kernel panicked because of the GPU"),
    "Abort was called at 22 line in file:\n../neo/gmm/gmm_interface.cpp": ("driver-abort", "gmm/gmm_interface.cpp:22"),
    "Faulting application name: Paint.exe, version: 2\nFaulting module name: nvwgf2umx.dll, version: 3\nException code: 0xc0000005": (
        "host-crash", "Paint.exe crashed in nvwgf2umx.dll (exception 0xc0000005), a GPU driver",
    ),
    "Error -54: Enqueueing kernel onto command queue. (clEnqueueNDRangeKernel)": ("invalid-work-group-size", "-54"),
    "[OPENCL]:CL ERROR:NVIDIA: ILLEGAL READ OR WRITE TO A BUFFER": ("nvidias-error--9999", "outside its memory"),
    "d3d12_queue_execute: Failed to submit queue(s), vr -4.": ("status-device-lost", "VK_ERROR_DEVICE_LOST"),
    "Expected vulkan hwdevice for the filter, got cuda.": ("call-refused", "refused for what it was passed"),
    # tests of programs that have their own runner
    "Number of FAILED  tests 2079": ("test-failed", "2079 tests failed"),
    "    grid_2.inp                    RUNTIME FAIL": ("test-failed", "grid_2.inp"),
    "All done. ERROR: only 0 out of 5 tests passed.": ("test-failed", "0 of 5 tests passed"),
    "  28  -1.02E-002   0.00       -1.02E-002      -Infinity": ("result-not-finite", "NaN or infinite"),
    '  File "a.py", line 13, in <module>\nModuleNotFoundError: No module named \'x\'': ("python-stack", "No module named 'x'"),
    'Traceback (most recent call last):\n  File "tools/infer.py", line 185, in <module>': ("python-exception", "not pasted"),
    "= Got nonfinite for policy sum": ("result-not-finite", "NaN or infinite"),
    "Error: NvEncLockBitstream failed: NV_ENC_ERR_INVALID_PARAM": ("status-invalid-param", "NVENC reported an error"),
    "layer 4: GRAPH_ERROR_INVALID_OP_CONFIG": ("program-status", "invalid op config"),
    "FATAL ERROR: Failed test assert: sum >= 0.95": ("check-failed", "sum >= 0.95"),
    "1 : Fail : Non-zero status code returned while running FusedConv node.": ("program-operation-failed", "while running FusedConv node"),
    '  "error": "Unable to locate GPU details",': ("program-status", "Unable to locate GPU details"),
    "00007FF888AF468100007FF888AF41B0 python310.dll!PyArg_Check [<unknown file>]": ("host-stack", "stack trace"),
    "Assertion failed!\n\nProgram: C:\\x.exe\nFile: a.c\nLine 123\nExpression: term != NULL": ("check-failed", "term != NULL"),
    "FAILED examples/rf-dask.ipynb": ("test-failed", "rf-dask.ipynb"),
    "      FAILED: build/temp/attn_sm80.o": ("program-build-failed", "build step failed"),
    "CUDA error: CUDA-capable device(s) is/are busy or unavailable": ("devices-unavailable", "in use by another process"),
    # words alone
    "plugin scan: Failed to load plugin 'libx.so': no such file": ("program-part-missing", "missing or could not be loaded"),
    "setversion 1.4 failed: Permission denied": ("program-not-permitted", "not allowed"),
    "render node: connection to worker 3 refused": ("program-connection", "connection"),
    "stage 4 timed out after 30 s": ("program-timed-out", "did not finish in time"),
    "codec property is not supported": ("program-not-supported", "not supported"),
    "** ERROR: <main:12>: Failed to create 'stage_bin'": ("program-not-started", "could not be created"),
    '  "status": "ERROR",': ("program-status", "status: ERROR"),
    'error(4105) "callback(), queue error handling is not supported"': ("program-not-supported", "not supported"),
    "scene file is corrupt at byte 81": ("program-data-damaged", "damaged"),
    "ERROR: tile_config failed. Error: -1": ("program-operation-failed", "tile_config failed with error -1"),
    "Can't find valid buffer assignment": ("program-operation-failed", "could not find valid buffer assignment"),
    '[ERROR] Error on node "Stage_1(72)":': ("program-operation-failed", "an error on node"),
    # marks that are no words, by the column in which others are right
    "[ OK ] copy\n[ NG ] scale": ("marked-wrong", "scale"),
    "copy_1d ...... ok\nscan_1d ...... KO": ("marked-wrong", "marks a result KO, in the column in which others are marked ok"),
    "fft    OK\nsum    EE\nsort   OK": ("marked-wrong", "sum EE"),
    "  ✔ reads (3ms)\n  ✗ writes (12ms)": ("marked-wrong", "marks a result ✗"),
    "7001 OK  2000 1f2e\n7001 EE  4000 77aa": ("result-differs", "EE 4000"),
    "EE     3000 / 7001 [ 0.10%], 1.2 ms/it; 77aa": ("result-differs", "EE 3000"),
    "CPU hash: 09e91e4c4c\nGPU hash: d84bb4cee4": ("result-differs", "The hash that the program prints for the GPU is not that of the CPU"),
    # runners and systems that say it in other words
    "Testing: md5 [OpenCL]... FAILED (cmp_all(0))": ("test-failed", "The test md5 [OpenCL] failed (cmp_all(0))"),
    " * CUDA     disabled (no devices)": ("no-device", "continues without a device"),
    "Pod was rejected: Allocate failed due to no healthy devices present": ("no-device", "no healthy device"),
    "[info] App [search] exited with [-1073741676] code.": ("process-ended", "an integer division by zero"),
    "PROCESS_NAME:  Paint.exe\nExceptionAddress: 00007ffb4213cf19 (nvoglv64!f+0x69)\n   ExceptionCode: c0000005 (Access violation)": (
        "host-crash", "Paint.exe crashed in nvoglv64 (exception 0xc0000005, Access violation), a GPU driver",
    ),
    "check 'err == cudaSuccess || err == cudaErrorInvalidValue' failed in f() at a/b.cu:7": ("call-failed", "a/b.cu:7"),
    "Error, setup must be called before calling solve": ("program-wrong-order", "an order or a state"),
    "exceeded elapsed time limit 8423.91": ("program-timed-out", "did not finish in time"),
    "error adding output: access failed: Error loading handles (Operation not supported (os error 95))": (
        "program-not-supported", "not supported",
    ),
    "read_tile: ioctl returned -22": ("program-operation-failed", "failed with error -22"),
    "DP-1: Atomic commit failed (pageflip): Device or resource busy": ("program-busy", "in use by another program"),
    "ERROR: clBuildProgram: error": ("build-failed", "could not be compiled or linked"),
    "failed to create cufft plan": ("object-not-created", "could not be created"),
    "vce: encoder stopped responding": ("device-hang", "did not finish in time"),
    "ERROR: No supported SDL_GPU backend found!": ("no-device", "could not be used"),
    "Could not create graphics pipeline state! Error Code: bad value. (0x80070057)": ("status-invalid-argument", "E_INVALIDARG"),
    "runc: error running hook: exit status 1, stderr: nvidia-container-cli: mount error: stat failed: /lib/libcuda.so.1: no such file": (
        "no-device", "The container tool",
    ),
    "NRT:init Unable to determine the version of the Neuron Driver. Please check the package.": ("no-device", "The accelerator or"),
    " ETOT/eV : nan": ("result-not-finite", "NaN or infinite"),
    " error with DSYSV": ("program-operation-failed", "an error with DSYSV"),
    # tools that test devices, and the device manager of Windows
    "Tested 2 GPUs:\n  GPU 0: FAULTY\n  GPU 1: OK": ("device-faulty", "found it faulty"),
    "100.0%  errors: 0 - 5242880  (WARNING!)   temps: 51 C": ("program-errors-counted", "The program counted errors"),
    "Error found. Mode READ, total errors 0x1 out of 0x2C000000": ("program-errors-counted", "The program counted errors"),
    "Windows has stopped this device because it has reported problems. (Code 43)": ("windows-device", "Windows stopped it (code 43)"),
    "the GPU in the guest shows error 43": ("windows-device", "code 43"),
    "sl::getSensorsData error: CAMERA NOT DETECTED": ("program-no-device", "No usable device"),
    " - Detail: NaN or Inf found when solving": ("result-not-finite", "NaN or infinite"),
    "[1:2:ERROR:process_host.cc(977)] GPU process launch failed: error_code=40": ("process-not-started", "could not start the process"),
    # words of other languages, and of people who do not speak English well
    "加载模型失败: 找不到文件 model.bin": ("program-part-missing", "missing or could not be loaded"),
    "ドライバが見つかりません": ("program-part-missing", "missing or could not be loaded"),
    "연산 시간 초과": ("program-timed-out", "did not finish in time"),
    "No se pudo iniciar el motor": ("program-failed", "reported a failure"),
    "layer MemoryData not exists or registered": ("program-part-missing", "missing or could not be loaded"),
    "SCF NOT CONVERGED after 60 steps": ("program-not-converged", "did not converge"),
    "video.Error: operator (): expects 8 input planes": ("exception", "video.Error: operator ()"),
    "./run.sh: line 2: 20506 Terminated              solve -n 3 > out": ("process-ended", "SIGTERM"),
    "app.service: Main process exited, code=dumped, status=11/SEGV": ("process-ended", "by SIGSEGV"),
    '  Binary file "/usr/lib/libc.so.6", at PyEval_Run+0x1 [0x7785]\n  Binary file "/usr/lib/libc.so.6", at PyObject_Call+0x1e [0x7786]': (
        "host-stack", "without the reason",
    ),
    "MIOpen(HIP): Error [BuildHip] HIPRTC status = HIPRTC_ERROR_COMPILATION (6), source file: conv.cpp": (
        "build-failed",
        "MIOpen did not build a kernel",
    ),
    # a number of CUDA and HIP that no other interface has, beside a word like "kernel"
    "Exception: Error invoking kernel: Invalid error code (716)": ("misaligned-address", "error 716 of CUDA and HIP"),
    "CUDA error at lib/ops.cu:7 code=77(<unknown>)": ("illegal-address", "cudaErrorIllegalAddress, 700"),
    # what the runtimes call their errors, without their names
    "Error named symbol not found at line 5 in file ops.cu": ("symbol-not-found", "not found in the loaded device code"),
    "GL error at line 12: 1287": ("status-context-lost", "OpenGL reported an error: context lost"),
    "[ERR] GL_GUILTY_CONTEXT_RESET: the GPU has been reset": ("status-guilty-context-reset", "OpenGL reported an error"),
    # what people translate around a call and its number
    "执行 cudaMemcpyAsync 返回 700，程序崩溃": ("illegal-address", "not which launch did it"),
    "cudaLaunchKernel devolvió el código 98": ("invalid-device-function", "no code of this kernel"),
    "hipMalloc 오류 코드 2 가 반환됩니다": ("memory-allocation", "in hipMalloc"),
    "clCreateBuffer a renvoyé -61": ("invalid-buffer-size", "in clCreateBuffer"),
    "clEnqueueReadBuffer が -5 を返しました（エラー）": ("out-of-resources", "may only have noticed it"),
    "cuMemAlloc_v2 returned 2": ("memory-allocation", "did not fit"),
    # other languages, and accelerators that are no GPU
    "** (RuntimeError) Failed to pick an algorithm for conv": ("exception", "RuntimeError: Failed to pick an algorithm for conv"),
    '%ArgumentError{message: "argument error: shape"}, [{Nx, :add},': ("exception", "ArgumentError: argument error: shape"),
    "TT_FATAL: device timeout, cores never answered": ("device-hang", "Work on the accelerator"),
    "E RKNN: failed to submit!, op id: 4, int status: 0": ("launch-failed", "earlier work may have caused it"),
    "shutting the pipe failed with status AXL_RPC_FAILED(77)": ("program-status", "AXL_RPC_FAILED (rpc failed, 77)"),
    "Reading the tile header failed with code 12": ("program-operation-failed", "Reading the tile header failed with error 12"),
    "Could not find any device that meets the needs": ("program-no-device", "No usable device"),
    "ERROR 04-18 01:55:45 engine.py:400]  Lib::Initialize failed.[LINE:177]": ("program-not-started", "could not be created"),
}  # fmt: skip

QUIET = (
    "INFO multicast support is not available on dev 1",
    "    assert (x == 3), 'x'",
    "    if (n != 0) fail();",
    "-- Check failed tests of last run: none",
    "[ 1.2] pcieport 0000:00:01.0: enabling device (0000 -> 0003)",
    "[ 1.2] vfio-pci 0000:43:00.0: reset succeeded",
    "check failover: enabled",
    "5 out of 5 tests passed",
    "Number of FAILED tests 0",
    "validation error: 0.0031",
    "Error = 1.5e-6 after 40 steps",
    "[ NG ] alone, without a line that is right",
    "fp16  ✓\nfp64  ✗",
    "00000010 00 EE 12 34",
    "copy  OK\nscale SKIP",
    "connected to peer 700 of the kernel mailing list",
    "Error rate of stream 719: 0.0",
    "peer access is already enabled",
    "the context is destroyed at exit",
    "   at Gpu.Runtime.CudaException.ThrowIfFailed(CudaError status) in /src/a.cs:line 3",
    "glGetError() == 0",
    "SCF converged after 12 steps",
    "模型加载完成",
    "nicht mehr als 8 Threads",
    "line 2: job Terminated normally",
    "100.0%  proc'd: 18000 (6311 Gflop/s)   errors: 0 - 0   temps: 51 C - 45 C",
    "GPU 1: OK",
    "errors: 0",
    "page 43 of the driver manual",
    "Unable to register cuFFT factory: Attempting to register factory for plugin cuFFT when one has already been registered",
    "Info: Total files 0 | Changed 0 | Failed 0",
    "NCCL_ASYNC_ERROR_HANDLING: 1",
    "TIMEOUT(ms): 1800000",
    "I1025 02:10:08.005792       1 health.go:151] Skipping non-nvmlEventTypeXidCriticalError event: {EventType:2}",
    "NCCL INFO comm 0x5a3404663cb0 rank 0 nranks 1 - Abort COMPLETE",
    "CPU hash: 09e91e4c4c\nGPU hash: 09E91E4C4C",
    "CPU time: 4123\nGPU time: 8",
    "Testing: md5 [OpenCL]... PASS",
    "the sum of the block returned -3.25 as before",
    "ExceptionCode is printed by the handler",
    "App [search] exited with [0] code.",
    "setup: done before solve",
    "cudaMalloc 返回 0，一切正常",
    "cudaMemcpy returned 0 after 12 us",
    "**Descripción del error**",
    "## Error log",
    "lspci: 01:00.0 VGA compatible controller [0300] (rev a1)",
)


@pytest.mark.parametrize("log", SAID)
def test_words_are_sorted_by_what_happened(log: str) -> None:
    kind, said = SAID[log]
    found = findings(log)[0]
    assert found.id == f"log-{kind}"
    assert said in found.message


@pytest.mark.parametrize("line", QUIET)
def test_quiet_lines(line: str) -> None:
    assert {one.event.kind for one in read_log("log", [line.encode()]).told} <= {NOT_UNDERSTOOD}


@pytest.mark.parametrize("log", [log for log, (kind, _) in SAID.items() if kind.startswith(("program-", "check-", "call-", "library-"))])
def test_words_blame_nothing(log: str) -> None:
    assert all(entry.status == "inconclusive" and entry.guilty is None for entry in explained(log).diagnosis)


@pytest.mark.parametrize(
    "line",
    [
        "Can't use GPU pipeline with CPU physics. Changing pipeline to 'CPU'.",
        "Cannot read file as JSON, trying as text",
        "* CUDA disabled (no devices)",
    ],
)
def test_what_a_program_does_without_is_no_error(line: str) -> None:
    assert all(one.severity != "error" for one in findings(line))


def test_words_are_left_out_beside_what_says_more() -> None:
    told = explained("scene file is corrupt\nCUDA error: misaligned address\n")
    assert [one.id for one in told.findings] == ["log-misaligned-address"]


def test_numbers_are_explained_as_what_they_can_be() -> None:
    (found,) = explained("20:11:12 MINER: Thread terminated, error code 719").findings
    assert any("if it is an error of CUDA or HIP, 719 means" in one.text for one in found.evidence)
    (found,) = explained("[ 5.123456] widget_worker: wait failed, error -110").findings
    assert any("-110 is ETIMEDOUT" in one.text for one in found.evidence)


@pytest.mark.parametrize("part", ["1", "1.0 -2.5e3 ", "a_", "Aa::", "expected 1 got ", "f("])
@pytest.mark.timeout(120)
def test_repeated_parts_take_no_time(part: str) -> None:
    """Patterns that try every division of such a line would take years."""
    read_log("log", [(part * (4000 // len(part)) + " failed").encode()])


def test_numbers_in_capitals() -> None:
    assert findings("widget open failed, error code 0X29")
