"""Families of messages that many programs share: watchdogs, lost peers, drivers' state dumps, Windows in other languages, Valgrind.
All examples are made up. Each family has lines that are found and the nearest lines that report no failure."""

from __future__ import annotations

import pytest
from test_logs import explained, findings

from gpudx.evidence.logs._event import NOT_UNDERSTOOD
from gpudx.evidence.logs._fold import read_log
from gpudx.evidence.logs._program import command_in

ASAHI = """kernel: asahi 3000.gpu: ** GPU timeout **
kernel: asahi 3000.gpu:   Fault info: FaultInfo {{
                             address: 0x15a0040,
                             unit: TXF,
                             reason: {},
                         }}
"""
VALGRIND = """==91== {}
==91==    at 0x4C3: memcpy (vg_replace_strmem.c:9)
==91==    by 0x6F1: {} (in /opt/x/{})
==91==    by 0x109: main (rows.c:40)
==91==  Address 0x5f4 is 16 bytes after a block of size 1,024 alloc'd
"""

# Each log, the kind of its first event, and a part of what is said.
SAID = {
    # a driver's reports of faults
    "[ 3.123456] v3d fec0.v3d: MMU error from client TLB (4) at 0x1a000, pte invalid": ("device-page-fault", "not mapped"),
    "[ 3.123456] panthor fb.gpu: [drm] CS_FAULT.EXCEPTION_TYPE=0x58 (DATA_INVALID_FAULT) CS=1": ("device-bad-command", "invalid command"),
    ASAHI.format("Unmapped"): ("device-page-fault", "memory that is not mapped"),
    ASAHI.format("None"): ("device-hang", "did not finish its work in time"),
    # watchdogs of programs
    "[2025-01-02 03:04:05 TP2] Watchdog timeout (self.watchdog_timeout=60)": ("watchdog", "saw no progress"),
    "render thread: watchdog expired after 30 s": ("watchdog", "saw no progress"),
    # ranks that lost another one
    "RuntimeError: [a/gloo/transport/tcp/pair.cc:9] Connection closed by peer [10.0.0.1]:99": ("peer-lost", "lost its connection"),
    "[gloo/transport/tcp/unbound_buffer.cc:1] Timed out waiting 900ms for recv": ("peer-lost", "waited too long"),
    "n1:4:9 [0] NCCL WARN Connection closed by remote peer n2<5>": ("peer-lost", "lost its connection"),
    # devices and libraries
    "Error: Found no Tracer device of the kind": ("no-device", "No device was found"),
    "[enc @ 0x1] The minimum required Nvidia driver for nvenc is 999.1 or newer": ("no-device", "older than the program requires"),
    "W gpu/dev.cc:2] Cannot dlopen some GPU libraries": ("no-device", "could not be loaded"),
    "THCudaCheck FAIL file=/a/T.cu line=2 error=46 : all CUDA-capable devices are busy or unavailable": (
        "devices-unavailable", "another process",
    ),
    "x.UnsatisfiedLinkError: /tmp/libx.so: libcuda.so.1: cannot open shared object file": ("no-device", "library could not be loaded"),
    'panic: Failed to load module "add64" data for Device GPU(0): InvalidPtx': ("build-failed", "A kernel was not built"),
    # assertions and waves
    "taichi.lang.exception.TaichiAssertionError:\n(kernel=step_c1_0) Accessing field (S1) of size (4, 4) with indices (4, 0)": (
        "device-assertion", "in the kernel step_c1_0",
    ),
    "Queue error - HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION": ("rocm-queue-error", "used an invalid address"),
    "wave_2: pc=0x7f01 (kernel_code_entry=0x7f00 <pick(int*)>) (stopped, reason: APERTURE_VIOLATION)\n": (
        "rocm-wave-stopped", "The kernel pick",
    ),
    # event 4101 of Windows
    "Ereignis-ID: 4101\nBeschreibung: Der Anzeigetreiber igfxn reagiert nicht mehr.": ("device-lost", "did not finish its work in time"),
    "イベント ID: 4101\n説明: ディスプレイ ドライバー amdwddmg が応答を停止しました": ("device-lost", "did not finish its work in time"),
    "设备: 显示器驱动程序 nvlddmkm 停止响应，并且已成功恢复。": ("device-lost", "did not finish its work in time"),
    "Видеодрайвер nvlddmkm перестал отвечать и был восстановлен.": ("device-lost", "did not finish its work in time"),
    # bindings that spell a driver's names in their own way; what the manual says of an error is no second one
    "X.CudaException: ErrorLaunchFailed: It failed. Common causes include an invalid device pointer.": ("launch-failure", "719"),
    "called `Result::unwrap()` on an `Err` value: CudaError::IllegalAddress": ("illegal-address", "700"),
    "x_module.cc:9: InternalError: Check failed: (e == CL_SUCCESS) is false: OpenCL Error, code=-54: CL_INVALID_WORK_GROUP_SIZE": (
        "invalid-work-group-size", "-54",
    ),
    "InternalError: Check failed: (lib != nullptr) is false: Cannot open libOpenCL!": ("no-device", "library could not be loaded"),
    "Failed to set value 'qsv=hw' for option 'init_hw_device': Generic error in an external library": ("no-device", "device for video"),
    "(Exit code: 18446744072635812000). Unknown error.": ("process-ended", "exception of Windows"),
    "OSError: exception: access violation reading 0x0000000000000010": ("host-crash", "at address 0x10"),
    "Error: Index [9] out of bounds for array of shape [9].": ("program-index-out-of-range", "outside the array"),
    "| GPU 1: Uncorrectable ECC errors detected: 2 |": ("device-memory-error", "fault of its memory"),
    "W stall.cc:1] Tensors are waiting for remainder of ranks\nMissing ranks:\n2: [grad_0, grad_1]\n5: [grad_0]": (
        "rank-missing", "Ranks 2, 5 did not join the collective grad_0",
    ),
    "Exception: Current loss scale already at minimum - cannot decrease scale anymore.": ("result-not-finite", "smallest loss scale"),
    "RuntimeError: No execution plans support the graph.": ("call-refused", "not supported"),
    # frameworks
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.": ("memory-refused", "was refused"),
    "TimeoutError: RPC call to run_step timed out.": ("worker-silent", "did not answer in time"),
    "[E] [TRT] load: Error Code 1: Serialization (assertion a == B failed.Version tag does not match.)": (
        "made-elsewhere", "another version",
    ),
    "unable to create stream: the provided PTX was compiled with an unsupported toolchain.": ("unsupported-ptx-version", "222"),
    "E: out of resource: fused_add_0 Required: 9000 Hardware limit:8000 Reducing block sizes may help": (
        "out-of-resources", "The Triton kernel fused_add_0 needs 9,000",
    ),
    "RuntimeError: FastAttention only supports Hopper GPUs or newer.": ("wrong-device-code", "does not fit this device"),
    "    x wasn't build with CUDA support": ("no-device", "built without support"),
    "GPU_AWARE is requested, but transfer library is not linked": ("no-device", "built without support"),
    "NVVM_ERROR_COMPILATION": ("status-compilation", "NVVM reported an error"),
    "wgpu error: Validation Error\n\nCaused by:\n  In Device::create_shader_module\n\nShader 'a' parsing error: expected `;`\n": (
        "shader-rejected", "wgpu rejected the shader a: expected `;`",
    ),
    "NotImplementedError: The operator 'aten::eigh' is not currently implemented for the MPS device. If you want it, comment.": (
        "call-refused", "not supported",
    ),
    "[ 22.441011] NVRM: API mismatch: the client has the version 5.1, but": ("driver-versions-differ", "different versions"),
    "slurmctld: error: gres/gpu count reported lower than configured (1 < 2)": ("no-device", "fewer GPUs"),
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access GPU counters": ("no-device", "could not be used"),
    "amdgpu: The CS has been rejected, see dmesg for more information (-12).": ("driver-out-of-memory", "could not allocate memory"),
    "E0 dnn.cc:1] Loaded runtime Dnn library: 8.0 but source was compiled with: 8.9.": ("library-mismatch", "8.9 was expected"),
    "x.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.": ("killed-for-memory", "host memory ran out"),
    'Kokkos::View ERROR: out of bounds access label=("u") with indices [8,0] but extents [8,4]': ("bounds-check", "bounds check"),
    "  what():  No kernel named _ZTS3add was found": ("kernel-not-found", "has no kernel _ZTS3add"),
    "rocBLAS error: Cannot read /x/TensileLibrary.dat: Illegal seek for GPU arch : gfx0000": ("wrong-device-code", "does not fit this"),
    "UserWarning: CUDA initialization: The NVIDIA driver is too old (found version 1). Please update your GPU driver": (
        "no-device", "could not be used",
    ),
    "2020-01-02 03:04:05 5000011 EE   400  0.01%; 900 us/sq; ETA 0d 01:02; 0123abcd (check 0.5s)": ("result-differs", "wrong result"),
    "[    12.345] (EE) NVIDIA(0): Failed to initialize the NVIDIA GPU at PCI:1:0:0.": ("no-device", "could not be used"),
    # Valgrind
    VALGRIND.format("Invalid read of size 8", "POclEnqueueWriteBuffer", "libx.so"): (
        "valgrind-invalid-access", "inside POclEnqueueWriteBuffer at rows.c:40 in main, 16 bytes past the end",
    ),
    VALGRIND.format("Invalid write of size 4", "fill", "libx.so"): ("valgrind-invalid-access", "wrote 4 bytes"),
    "==9== Conditional jump or move depends on uninitialised value(s)\n==9==    at 0x1: sum (sum.c:3)": (
        "valgrind-uninitialised", "sum.c:3 in sum",
    ),
    "==9== Possible data race during write of size 4 at 0x5 by thread #2\n==9==    at 0x1: put (q.c:7)": (
        "valgrind-race", "race for the same",
    ),
    "==9== Invalid free() / delete / delete[] / realloc()": ("valgrind-invalid-free", "freed memory"),
}  # fmt: skip
QUIET = (
    "2020-01-02 03:04:05 5000011 OK   400  0.01%; 900 us/sq; ETA 0d 01:02; 0123abcd (check 0.5s)",
    "node 12 EE 7 of the grid",
    "(WW) warning, (EE) error, (NI) not implemented, (??) unknown.",
    "RuntimeError handler: see the root cause above",
    "INFO 2 GPUs of type Hopper or newer found",
    "gres/gpu count is 8",
    "loaded runtime library 8.9",
    "OpenCL error check: (e == CL_SUCCESS) is true",
    "throw new CudaException(CUresult.ErrorLaunchFailed);",
    "Common causes include an invalid device pointer.",
    "Exit code: 0",
    "Uncorrectable ECC errors detected: 0",
    "if (index out of range) return;",
    "watchdog timeout is 300 s",
    "INFO watchdog timeout (s)=300",
    "NCCL INFO Connected all rings",
    "Gloo connected to 3 peers",
    "[ 3.123456] v3d fec0.v3d: [drm] Using transparent hugepages",
    "found 2 OpenCL devices",
    "requires driver 999 or newer",
    "Ereignis-ID: 4101 wurde gelesen",
    "Kollege reagiert nicht mehr auf Mails",
    "==9== Memcheck, a memory error detector",
    "==9== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)",
)


