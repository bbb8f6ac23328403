"""Debugger sessions, shells in other languages, firmware, build tools and test runners in logs. All lines are made up."""

from __future__ import annotations

import pytest
from test_logs import explained, findings

from gpudx.evidence.logs._fold import read_log
from gpudx.evidence.logs._program import command_in
from gpudx.model import Finding

# Each log, the kind of its first event, and a part of what is said.
KNOWN = {
    # debuggers
    "[Switching focus to CUDA kernel 2, grid 9, block (3,0,0), thread (32,0,0), device 0, sm 1, warp 0, lane 0]\n"
    "fold_rows () at /src/fold.cu:41\n41   while (done < rows) {": ("debugger-focus", "is in fold_rows at src/fold.cu:41"),
    "[agent]:\nMemory access fault at GPU Node: 1\nAddress: 0x7f10axxx (page not present;)": ("rocm-memory-fault", "0x7f10a000"),
    "Memory critical error by agent node-2 (Agent handle: 0x55) on address 0x7f0000. Reason: Memory in use.": (
        "rocm-memory-error",
        "memory in use",
    ),
    # how shells and services report the end of a process
    "段错误 (核心已转储)": ("host-crash", "SIGSEGV"),
    "run.sh: 行 7: 4411 非法指令 (核心已转储) ./solver": ("host-crash", "SIGILL"),
    "已放弃 (核心已转储)": ("host-abort", "SIGABRT"),
    "セグメンテーション違反です (コアダンプ)": ("host-crash", "SIGSEGV"),
    "세그멘테이션 오류 (코어 덤프됨)": ("host-crash", "SIGSEGV"),
    "Violación de segmento (`core' generado)": ("host-crash", "SIGSEGV"),
    "Abortado (`core' generado)": ("host-abort", "SIGABRT"),
    "Speicherzugriffsfehler (Speicherabzug geschrieben)": ("host-crash", "SIGSEGV"),
    "[771] signal (6.-6): Aborted\nin expression starting at REPL[3]:1": ("host-abort", "SIGABRT"),
    "h systemd-coredump[99]: Process 77 (solver) of user 1000 dumped core.\n\n Stack trace of thread 77:\n"
    " #0  0x00007f6d raise (libc.so.6 + 0x38f91)\n #1  0x00007f6e abort (libc.so.6 + 0x22537)": ("host-abort", "solver (process 77)"),
    "Process 77 (solver) of user 1000 dumped core.\n #0  0x00007f6d n/a (libcuda.so.1 + 0x38f91)": ("host-crash", "solver (process 77)"),
    "           PID: 12398 (viewer)\n        Signal: 11 (SEGV)\n  Command Line: viewer": ("host-crash", "SIGSEGV"),
    "fold error: Could not load C:\\Program Files\\ROCm\\rocblas/library/Fold_gfx1103.dat": ("part-missing", "was not found"),
    "Fatal Python error: init_codec: no codec was found": ("python-fatal", "init_codec"),
    "libc++abi: terminating due to uncaught exception of type std::out_of_range: key not found": ("cpp-terminated", "out_of_range"),
    "gpu-plugin-5crlk       0/1     CrashLoopBackOff   12         40m": ("process-ended", "restarted gpu-plugin-5crlk 12 times"),
    ":0: : Device-side assertion `bounds error' failed.": ("device-assertion", "An assertion in a kernel failed: bounds error"),
    "Fold.cu:112: block: [0,0,0], thread: [3,0,0] Assertion `input[0] != 0` failed.": ("device-assertion", "Fold.cu:112"),
    "  Could not build OpenCL program, error was Unknown OpenCL error: -9999": ("build-failed", "A kernel was not built"),
    "The Kernel crashed while executing code in the current cell or a previous cell.": ("process-ended", "a notebook ended"),
    "viewer.exe caused an Access Violation at location 00007FFA9B3D458E in module igdrcl64.dll": ("host-crash", "inside a GPU driver"),
    "../fold/src/context.cpp:101: void Data::remove(): Assertion it != end() && \"not registered\"' failed.": (
        "host-assertion",
        "src/context.cpp:101",
    ),
    "RuntimeError: status != cudaStreamCaptureStatus::cudaStreamCaptureStatusInvalidated": ("exception", "raised RuntimeError"),
    "1 failed, 0 passed.": ("test-failed", "1 test failed"),
    "Can not open OpenCL library on this device - undefined symbol: clFoldKHR": ("symbol-missing", "A library could not be loaded"),
    "fold.NotSupportedError: [cudnn] Error: No execution plans built successfully.": ("call-refused", "not supported"),
    # drivers
    "[ 4.212601] amdgpu 0000:03:00.0: [drm:fold_tests [amdgpu]] *ERROR* IB test failed on comp_1.0.1 (-110).": ("device-hang", "in time"),
    "xe 0000:03:00.0: [drm] *ERROR* GT0: GuC mmio request 0x4509: failure 0x306": ("firmware-error", "firmware on the device failed"),
    "xe 0000:83:00.0: [drm] Tile0: GT0: Fault response: Unsuccessful -ENOENT": ("device-page-fault", "not mapped"),
    "[ 6.085873] xe 0000:00:02.0: [drm] *ERROR* Tile0: GT0: wa_job failed (-ETIME) guc_id=2": ("device-hang", "in time"),
    "h kernel: GSP task watchdog timeout @ pc:0x1250c5c, partition:2#0, task:3": ("device-hang", "in time"),
    "NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (Reset)": ("xid-154", "recover"),
    "[ 879.103728] nouveau 0000:27:00.0: gr: TRAP_MP - TP3: 000000cc [STACK_LIMIT]": ("device-fault", "work on the device failed"),
    "[ 689.608430] nouveau 0000:02:00.0: fifo: SCHED_ERROR 08 []": ("driver-error", "(nouveau)"),
    "[ 12.919139] MTGPU: 550: * MMU status (0x0315): Reading from 0x83E9D03400, Fault (Page Table).\n"
    "[ 12.919572] MTGPU: 550:   Recovery 1: Core = 1, PID = 210, Guilty Lockup": ("device-page-fault", "in process 210"),
    "[ 24.925037] MTGPU:(Error): 5:  PID 174 experienced error Guilty Lockup (0x1)": ("device-hang", "in process 174"),
    "h kernel: NVRM: kflcnCoreDumpNondestructive_IMPL: PRI: riscvCpuctl : 00000180": ("firmware-error", "firmware on the device failed"),
    "request to query NVSwitch device information from NVSwitch driver failed with error": ("gpu-failure", "NVSwitch"),
    "RuntimeError: MMU fault: 0x7D9A2A620000 | NotPresent=1 ReadOnly=0": ("device-fault", "must not access"),
    "[0]PETSC ERROR: Floating point exception\n[0]PETSC ERROR: Infinite or not-a-number generated in norm": (
        "result-not-finite",
        "NaN or infinite values",
    ),
    "ERROR: out of memory in /src/acc/fold.h at line 74 (error-code 2)\nin: /src/acc/cuda/settings.h, line 65": (
        "memory-refused",
        "An allocation was refused",
    ),
    "W x/asm_compiler.cc:111] You are using ptxas 11.0.221, which is older than 11.1. It is known to miscompile code, leading to "
    "incorrect results or invalid-address errors.": ("program-versions", "Two versions do not fit together"),
    "{gpu}: cuda_module.cc(2664):Could not retrieve symbol cuFold = 500(CUDA_ERROR_NOT_FOUND): symbol not found": (
        "part-missing",
        "was not found",
    ),
    "Failed to write to plot with error 5:\n./fold(+0xcf8cb)[0x55a6a165d8cb]\n./fold(+0xcf0af)[0x55a6a165d0af]": (
        "host-stack",
        "after this line: Failed to write to plot with error 5.",
    ),
    "step 7 done\n./fold(+0xcf8cb)[0x55a6a165d8cb]\n./fold(+0xcf0af)[0x55a6a165d0af]": ("host-stack", "without the reason"),
    "[326] #0  0x00007fffe4af274f in wait4 () from /lib64/libc.so.6\n[326] #1  0x00007ff0 in fold () from /lib64/libc.so.6": (
        "host-stack",
        "without the reason",
    ),
    "backtrace:\n  #00  pc 0x0000000000096080  /apex/lib64/bionic/libc.so (abort+172)\n"
    "  #06  pc 0x00000000000211b4  /vendor/lib64/libadreno_app_profiles.so (Fold+412)": ("host-crash", "frames of an Android crash"),
    # peers
    "NIR validation failed after nir_fold": ("compiler-crashed", "compiler itself failed: NIR validation failed after nir_fold."),
    "Build Status: CL_BUILD_ERROR": ("build-failed", "A build step failed"),
    "ROCk module is NOT loaded, possibly no GPU devices": ("no-device", "The AMD driver is not loaded"),
    ":1:hip_fatbin.cpp :259 : 9 us: [pid:1 tid:0x1] Cannot find CO in the bundle for ISA: amdgcn-amd-amdhsa--gfx1103": (
        "code-object-missing",
        "no device code for gfx1103",
    ),
    "MIOpen(HIP): Error [FoldImpl] Code object build failed": ("build-failed", "MIOpen did not build a kernel: Code object build failed."),
    # test runners and build tools
    "Test #47: conv_gemm ...........Subprocess aborted***Exception: 0.45 sec": ("test-failed", "conv_gemm failed (Subprocess aborted)"),
    "    //gpu/kernels:fold_test                  FAILED in 15.5s": ("test-failed", "gpu/kernels:fold_test"),
    'FAIL [expected PASS] subtest: :stage="submit";lost=false': ("test-failed", ':stage="submit"'),
    "        FAIL [   0.308s] " + "renderer " * 14 + "shadows": ("test-failed", "renderer renderer"),
    "(check) Error for vector size 1 found at 0x00000010: *0x8c7f0aac vs 0xffffffff": ("result-differs", "wrong result"),
    "error: command '/usr/local/cuda/bin/nvcc' failed with exit status 1": ("build-step-failed", "nvcc reported an error"),
    "  × python setup.py bdist_wheel did not run successfully.": ("build-step-failed", "python setup.py bdist_wheel"),
    "python: symbol lookup error: /opt/libfold.so.8: undefined symbol: fold_open, version libbase.so.8": (
        "symbol-missing",
        "A library could not be loaded",
    ),
    "Running test: foldRows      ........  [FAILED]": ("test-failed", "The test foldRows failed"),
    "Test ran: 5, Failed: 4": ("test-failed", "4 tests failed"),
    'ERROR: step "Building kernel modules" failed. See /var/log/nvidia-installer.log': ("driver-not-installed", "Linux driver"),
    "[188497.595099] NVRM: No NVIDIA graphics adapter probed!": ("driver-init-failed", "could not start the device"),
    # devices and calls
    "provider.cc(520)!00007FFBDAE7F9B9: Exception(1) tid(93ac) 887A0004 not supported": ("status-unsupported", "DXGI_ERROR_UNSUPPORTED"),
    "# A fatal error has been detected by the Java Runtime Environment:\n#  SIGSEGV (0xb) at pc=0x00007f90, pid=5495\n"
    "# Problematic frame:\n# C  [pipe_fold.so+0xf3343]": ("host-crash", "inside a GPU driver"),
    "thread 'main' panicked at\nfold-gpu\\src\\stream.rs:404:18:\ncalled `Option::unwrap()` on a `None` value": (
        "rust-panic",
        "src/stream.rs:404: called `Option::unwrap()`",
    ),
    "Not found opencl platforms with suitable GPUs.": ("no-device", "No device was found"),
    "ERROR: dense fold requires CUDA, which is not available on your system.": ("no-device", "No device was found"),
    "GPU 0 could not be initialized for tuning": ("no-device", "could not be used"),
    "CUDA error DRIVER: '999' in func 'fold' line 978": ("unknown", "does not say how"),
    "com.example.CudaException: unknown error": ("unknown", "does not say how"),
    "=>Result (INVALID_KERNEL_ARGS) - Exception (INVALID_KERNEL_ARGS)": ("invalid-kernel-args", "never set"),
    "E0127 03:41:58.168505 64850 client.cc:2766] Execution of replica 0 failed: custom call 'gpu.gemm' failed": (
        "launch-failed",
        "earlier work may have caused it",
    ),
    "[gpu] failed to create texture for tile 4": ("object-not-created", "could not be created"),
    "[TRT] Internal Error (Could not find any implementation for node fold.)": ("call-refused", "not supported"),
    "gpu_host: The GPU process died due to out of memory.": ("process-ended", "early"),
    "error: Failures have been detected while processing an MLIR pass pipeline\nnote: Pipeline failed while executing [`Fold`]": (
        "build-failed",
        "A build step failed",
    ),
    "this is viewer 3.2 reporting a segfault:\n#0  0x00007fd7 in fold () at /usr/lib/libfold.so": ("host-crash", "SIGSEGV"),
    "&&&& FAILED Suite.fold [v9200] # ./fold --fp16": ("test-failed", "Suite.fold"),
    "Failed Tests :\n  SUITE :: Basic/fold.cpp\n": ("test-failed", "SUITE :: Basic/fold.cpp"),
    "推理报错 段错误 (核心已转储)": ("host-crash", "SIGSEGV"),
    "[0917/153526:ERROR:decoder.cc(4877)] GL ERROR :GL_OUT_OF_MEMORY : glFold": ("status-out-of-memory", "in decoder.cc:4877"),
    "Unable to load cuFFT. Is it installed?": ("part-missing", "was not found"),
}


