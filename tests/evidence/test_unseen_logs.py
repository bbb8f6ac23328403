"""Logs of kinds that no format lists: read by names, by drivers and by words. All examples are made up, in the shape of public ones."""

from __future__ import annotations

import pytest
from test_logs import explained, findings

from gpudx.causes import every as every_cause
from gpudx.diagnose.logs import Explained, explain
from gpudx.evidence.logs._fold import read_log
from gpudx.evidence.logs._next import fit
from gpudx.evidence.logs._program import command_in
from gpudx.model import Finding


def first(text: str) -> Finding:
    return findings(text)[0]


# Each line, the kind of its first event, and a part of what is said.
KNOWN = {
    "BugCheck 119, {5, ffffbf0d, ffffbf1e, a11}\nProbably caused by : dxgmms2.sys ( dxgmms2!VidSchiReset+6ad )": (
        "windows-stop",
        "the driver in the report is dxgmms2",
    ),
    "LiveKernelEvent\nCode: 141\nParameter 1: ffffa68a": ("windows-stop", "VIDEO_ENGINE_TIMEOUT_DETECTED"),
    "IMAGE_NAME:  nvlddmkm.sys": ("windows-stop", "points to nvlddmkm.sys"),
    "FAILURE_BUCKET_ID:  0x116_IMAGE_nvlddmkm.sys": ("windows-stop", "VIDEO_TDR_FAILURE"),
    "[ 9.123456] xe 0000:03:00.0: [drm] *ERROR* CRITICAL: Xe has declared device 0000:03:00.0 as wedged.": (
        "device-wedged",
        "gave the device up",
    ),
    "open model\nBuild program failed, err:-11 !\nCL ERROR CODE : -45, info:getKernel": ("build-program-failure", "did not compile"),
    "[Tue Sep 10 09:37:12 2024] amdgpu: sq_intr: error, se 1, data 0x0, wave_id 1, cu_id 11, err_type 2": (
        "device-page-fault",
        "a wave accessed memory",
    ),
    "HIP error: the operation cannot be performed in the present state": ("illegal-state", "not possible in the state"),
    "#0  0x00007ffff7cfde5c in pthread_kill () from /lib64/libc.so.6\n#1  0x00007ffff7c977fc in abort () from /lib64/libc.so.6\n"
    "#2  0x00007ffff5a32375 in IGC::Analysis::findArgs(llvm::Instruction*) () from /lib64/libigc.so.1": (
        "host-abort",
        "inside a GPU driver or its compiler",
    ),
    "    State:          Waiting\n      Reason:       CrashLoopBackOff": ("process-ended", "Kubernetes waits"),
    "Aborted (core dumped)\nigdrcl_lib/scheduler/build.make:61: recipe for target 'bin/x.bin' failed": ("host-abort", "printed before"),
    "threads: Test Failed at /builds/gpu/test/execution.jl:1056\n  Expression: Array([1, 1]) == [3, 7]": ("test-failed", "threads"),
    "CUDA: failed at /src/launch/alloc/build_timeout.cc:7": ("gpu-failure", "does not say which"),
    "Fatal trap 12: page fault while in kernel mode": ("kernel-oops", "FreeBSD kernel itself"),
    "// Error: ERROR   | [gpu] unable to initialize NVIDIA NVML: (3)": ("no-device", "could not be used"),
    "Uncaught TypeError: GPUCommandEncoder.begin: Missing required 'load' member of GPUAttachment.": ("call-refused", "was refused"),
    "nvgpu: 17000000.gpu gv11b_dump:294  [ERR]  [MMU FAULT] mmu engine id:  18, fault addr: 0x0": ("device-page-fault", "nvgpu"),
    "Cuda error: 208[cudaGraphicsUnregisterResource(s.colors[i]);]": ("already-mapped", "mapped twice"),
    "WARNING: bond too long (../bond_kokkos.cpp:136)": ("program-input-refused", "bond too long"),
    "SparkException: Task 2 in stage 1568.0 failed 4 times: std::bad_alloc: RMM failure at arena.hpp:382: Maximum pool size exceeded": (
        "memory-refused",
        "An allocation was refused",
    ),
    "[ERROR] Failed to execute goal org.tools:test-plugin:2.22.0:test on project cudf: There are failures.": (
        "gpu-failure",
        "does not say which",
    ),
    "worker:java.lang.ExceptionInInitializerError": ("exception", "raised java.lang.ExceptionInInitializerError"),
    "SYCL error: CHECK(op(ctx, dst)): Meet error in this line code!": ("status-without-a-name", "its meaning is not known"),
    "clCompileProgram(): CL_OUT_OF_RESOURCES": ("build-failed", "The driver's compiler"),
    "signal 6 (SIGABRT), code -1 (SI_QUEUE)\nbacktrace:\n  #00 pc 063fec  /lib64/libc.so (abort+156)\n"
    "  #01 pc 2cfe5b8  /vendor/lib64/egl/libGLES_mali.so (llvm::report_fatal_error(llvm::Twine const&)+408)": (
        "host-abort",
        "the compiler of a GPU driver gave up",
    ),
    "[ 9.123456] amdgpu 0000:c5:00.0: [drm] device wedged, but recovered through reset": ("gpu-reset", "reset the device"),
    "[ 27.270227] mali fb000000.gpu: SAVED_CMD_PTR: 0x5fffe6b190": ("queue-dump", "state of its queues"),
    "[ 10.287620] NVRM: GPU6 _boot: (the GPU is likely in a bad state and may need to be reset)": ("driver-error", "nvrm"),
    "E Adreno-GSL: <entry:878>: open(/dev/kgsl-3d0) failed, errno 2: No such file or directory": ("no-device", "device file"),
    "Number of platforms    1\n  Platform Name   Fast Compute\nNumber of devices      0": ("no-device", "No device was found"),
    "MESA: error: tile_alloc_render_buffer:1612 pixmap_from_buffer[s] failed": ("gpu-failure", "does not say which"),
    "OpenCL: cuMemAlloc() failed on device 0": ("memory-refused", "An allocation was refused"),
    "cycles: Failed to build BLAS": ("object-not-created", "could not be created"),
    "### HCC RUNTIME ERROR: Fail to find compatible kernel at file:/lib/amp.cpp line:344": ("wrong-device-code", "not fit this device"),
    "RuntimeError: INTERNAL: Failed to launch ROCm kernel: fold with block dimensions: 64x1x1: hipError_t(98)": (
        "invalid-device-function",
        "no code of this kernel",
    ),
    "E status_macros.cc:56] INTERNAL: RET_CHECK failure (xla/service/gpu/emit.cc:114) rank > 0": ("check-failed", "rank > 0"),
    "GPU: ERROR: Memory object allocation failure in cl::CommandQueue::enqueueNDRangeKernel()": (
        "mem-object-allocation-failure",
        "could not be allocated",
    ),
    "   12 - kernels/fold.tst (Subprocess aborted)": ("test-failed", "kernels/fold.tst"),
    "TIMEOUT: //render/tests:fold_test (Summary)": ("test-failed", "//render/tests:fold_test"),
    "drm_bo_context_exec() failed: Input/output error": ("launch-failed", "earlier work may have caused it"),
    "[15844:15888:ERROR:stub.cc(508)] : SharedImage: context already lost": ("device-lost", "The device was lost"),
    "RuntimeError: CUDA driver error: device not ready": ("not-ready", "had not finished"),
    "RuntimeError: CUDA error: operation would make the legacy stream depend on a capturing blocking stream": (
        "stream-capture-implicit",
        "on the default stream",
    ),
    "creating device 0 (name: Tesla)\nTerminated": ("process-ended", "SIGTERM"),
    "vkQueueSubmit failed -4": ("status-device-lost", "VK_ERROR_DEVICE_LOST"),
    "queue.cc:114: UNKNOWN; VkResult=4294967283; while invoking": ("status-unknown", "VK_ERROR_UNKNOWN"),
    "ERROR hal: VALIDATION [VUID-VkFramebufferCreateInfo-flags-zerobitmask (0x0)]": ("vulkan-rule", "breaks a rule of Vulkan"),
    "OpenCV Error: Assertion failed (n == CL_SUCCESS) in cv::f, file o.cpp, line 39": ("host-assertion", "n == CL_SUCCESS"),
    "thread 'main' panicked at 'Err: DeviceLost(DeviceLost)', src/frame.rs:15": ("device-lost", "The device was lost"),
    "create_instance: ERROR_INCOMPATIBLE_DRIVER": ("status-incompatible-driver", "Vulkan"),
    "[panic] thread 'main' panicked at 'called unwrap on: InitFailed': C:\\app\\core": ("rust-panic", "InitFailed"),
    "Exception: Atom coordinate is nan": ("result-not-finite", "NaN or infinite"),
    "selftest: expected 12.5 but got 0 at element 7": ("result-differs", "wrong result"),
    "output mismatch in tile 4: 17 of 4096 values": ("result-differs", "wrong result"),
    "com.example.render.PipelineException: stage 3 gave up": ("exception", "com.example.render.PipelineException"),
    "drv: The CS has been rejected (-125)": ("device-lost", "The device was lost"),
    "[ 5.123456] [drm:amdgpu_cs_ioctl [amdgpu]] *ERROR* Failed to initialize parser -125!": ("gpu-reset", "had been reset"),
    "Render.dll!00007fffeac1ba99()\nD3D12Core.dll!00007fffc2ffc615()": ("host-stack", "stack trace"),
    'ERROR: Parameter "list" is null.\n   at: Renderer::draw (src\\renderer.cpp:47)': ("exception", "src\\renderer.cpp:47"),
    "[h264_qsv @ 0x55d2] Error during encoding: device failed (-17)": ("gpu-failure", "device failed"),
    "NMI watchdog: BUG: soft lockup - CPU#2 stuck for 22s! [solver:766]": ("kernel-stuck", "solver (process 766)"),
    "INFO: task solver:77 blocked for more than 120 seconds.": ("kernel-stuck", "more than 120 s"),
    "#3  0x00007ffff287aac3 in wait_event () from /lib/librun.so.1": ("host-stack", "stack trace"),
    '(core.py:12)   File "/a/engine.py", line 5, in step\n    out = run()': ("python-stack", "without its beginning"),
    "CL ERROR CODE : -52, info:convert": ("invalid-kernel-args", "CL_INVALID_KERNEL_ARGS"),
    "[nan nan nan nan]": ("result-not-finite", "NaN or infinite"),
    "step 4 loss: nan time 3 s": ("result-not-finite", "NaN or infinite"),
    "[scaler] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 4096": ("gradients-overflowed", "skipped a step"),
    'E/linker: library "libOpenCL.so" needed by "x.so" is not accessible for the namespace': ("no-device", "could not be loaded"),
    "Unable to determine GPU type": ("gpu-failure", "does not say which"),
    "signal (4): Illegal instruction": ("host-crash", "SIGILL"),
    "ERROR: StackOverflowError:": ("exception", "raised StackOverflowError"),
    "(app:77): GLib-CRITICAL **: 22:52:02.084: g_ref: assertion 'IS_OBJECT (o)' failed": ("host-assertion", "g_ref"),
    "[ 4.123456] WARNING: CPU: 4 PID: 9 at drivers/gpu/drm/drm_gem.c:287 drm_gem_unpin+0x5c": ("kernel-warning", "drm_gem.c:287"),
    "ERROR! clEnqueueNDRangeKernel returned CL_INVALID_WORK_GROUP_SIZE (-54)": ("invalid-work-group-size", "work-group is too large"),
    "Possible leak of type cl_mem!\n    Number of Allocations: 5\n    Number of Retains:     0\n    Number of Releases:    3": (
        "object-leak",
        "5 created, 0 retained, 3 released",
    ),
    "Oclgrind: Unable to open log file 'x'": ("oclgrind-not-started", "did not start"),
    "OCLGRIND FATAL ERROR (k.cpp:1)\nUndefined external function: f": ("oclgrind-stopped", "Undefined external function: f"),
    "iris: Failed to submit batchbuffer: Input/output error": ("device-lost", "not which work caused it"),
    "Viewer received signal 6(ABRT)": ("host-abort", "SIGABRT"),
    "Viewer received signal 11": ("host-crash", "SIGSEGV"),
    "[EGL] eglCreateSyncKHR errored out with EGL_BAD_ATTRIBUTE (0x12292)": ("status-bad-attribute", "EGL reported an error"),
    "<Critical> device.cpp:ReportLoss:627: Device loss occurred!": ("device-lost", "The device was lost"),
    "RuntimeError: The GPU device instance has been suspended.": ("device-lost", "The device was lost"),
    "\t#0 | /usr/bin/viewer(_Z9backtracev+0x48)": ("host-stack", "stack trace"),
    "X server found, dri2 link failed!": ("gpu-failure", "does not say which"),
    "NvBufInit failed with Permission denied": ("no-device", "could not be used"),
    "<sizes:67: build program : error -6>": ("out-of-host-memory", "CL_OUT_OF_HOST_MEMORY"),
    " 24: Clamp of samplers          FAILED (suite.at:264)": ("test-failed", "Clamp of samplers"),
    "Test 'Programs::links()' failed!": ("test-failed", "Programs::links()"),
    "The following tests FAILED:\n\t  4 - kernel/loops (Failed)\n\t 20 - runtime/svm (SEGFAULT)": ("test-failed", "kernel/loops"),
    "E       assert 3 == 2": ("test-failed", "assert 3 == 2"),
    "using GPU 0: GeForce\nworker: queue creation failed": ("no-device", "could not be used"),
    "VK_ERROR_DEVICE_LOST in vkQueueSubmit": ("device-lost", "The device was lost"),
    "what():  vk::Queue::submit: ErrorDeviceLost": ("device-lost", "The device was lost"),
    "UR_RESULT_ERROR_DEVICE_LOST": ("device-lost", "The device was lost"),
    "Native API returns: -5 (PI_ERROR_OUT_OF_RESOURCES)": ("status-out-of-resources", "where this was noticed"),
    "ze_event wait failed (error code = ze:1879048193)": ("status-device-lost", "ZE_RESULT_ERROR_DEVICE_LOST"),
    "OptiX call optixInit() failed with code 7804": ("status-library-not-found", "OPTIX_ERROR_LIBRARY_NOT_FOUND"),
    "hipModuleLoad returned error 303": ("shared-object-init-failed", "could not be loaded"),
    "MIOpen(HIP): Error [Run] /src/k.cpp:10: Failed to launch kernel: invalid configuration argument": (
        "invalid-configuration",
        "a grid, block",
    ),
    "GetDeviceRemovedReason failed with DXGI_ERROR_DEVICE_HUNG (0x887A0006)": (
        "device-lost",
        "did not finish its work in time",
    ),
    "Display driver nvlddmkm stopped responding and has successfully recovered.": (
        "device-lost",
        "did not finish its work in time",
    ),
    "xe 0000:03:00.0: [drm] Tile0: GT0: Timedout job: seqno=4, guc_id=5 in solver [77]": (
        "device-hang",
        "in solver (process 77)",
    ),
    "[ 12.345678] *** gpu fault: ttbr0=0 iova=00000000044c1280 dir=READ type=TRANSLATION": (
        "device-page-fault",
        "memory that is not mapped",
    ),
    "[ 1.234567] amdgpu 0000:03:00.0: Direct firmware load for amdgpu/x.bin failed with error -2": (
        "firmware-missing",
        "firmware of the device did not load",
    ),
    "[ 4.123456] NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:894)": (
        "driver-init-failed",
        "could not start the device",
    ),
    "[ 5.123456] mali ffe40000.gpu: JS: Job has been on the GPU for too long": (
        "device-hang",
        "did not finish its work in time",
    ),
    "clGetPlatformIDs returned CL_PLATFORM_NOT_FOUND_KHR": (
        "platform-not-found-khr",
        "no OpenCL driver was found".capitalize()[:3],
    ),
    "Number of platforms                               0": ("no-device", "No device was found"),
    "Unable to open /dev/kfd read-write: Permission denied": ("no-device", "The device file could not be opened"),
    'docker: could not select device driver "" with capabilities: [[gpu]].': (
        "no-device",
        "The container was started without the GPU",
    ),
    "Cannot find symbol scale in kernel library": ("symbol-missing", "the symbol scale is not defined"),
    "JIT session error: Symbols not found: [ scale ]": ("symbol-missing", "the symbol scale is not defined"),
    "1:1:56: error: use of undeclared identifier 'widht'": ("build-failed", "line 1 of the program's source"),
    "BC-src-code:4:7: error: expected ';'": ("build-failed", "line 4 of the program's source"),
    "ptxas application ptx input, line 9; error   : Unknown symbol 'f'": ("build-failed", "line 9 of the PTX"),
    "error: IGC: internal compiler error": ("compiler-crashed", "The device compiler itself failed"),
    "[rank6]:[E217 00:13:05 ProcessGroupNCCL.cpp:1484] [PG 0 Rank 6] watchdog got stuck for 480 seconds": (
        "watchdog-stuck",
        "rank 6 made no progress for 480 s",
    ),
    "node:1:2 [7] NCCL INFO init.cc:1501 -> 1": ("nccl-error", "ncclUnhandledCudaError"),
    "[opencl_blend] couldn't enqueue kernel! -38": ("invalid-mem-object", "CL_INVALID_MEM_OBJECT, -38"),
    "OpenCL Error: Invalid Program Executable when calling clEnqueueNDRangeKernel": (
        "invalid-program-executable",
        "was not built",
    ),
    "slurmstepd: error: *** JOB 4 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***": (
        "over-time",
        "longer than its limit",
    ),
    "//gpu/tests:conv_test   TIMEOUT in 900.1s": ("test-failed", "ran out of time"),
    "RuntimeError: MPS backend out of memory (MPS allocated: 9.0 GB, max allowed: 9.1 GB). Tried to allocate 1.5 GB": (
        "out-of-memory",
        "1.5 GB",
    ),
    "错误：cudaErrorIllegalAddress，请问怎么解决": ("illegal-address", "cudaErrorIllegalAddress, 700"),
    "오류RuntimeError: CUDA error: misaligned address가 발생합니다": ("misaligned-address", "716"),
    "エラーCUDA_ERROR_LAUNCH_FAILEDが出ます": ("launch-failure", "719"),
    "Me sale este error: CL_OUT_OF_RESOURCES al ejecutar clFinish": ("out-of-resources", "noticed"),
}