@pytest.mark.parametrize("log", SAID)
def test_a_family_is_known_by_its_words(log: str) -> None:
    kind, said = SAID[log]
    found = findings(log)[0]
    assert found.id == f"log-{kind}"
    assert said in found.message


@pytest.mark.parametrize("line", QUIET)
def test_near_lines_report_nothing(line: str) -> None:
    assert {one.event.kind for one in read_log("log", [line.encode()]).told} <= {NOT_UNDERSTOOD}


def test_a_bounds_check_counts_more_than_the_queue_that_it_stops() -> None:
    log = (
        'Kokkos::View ERROR: out of bounds access label=("u") with indices [8,0] but extents [8,4]\n'
        "Callback: Queue 0x7 Aborting with error : HSA_STATUS_ERROR_EXCEPTION: An operation failed. code: 0x1016\n"
    )
    (entry,) = explained(log).diagnosis
    assert entry.cause == "out-of-bounds-access" and entry.guilty is None


def test_an_error_of_another_rank_does_not_follow_a_lost_connection() -> None:
    log = "n1:4:9 [0] NCCL WARN Connection closed by remote peer n2<5>\nn2:8:8 [5] check failed: HIP error 'out of memory' at t.cpp:8\n"
    (entry,) = explained(log).diagnosis
    assert "hipErrorOutOfMemory" in entry.summary