def first(text: str) -> Finding:
    return findings(text)[0]


@pytest.mark.parametrize(("text", "expected"), KNOWN.items(), ids=[text[:40] for text in KNOWN])
def test_the_line_is_understood(text: str, expected: tuple[str, str]) -> None:
    kind, said = expected
    found = first(text)
    assert (found.id, said in found.message) == (f"log-{kind}", True), found.message


QUIET = (
    'PASS [expected TIMEOUT] subtest: :stage="finish";lost=true',
    "[ 9.123456] amdgpu 0000:01:00.0: [drm] Cannot find any crtc or sizes",
    "suite done: 12 passed, 0 failed",
    "アプリを強制終了しました",
    "[ 3.103728] nouveau 0000:27:00.0: gr: trapezoid filter enabled",
    "[ 3.919139] MTGPU: 550: MMU status ok, reading from 0x83E9D03400",
    "test result: ok. 219 passed; 0 failed; 1 ignored",
    "ROCk module is loaded",
    "Build Status: CL_BUILD_SUCCESS",
    "NIR validation passed",
    "========= my own banner =========",
)


@pytest.mark.parametrize("text", QUIET)
def test_nothing_is_claimed_about(text: str) -> None:
    assert not findings(text)


def test_a_question_about_a_crash_is_no_crash() -> None:
    assert all(one.id == "log-not-understood" for one in findings("请问出现段错误怎么解决"))