@pytest.mark.parametrize("line", KNOWN)
def test_recognised_without_being_listed(line: str) -> None:
    kind, said = KNOWN[line]
    found = first(f"before\n{line}\nafter\n")
    assert found.id == f"log-{kind}", found.message
    assert said in found.message
    assert found.message.count(". ") == 0, "one sentence"
    assert all(cause in every_cause() for cause in found.causes)


STICKY = [
    *(f"CUDA error {code} in cudaFree(p) at a.cu:7" for code in (700, 702, 710, 714, 715, 716, 717, 718, 719, 999)),
    "hipFree(p) failed: hipErrorLaunchFailure",
    "clReleaseMemObject failed: CL_OUT_OF_RESOURCES",
    "clEnqueueNDRangeKernel failed: CL_INVALID_COMMAND_QUEUE",
    "clEnqueueReadBuffer returned -9999 (OpenCL error)",
    "vkDestroyBuffer: VK_ERROR_DEVICE_LOST",
    "zeMemFree returned ZE_RESULT_ERROR_DEVICE_LOST",
    "urQueueFinish failed with UR_RESULT_ERROR_OUT_OF_RESOURCES",
    "ID3D12Resource::Map failed with DXGI_ERROR_DEVICE_REMOVED",
    "optixLaunch failed: OPTIX_ERROR_LAUNCH_FAILURE",
    "========= COMPUTE-SANITIZER\n========= Program hit cudaErrorLaunchFailure (719) on CUDA API call to cudaFree\n"
    "=========     Host Frame: main [0x1] in app\n=========\n========= ERROR SUMMARY: 1 error",
    "<<<< clFinish -> CL_OUT_OF_RESOURCES",
    "Oclgrind - OpenCL runtime error detected\n\tFunction: clFinish\n\tError:    CL_OUT_OF_RESOURCES",
]