def test_a_driver_is_no_culprit_for_memory_that_valgrind_does_not_know() -> None:
    log = "==9== Invalid read of size 8\n==9==    at 0x1: poll (in /usr/lib/libcuda.so.1)\n==9==    by 0x2: w (in /lib/libcuda.so.1)\n"
    found = findings(log)[0]
    assert found.severity == "warning" and "false report" in found.evidence[-1].text
    assert not explained(log).diagnosis


def test_addresses_of_small_devices_are_not_taken_for_sizes() -> None:
    small = "[ 3.123456] {} 1c40.gpu: mmu page fault at 0x30e0040 of type read"
    assert not any("too small" in one.text for one in findings(small.format("lima"))[0].evidence)
    assert any("too small" in one.text for one in findings(small.format("amdgpu"))[0].evidence)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("mpirun noticed that process rank 5 with PID 2 on node n exited on signal 6.", ""),
        ("mpirun has exited due to process rank 1", ""),
        ("mpirun -np 4 ./solve in.txt", "mpirun -np 4 ./solve in.txt"),
        ("torchrun train.py --steps 3", "torchrun train.py --steps 3"),
    ],
)
def test_sentences_of_launchers_are_no_commands(line: str, command: str) -> None:
    assert command_in(line) == command


@pytest.mark.parametrize(
    ("log", "place"),
    [
        ("MPI rank:    3 (out of 8)\n\nFatal error:\nCopy failed. CUDA error #719 (cudaErrorLaunchFailure): x", "rank 3"),
        ("[2025-01-02 03:04:05 TP6] Scheduler failed:\n  a\n  b\n  c\nCUDA error: an illegal memory access was encountered", "rank 6"),
    ],
)
def test_the_rank_in_a_headline_is_kept(log: str, place: str) -> None:
    assert any(place in fact.text for fact in findings(log)[-1].evidence)


def test_the_number_of_a_host_is_no_device() -> None:
    log = "Feb 02 09:51:48 gpu07 slurmd[9]: fatal: can't stat gres.conf file /dev/nvidia0: No such file or directory"
    assert not any("device 07" in fact.text or "device 7" in fact.text for fact in findings(log)[0].evidence)


def test_a_long_line_is_cut_between_words() -> None:
    message = findings("Failed to create a CUDA context on device: " + "some more words " * 30)[0].message
    assert message.endswith((" some ...", " more ...", " words ..."))