def test_a_list_of_possible_causes_is_no_crash() -> None:
    text = (
        "The actor died unexpectedly. There are some potential root causes. (1) The process is killed by SIGKILL by the OOM killer. "
        "(2) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors."
    )
    assert [one.id for one in findings(text)] == ["log-process-ended"]
    assert "SIG" not in first(text).message


def test_the_focus_of_a_session_with_an_exception_is_not_told_twice() -> None:
    text = (
        "CUDA Exception: Warp Out-of-range Address\n[Switching focus to CUDA kernel 6, grid 11, block (0,0,0), thread (0,6,0), device 0]\n"
        "0x0000000000c8c6a0 in void fold<float>(State&)<<<(80,64,1),(16,16,1)>>> ()\n"
    )
    assert [one.id for one in findings(text)] == ["log-device-exception"]


def test_the_name_of_an_error_counts_more_than_its_headline() -> None:
    text = 'Error executing function: clEnqueueNDRangeKernel("fold")\n\nStatus error code: CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)\n'
    assert [one.id for one in findings(text)] == ["log-mem-object-allocation-failure"]


def test_what_a_program_calls_information_is_a_warning() -> None:
    text = "I0201 20:55:23.414112 18988 device.cpp:53] CUEW initialization failed: Error opening the library"
    assert first(text).severity == "warning"