@pytest.mark.parametrize("text", STICKY)
def test_the_call_that_returns_a_sticky_error_is_not_the_cause(text: str) -> None:
    told = explained(text)
    assert told.findings
    for entry in told.diagnosis:
        assert entry.status == "inconclusive" and entry.cause in ("device-error-reported", "hang"), entry.summary
    assert all((one.written and one.written.role == "report") or one.severity == "info" for one in told.findings)


def test_a_refused_call_is_still_blamed() -> None:
    assert explained("CUDA error 1 in cudaMemcpy(d, s, n) at a.cu:7").diagnosis[0].status == "likely"
    sanitizer = (
        '========= COMPUTE-SANITIZER\n========= Program hit cudaErrorInvalidValue (error 1) due to "invalid argument" on CUDA API '
        "call to cudaMemcpy.\n"
        "=========     Host Frame: main [0x1] in app\n=========\n========= ERROR SUMMARY: 1 error\n"
    )
    (entry,) = explained(sanitizer).diagnosis
    assert (entry.status, entry.cause) == ("likely", "failed-call")


QUIET = """
[    1.234567] amdgpu 0000:03:00.0: amdgpu: SMU is initialized successfully!
[    1.234567] i915 0000:00:02.0: [drm] GuC firmware i915/adlp_guc_70.bin version 70.5.1
[    1.234567] nvidia 0000:01:00.0: enabling device (0000 -> 0003)
[    1.234567] [drm] Initialized panfrost 1.0.0 for ffa30000.gpu on minor 3
step 120 loss 0.11 error 0.0023 grad_norm 1.1
validation error: 0.031
Build finished: 0 errors, 0 warnings
kernel build cache: 12 programs loaded
Found 2 CUDA devices
Number of platforms  1
device lost callback registered
INFO CUDA error handling enabled
cuda error checking is on
expected loss 0.25, got 0.251 within tolerance
0 GPU kernels failed to launch
nanoseconds per launch: 812
kernel queue depth 12, buffer 4
Running kernel build tests
[ RUN      ] Copies.Small
[       OK ] Copies.Small (3 ms)
//gpu/tests:conv_test   PASSED in 3.1s
srun: job 7 queued and waiting for resources
srun: job 7 has been allocated resources
exit code 0
NCCL INFO init.cc:1501 -> 0
NCCL INFO Channel 00/02 : 0 1 2 3
process exited with status 0
TdrDelay is set to 60
ZE_RESULT_SUCCESS
    if (result == VK_ERROR_DEVICE_LOST) recreate();
    case UR_RESULT_ERROR_DEVICE_LOST: return "device lost";
"""


@pytest.mark.parametrize("line", [line for line in QUIET.split("\n") if line])
def test_lines_of_a_healthy_run(line: str) -> None:
    assert [one.message for one in findings(f"{line}\n") if one.severity == "error"] == []
    assert [one.message for one in findings(f"{line}\n")] == []


def test_what_nobody_knows_is_shown_as_such() -> None:
    told = explained("hello\nERROR: the widget exploded at 7\nERROR: the widget exploded at 8\n")
    (found,) = told.findings
    assert (found.id, found.severity, found.count) == ("log-not-understood", "warning", 2)
    assert not told.diagnosis and "No known message in 3 lines" in told.outcome.summary


def test_strange_lines_are_left_out_beside_known_ones() -> None:
    told = explained("ERROR: the widget exploded\nCUDA error: misaligned address\n")
    assert [one.id for one in told.findings] == ["log-misaligned-address"]


# ---- what the log says itself


def test_rank_step_test_and_operation_are_kept() -> None:
    text = (
        "[ RUN      ] Rows.Add\nloading llama-8b-q4.gguf\nstep 120 ok\nggml_cuda_compute_forward: MUL_MAT_ID failed\n"
        "CUDA error: misaligned address\n  current device: 1, in function ggml_cuda_compute_forward at /b/ggml-cuda.cu:99\n  "
        "cudaGetLastError()\n"
    )
    notes = " ".join(one.text for one in first(text).evidence)
    for part in ("device 1", "operation MUL_MAT_ID", "test Rows.Add", "step 120", "model llama-8b-q4.gguf"):
        assert part in notes