def test_a_library_that_is_found_under_another_name_is_no_failure() -> None:
    text = "[opencl] could not find opencl runtime library 'libFold'\n[opencl] found opencl runtime library 'libFold.so.1'\n"
    assert all(one.severity == "warning" for one in findings(text))


def test_a_number_beside_cuda_is_explained() -> None:
    notes = [one.text for one in first("failed to initialise cuda, error code 35").evidence]
    assert any("35 is an error of CUDA" in note for note in notes)


def test_later_calls_after_a_sticky_error_are_not_blamed() -> None:
    told = explained("runner stopped: CUDA error: unspecified launch failure\nFailed to load module for fold\n")
    assert all(one.status == "inconclusive" for one in told.diagnosis)


def test_lines_of_a_driver_that_mean_nothing_are_read_by_nobody() -> None:
    log = read_log("dmesg", [b"[ 9.123456] amdgpu 0000:01:00.0: [drm] Cannot find any crtc or sizes\n"])
    assert not log.told


COMMANDS = {
    "python train.py --batch 32": "python train.py --batch 32",
    "CUDA_VISIBLE_DEVICES=0 python run.py --lr 1e-3 data/x": "CUDA_VISIBLE_DEVICES=0 python run.py --lr 1e-3 data/x",
    "$ compute-sanitizer --tool racecheck ./fold 8 2>&1 | tee log": "./fold 8",
    "python train.py failed with an error": "",
    './bin/infer --model m.gguf --prompt "Hi" 2>&1 | tee run.log': './bin/infer --model m.gguf --prompt "Hi"',
    "**Command**: `compute-sanitizer --tool memcheck fold.py`": "python fold.py",
    "+++ b/bench/build.py": "",
    "./bin/infer writes its results to a file 2>&1": "",
    "./fold.cu(30): error: expected a ;": "",
}