def test_nothing_is_invented_about_the_place() -> None:
    assert not any("the log places it" in one.text for one in first("CUDA error: misaligned address\n").evidence)


# ---- next steps


def steps(text: str) -> str:
    return _next(first(text))


def test_next_steps_have_the_command_of_the_log() -> None:
    error = "CUDA error: misaligned address at a.cu:1\n"
    assert steps(f"$ ./solve --n 5 2>&1 | tee log\n{error}") == "gpudx run --serialise --stacks -- ./solve --n 5"
    assert steps(f"user@host:~/x$ CUDA_VISIBLE_DEVICES=1 python train.py\n{error}") == (
        "CUDA_VISIBLE_DEVICES=1 gpudx run --serialise --stacks -- python train.py"
    )
    assert steps(f"+ make all\n$ dmesg\n{error}") == "gpudx run --serialise --stacks -- ./app"


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("     Running `target/debug/deps/gpu-1f2e --nocapture`", "target/debug/deps/gpu-1f2e --nocapture"),
        ('1: Test command: /b/tests/copy_test "--gtest_filter=A"', '/b/tests/copy_test "--gtest_filter=A"'),
        ("# executed command: env A=1 /b/x.out", "env A=1 /b/x.out"),
        ("PS C:\\work> .\\app.exe -n 4", ".\\app.exe -n 4"),
        ("$ git pull", ""),
        ("I paid 5 $ for this", ""),
        ("> quoted text", ""),
    ],
)
def test_commands(line: str, command: str) -> None:
    assert command_in(line) == command


def test_next_steps_fit_the_system() -> None:
    windows = "C:\\work>app.exe\nCUDA error: misaligned address at C:\\work\\a.cu:1\n"
    assert steps(windows) == "set CUDA_LAUNCH_BLOCKING=1&& app.exe"
    android = "F/libc    (77): Fatal signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x18 in tid 7\n"
    assert steps(android).startswith("adb ")
    assert steps("C:\\x>app.exe\nclFinish failed: CL_OUT_OF_RESOURCES\n").startswith("wevtutil "), "no switch of another interface"
    assert "gpudx" not in fit("gpudx doctor -v", system="macos")


def test_next_steps_fit_the_interface_and_the_failure() -> None:
    assert "VK_LAYER_KHRONOS_validation" in steps("vkQueueSubmit: VK_ERROR_OUT_OF_DEVICE_MEMORY")
    flaky = "$ pytest -q\n9 passed in 1.00s\n$ pytest -q\n9 failed in 1.10s\n"
    assert any(_next(one).startswith("gpudx flake -- pytest") for one in findings(flaky))
    race = (
        "Write-write data race at global memory address 0x1000\n\tKernel: sum\n\tFirst entity:  "
        "Global(1,0,0) Local(1,0,0) Group(0,0,0)\n"
    )
    assert "--sanitize" in steps(race)


# ---- Oclgrind