@pytest.mark.parametrize(("text", "command"), COMMANDS.items())
def test_the_command_of_a_line(text: str, command: str) -> None:
    assert command_in(text) == command


def test_one_line_of_logcat_is_of_android() -> None:
    log = read_log("logcat", [b"05-01 12:00:00.123  1234  1234 E tflite  : Failed to create OpenCL context: CL_INVALID_VALUE\n"])
    assert log.system == "android"


def test_pytorchs_advice_is_quoted_only_where_the_log_has_it() -> None:
    without = first("RuntimeError: CUDA error: an illegal memory access was encountered\n")
    assert not any("PyTorch says itself" in one.text for one in without.evidence)


def test_runs_of_the_same_tests_that_passed_and_failed() -> None:
    text = "Run 1: FAILED. 214 passed; 5 failed\nRun 2: ok. 219 passed; 0 failed\n"
    (entry,) = explained(text).diagnosis
    assert entry.cause == "order-or-timing" and "the same 219 tests" in entry.summary and "gpudx flake" in entry.fix[0]
    other = "test result: FAILED. 14 passed; 5 failed; 0 ignored\ntest result: ok. 219 passed; 0 failed; 0 ignored\n"
    assert not explained(other).diagnosis, "two programs of a workspace"


REST = "=========     at 0xbd0 in fold(int *)\n=========     by thread (0,0,0) in block (0,1,0)\n"


def test_a_sanitizer_record_whose_first_line_lost_its_mark() -> None:
    found = findings(f"Invalid __global__ write of size 4 bytes\n{REST}")
    assert [one.message for one in found if one.severity == "error"] == ["fold writes 4 bytes of global memory out of bounds."]
    (entry,) = explained(f"Out-of-range shared or local address\n{REST}").diagnosis
    assert entry.cause == "out-of-bounds-access" and "fold raises an exception (Out-of-range shared" in entry.summary
    (entry,) = explained(f"my program says hello\n{REST}").diagnosis
    assert entry.cause == "device-exception" and "hello" not in entry.summary


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Uninitialized __global__ memory read of size 4 bytes", "fold reads 4 bytes of uninitialized global memory."),
        ("Barrier error detected. Divergent thread(s) in warp.", "fold uses a barrier wrongly (Barrier error detected: Divergent"),
        ("Trace/breakpoint trap", "fold executes a trap instruction."),
        ("Malloc/Free error encountered : Double free", "fold uses the device's heap wrongly (Malloc/Free error"),
        ("Stack overflow", "fold raises an exception (Stack overflow)."),
    ],
)
def test_sanitizer_records_are_sentences(line: str, said: str) -> None:
    (found,) = [one for one in findings(f"========= {line}\n{REST}") if one.severity == "error"]
    assert found.message.startswith(said)
    texts = [fact.text for fact in found.evidence]
    assert "thread (0,0,0) of block (0,1,0)" in texts and sum(line in text for text in texts) == 1, "the line is quoted once"


def test_a_library_of_a_tool_that_rocm_goes_on_without() -> None:
    missing = "LoadLib(libhsa-fold64.so) failed: libhsa-fold64.so: cannot open shared object file: No such file or directory\n"
    why = "/src/hip_code_object.cpp:92: guarantee(false && \"hipErrorNoBinaryForGpu: no binary for current devices!\")\n"
    assert [one.severity for one in findings(missing)] == ["warning"]
    assert explained(missing + why).diagnosis[0].cause == "wrong-architecture"


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("Stack overflow", "device-stack-overflow"),
        ("Device assert failed", "device-assertion"),
        ("Warp Misaligned Address", "misaligned-access"),
        ("Illegal Instruction", "device-exception"),
    ],
)
def test_exceptions_of_the_hardware_have_their_own_causes(line: str, cause: str) -> None:
    (entry,) = explained(f"========= {line}\n{REST}").diagnosis
    assert entry.cause == cause


def test_a_sanitizer_that_could_not_start() -> None:
    found = findings("========= Error: Unable to find injection library libfold.so\n")
    assert found[0].id == "sanitizer-did-not-run"


def test_a_null_pointer_that_was_indexed() -> None:
    record = f"========= Invalid __global__ read of size 4 bytes\n{REST}=========     Address 0x4080 is out of bounds\n"
    (entry,) = explained(record).diagnosis
    assert entry.cause == "null-pointer" and "at address 0x4080 (null plus 16,512 bytes)" in entry.summary
    for other in (record.replace("0x4080", "0x7f0000004080"), record.replace("__global__", "__shared__")):
        (entry,) = explained(other).diagnosis
        assert entry.cause == "out-of-bounds-access" and "null" not in entry.summary