OCLGRIND = {
    "Invalid read of size 4 at global memory address 0x0": (
        "null-pointer",
        "reads 4 bytes of global memory out of bounds",
    ),
    "Invalid write of size 8 at local memory address 0x1000000000040": (
        "out-of-bounds-access",
        "writes 8 bytes of local memory",
    ),
    "Read-write data race at local memory address 0x1000000000000": (
        "race-in-kernel",
        "has a read-write race in local memory",
    ),
    "Index (4) exceeds static array size (4)": ("out-of-bounds-access", "uses index 4 of an array with 4 elements"),
    "Invalid read from write-only buffer": ("", "reads a buffer that was created as write-only"),
    "Invalid write to read-only buffer": ("", "writes a buffer that was created as read-only"),
    "Invalid read from buffer mapped for writing": ("buffer-used-while-mapped", "while the host has it mapped for writing"),
    "Invalid write to mapped buffer": ("buffer-used-while-mapped", "while the host has it mapped"),
    "Invalid memory load - source pointer is not aligned to the pointed type": (
        "misaligned-access",
        "does a load at an address",
    ),
    "Invalid pointer cast - destination pointer is not aligned to the pointed type": ("misaligned-access", "casts a pointer"),
    "Invalid write of size 4 at global memory address 1000000000010": ("out-of-bounds-access", "writes 4 bytes"),
    "Unaligned address on atomic_add": ("misaligned-access", "unaligned address"),
    "Uninitialized value written to global memory address 0x1000000000000": (
        "read-before-write",
        "writes an uninitialized value",
    ),
    "Uninitialized address used to read from global memory address 0x1000": ("read-before-write", "as an address"),
    "Controlflow depends on uninitialized value": ("read-before-write", "branches on an uninitialized value"),
    "Instruction depends on an uninitialized index value": ("read-before-write", "as an index"),
    "Work-group divergence detected (barrier)": ("barrier-misuse", "not all work-items"),
    "Work-group divergence detected (async copy)": ("barrier-misuse", "asynchronous copy"),
    "Work-item finished without waiting for events": ("unordered-access", "without waiting"),
    "Invalid wait event": ("barrier-misuse", "event"),
    "Undefined behaviour due to an arithmetic exception": ("division-by-zero", "divides by zero"),
}


@pytest.mark.parametrize("line", OCLGRIND)
def test_every_message_of_oclgrind(line: str) -> None:
    cause, said = OCLGRIND[line]
    text = (
        f"\n{line}\n\tKernel: fold\n\tEntity: Global(3,0,0) Local(3,0,0) Group(0,0,0)\n\t  store i32 "
        f"1\n\tAt line 9 (column 4) of input.cl:\n\t  a[i] = 1;\n"
    )
    found = first(text)
    assert found.written and found.written.format == "oclgrind"
    assert said in found.message and "input.cl:9" in found.message and found.message.startswith("fold ")
    assert (found.causes or ("",))[0] == cause


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[Oclgrind] Failed to launch target application", "did not start: Failed to launch target application."),
        ("[Oclgrind] initialization failed: 3", "did not start: initialization failed: 3."),
        ("[Oclgrind] target application is 32-bit", "did not start: target application is 32-bit."),
        ("[Oclgrind] Error while 'loading DLL':", "did not start: Error while 'loading DLL'."),
        ("Loading Oclgrind plugin failed (dlopen): fold.so: no such file", "continued without a plugin"),
    ],
)
def test_what_oclgrind_says_about_itself(line: str, said: str) -> None:
    assert said in first(line).message


def test_oclgrind_refuses_a_call_for_the_reason_that_it_gives() -> None:
    refused = "Oclgrind - OpenCL runtime error detected\n\tFunction: clEnqueueNDRangeKernel\n\tError:    CL_OUT_OF_RESOURCES\n"
    with_reason = explained(f"{refused}\ttotal local memory size (40000) exceeds device maximum of 32768\n").diagnosis[0]
    assert (with_reason.cause, with_reason.status) == ("launch-refused", "likely")
    assert explained(refused).diagnosis[0].cause == "device-error-reported"


def test_fatal_errors_of_oclgrind() -> None:
    text = "\nOCLGRIND FATAL ERROR (./src/core/WorkItem.cpp:1)\nUndefined external function: scale\nWhen creating kernel 'fold'\n"
    assert first(text).message == "Oclgrind stopped the simulation of fold: Undefined external function: scale."


# ---- AMD's runtime log


LAUNCH = (
    ":3:rocvirtual.cpp           :723 : 4 us: [pid:7 tid:0x7] Arg2:   = ptr:0x7f0000001000 obj:[0x7f0000001000-0x7f0000002000]\n"
    ":3:rocvirtual.cpp           :3016: 5 us: [pid:7 tid:0x7] ShaderName : _Z4foldPf\n"
    ":4:rocvirtual.cpp           :862 : 6 us: [pid:7 tid:0x7] HWq=0x1, Dispatch Header = 0xb02 (type=2), setup=3, grid=[4096, 1, 1], "
    "workgroup=[256, 1, 1], x=0\n"
)


def test_a_runtime_log_without_a_failure_names_the_last_launch() -> None:
    (found,) = findings(LAUNCH)
    assert found.severity == "info"
    assert (
        found.message
        == "The log of AMD's runtime has 1 launch; the last is fold (4096x1x1 work-items, work-group 256x1x1)."
    )


def test_arguments_and_kernels_with_their_types() -> None:
    launch = LAUNCH.replace("Arg2:   = ", "Arg2: const float* in = ").replace("_Z4foldPf", "fold(float const*, int)")
    fault = "Memory access fault by GPU node-1 (Agent handle: 0x5) on address 0x7f0000002000. Reason: Page not present.\n"
    far = "Memory access fault by GPU node-1 (Agent handle: 0x5) on address 0x7e0000002000. Reason: Page not present.\n"
    said = "argument 2 (const float* in) of fold(float const*, int) points to"
    assert any(said in one.message for one in findings(launch + fault))
    assert not any("argument" in one.message for one in findings(launch + far))


def test_the_argument_next_to_a_fault() -> None:
    text = (
        LAUNCH
        + "Memory access fault by GPU node-1 (Agent handle: 0x5) on address 0x7f0000002000. Reason: Page not present.\n"
    )
    told = explained(text)
    assert any(
        "right past the end of the object (4,096 bytes) that argument 2 of fold points to" in one.message
        for one in told.findings
    )
    assert all(entry.status == "inconclusive" for entry in told.diagnosis), "the nearest argument proves no launch"
    far = (
        LAUNCH
        + "Memory access fault by GPU node-1 (Agent handle: 0x5) on address 0x600000000000. Reason: Page not present.\n"
    )
    assert not any("argument" in one.message for one in findings(far))


# ---- several logs


def joined(**logs: str) -> Explained:
    return explain([read_log(name, [text.encode()]) for name, text in logs.items()])


def test_faults_at_different_addresses_are_not_joined() -> None:
    app = "Memory access fault by GPU node-1 (Agent handle: 0x5) on address 0x7f0000002000. Reason: Page not present.\n"
    kernel = (
        "amdgpu 0000:0a:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:3)\namdgpu "
        "0000:0a:00.0: amdgpu:   in page starting at address {} from client 10\n"
    )
    same = joined(app=app, dmesg=kernel.format("0x00007f0000002000"))
    other = joined(app=app, dmesg=kernel.format("0x00007faaaaaaa000"))
    assert sum(one.severity == "error" for one in same.findings) == 1
    assert sum(one.severity == "error" for one in other.findings) == 2
    assert any("same address 0x7f0000002000" in one.text for one in same.diagnosis[0].evidence)


def test_ranks_are_named() -> None:
    told = joined(
        rank0="[rank0]: RuntimeError: CUDA error: an illegal memory access was encountered\n",
        rank1="[rank1]:[E ProcessGroupNCCL.cpp:1] [Rank 1] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1) ran for 600100 milliseconds before timing out.\n",
    )
    assert any("rank 0 is the first" in one.text for entry in told.diagnosis for one in entry.evidence)


def _next(finding: Finding) -> str:
    return finding.written.next if finding.written else ""


def test_a_session_of_cuda_gdb_names_kernel_line_and_thread() -> None:
    text = """[Current focus set to CUDA kernel 0, grid 6, block (8,0,0), thread (32,0,0), device 0, sm 0, warp 0, lane 0]

CUDA Exception: Warp Illegal Address
The exception was triggered at PC 0x7fc63f7a0d60  scale_rows(float*, unsigned int)  (rows.cu:9)
#0  0x00007fc63f7a18a0 in scale_rows<<<(128,1,1),(256,1,1)>>> () at /src/rows.cu:12
"""
    found = first(text)
    assert found.message.startswith("The kernel scale_rows (grid 128,1,1, block 256,1,1) faulted on the device at rows.cu:9: ")
    assert any("in thread (32,0,0) of block (8,0,0)" in one.text for one in found.evidence)


def test_a_part_that_the_program_does_without_is_no_failure() -> None:
    text = "NVIDIA NVML library not found, temperature monitoring is disabled.\nCUDA error: the launch timed out and was terminated\n"
    assert [one.id for one in findings(text) if one.severity == "error"] == ["log-launch-timeout"]


def test_a_build_on_the_command_line_has_no_program_to_run() -> None:
    text = "C:\\x\\include\\crt/host_config.h(153): fatal error C1189: #error: old compiler; may cause compilation failure\n"
    assert steps(text) == "nvcc --version"
