"""What a log says in its own words is kept, and the next step is that of its runner, driver and tool. All lines are made up."""

from __future__ import annotations

import pytest
from test_logs import explained, findings

from gpudx.diagnose.logs import Explained, explain
from gpudx.evidence.logs._fold import read_log

ERROR = "CUDA error: an illegal memory access was encountered\n"


def joined(**logs: str) -> Explained:
    return explain([read_log(f"{name}.log", [text.encode()]) for name, text in logs.items()])


def facts(text: str) -> str:
    return "; ".join(one.text for one in explained(text).diagnosis[0].evidence)


def step(text: str) -> str:
    return next((one.written.next for one in findings(text) if one.written and one.written.next), "")


WORDS = {
    "below the error": ("Device 0: NVIDIA T4, compute capability 7.5\nggml_cuda_compute_forward: MUL_MAT failed\n" + ERROR
                        + "  current device: 1, in function f at a.cu:2\n", "device 1, operation MUL_MAT"),
    "a node and its operator": ("[E] Non-zero status code returned while running GatherND node. Name:'/enc/GatherND_2' " + ERROR,
                                "operation GatherND, node /enc/GatherND_2"),
    "spaces before the step": (" iteration     1750/  9000 | loss 2.1 |\n" + ERROR, "step 1750"),
    "a progress bar": ("Epoch 2/9:  41%|####   | 1287/3120 [10:11<14:31, 2.1it/s]\n" + ERROR, "step 1287, epoch 2"),
    "a table of a simulation": ("Step       Temp      E_pair\n   0   1.44   -6.7\n  500   0.70   -5.6\n" + ERROR, "step 500"),
    "an instruction of XLA": ("Failed while executing HLO instruction %fusion.12\n" + ERROR, "operation fusion.12"),
    "a node of a graph": ("[[{{node model/embedding/lookup}}]]\n" + ERROR, "operation model/embedding/lookup"),
    "a task of Slurm": (ERROR + "srun: error: node3: task 5: Aborted (core dumped)\n", "rank 5"),
    "a worker of torchrun": ("[default3]:" + ERROR, "rank 3"),
    "a named device": ('clFinish failed with CL_OUT_OF_RESOURCES on device "Some Graphics 9"\n', "device Some Graphics 9"),
    "a test of Go": ("=== RUN   TestFold/large\n" + ERROR, "test TestFold/large"),
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_the_words_of_the_log_are_shown(name: str) -> None:
    text, words = WORDS[name]
    assert f"the log names {words}" in facts(text)


@pytest.mark.parametrize(
    "text",
    [
        "  Device 0: NVIDIA T4, compute capability 7.5, VMM: yes\n  Device 1: NVIDIA T4, compute capability 7.5\n" + ERROR,
        ERROR + "Epoch 3\nstep 12\n",  # what is printed afterwards is of another step
        "Steps to follow: see the manual\n" + ERROR,
        "the operation was fast\n" + ERROR,
    ],
)
def test_nothing_is_named_that_the_log_does_not_say(text: str) -> None:
    assert "the log names" not in facts(text)


def test_what_was_compared_is_shown() -> None:
    text = "  MUL_MAT_ID(type_a=q4_0,n=32,k=256): [MUL_MAT_ID] NMSE = 0.041 > 0.0005 FAIL\n  ADD(type=f32,n=3): OK\n"
    assert findings(text)[0].message == "The test MUL_MAT_ID(type_a=q4_0,n=32,k=256) failed (NMSE = 0.041 > 0.0005)."


STEPS = {
    "./run_tests --filter=Scan --repeat=3\n" + ERROR: "-- ./run_tests --filter=Scan --repeat=3",
    "llama-cli -m a.gguf --temp 0\n" + ERROR: "-- llama-cli -m a.gguf --temp 0",
    "vllm serve org/model --tensor-parallel-size 4\n" + ERROR: "-- vllm serve org/model --tensor-parallel-size 4",
    "+ docker run --rm --gpus all img python3 serve.py --port 80\n" + ERROR: "-- python3 serve.py --port 80",
    "INFO starting ./solve --n 8\n" + ERROR: "-- ./solve --n 8",
    'Traceback:\n  File "/w/train.py", line 3, in <module>\n    go()\nRuntimeError: ' + ERROR: "-- python /w/train.py",
    "Cell In[7], line 1\nRuntimeError: " + ERROR: "-- jupyter execute NOTEBOOK.ipynb",
    "tests/a.py::test_x FAILED\nE   RuntimeError: " + ERROR: "-- pytest tests/a.py",
    "usage: tool --input FILE\n" + ERROR: "-- ./app",
    "error --fast is not known\n" + ERROR: "-- ./app",
    "pip install --upgrade thing\n" + ERROR: "-- ./app",
}


@pytest.mark.parametrize("text", STEPS)
def test_the_step_runs_what_the_log_ran(text: str) -> None:
    assert step(text).endswith(STEPS[text])


RACE = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at hist(int *)+0x170 in hist.cu:22
=========     and Read access at hist(int *)+0x1b0 in hist.cu:24 [1020 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
OWN = {
    RACE: "gpudx run --sanitize=racecheck --stacks -- ./app",
    "MESA-INTEL: error: a.c:12: GPU hung on one of our command buffers (VK_ERROR_DEVICE_LOST)\n": "VK_LAYER_KHRONOS_validation ./app",
    "radv: GPU hang detected...\n": "RADV_DEBUG=hang ./app",
    "radv: GPUVM fault detected at address 0x800000200000.\n": "RADV_DEBUG=hang ./app",
    "amdgpu: The CS has been cancelled because the context is lost.\n": "sudo dmesg --level=err,warn",
    "Uncaught (in promise) OperationError: WebGPU device lost (unknown)\n": "chrome://gpu",
    "  what():  level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)\n": "ZE_ENABLE_PARAMETER_VALIDATION=1 ./app",
}


@pytest.mark.parametrize("text", OWN)
def test_the_step_is_that_of_the_interface(text: str) -> None:
    assert step(text).endswith(OWN[text])


PAGE = """[ 41.2] amdgpu 0000:0b:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:5 pasid:32779)
[ 41.2] amdgpu 0000:0b:00.0: amdgpu:  Process mark pid 5511 thread {thread} pid 5513
[ 41.2] amdgpu 0000:0b:00.0: amdgpu:   in page starting at address {address} from client 0x1b (UTCL2)
"""


@pytest.mark.parametrize(
    ("thread", "address", "said"),
    [
        ("mark:cs0", "0x0000800102600000", "AMD_DEBUG=check_vm ./app"),
        ("mark", "0x0000800102600000", "RADV_DEBUG=hang ./app"),
        ("mark", "0x00007f0102600000", "AMD_LOG_LEVEL=3 ./app"),
        ("mark", "0x0000ae8102600000", "AMD_LOG_LEVEL=3 ./app"),
    ],
)
def test_a_page_fault_of_mesa_needs_mesas_own_switch(thread: str, address: str, said: str) -> None:
    assert step(PAGE.format(thread=thread, address=address)).endswith(said)


def test_the_process_of_a_ring_that_hung() -> None:
    text = "[ 31.2] [drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=2\n"
    who = "[ 31.2] [drm:amdgpu_job_timedout [amdgpu]] *ERROR* Process information: process dark pid 3312 thread dark:cs0 pid 3350\n"
    assert findings(text + who)[0].message.endswith("its ring gfx_0.0.0 (graphics) in time, in process 3312 (dark).")
    assert findings(text)[0].message.endswith("(graphics) in time.")


def test_nouveau_passes_on_what_the_firmware_says() -> None:
    text = "nouveau 0000:01:00.0: gsp: rc engn:00000001 chid:24 gfid:0 level:2 type:31 scope:1 part:233 fault_addr:0000003ffd1a1000\n"
    who = "nouveau 0000:01:00.0: fifo:c00000:0003:0018:[deqp[9121]] errored - disabling channel\n"
    (entry,) = explained(text + who).diagnosis
    assert entry.cause == "out-of-bounds-access" and "process 9121 (deqp)" in entry.summary


def test_small_addresses_are_ordinary_in_the_space_of_a_mali() -> None:
    text = "[ 3.1] panfrost ff9a0000.gpu: Unhandled Page fault in AS0 at VA 0x{:016x}\n"
    assert "too small" not in facts(text.format(0x2A40000)) and "is null" in facts(text.format(0x10))


def test_a_hang_whose_record_below_names_an_unmapped_page() -> None:
    hang = "etnaviv-gpu 38000000.gpu: recover hung GPU!\n"
    fault = "etnaviv-gpu 38000000.gpu: MMU fault status 0x00000002\netnaviv-gpu 38000000.gpu: MMU 0 fault addr 0xf6d2f000\n"
    assert explained(hang).diagnosis[0].cause == "hang"
    assert explained(hang + fault).diagnosis[0].cause == "out-of-bounds-access"


CALL = ":3:hip_module.cpp :1071: 1us: [pid:7 tid:0x7f] hipLaunchKernel ( 0x20, {{{grid},1,1}}, {{{block},1,1}}, 0x7f, 0, stream:<null> ) \n"
ARGUMENTS = """:3:rocvirtual.cpp :828 : 2us: [pid:7 tid:0x7f] Arg0: float* out = ptr:0x7f0000000000 obj:[0x7f0000000000-0x7f0000400000]
:3:rocvirtual.cpp           :908 : 2us: [pid:7 tid:0x7f] Arg1: int n = val:2097152
:3:rocvirtual.cpp           :3393: 2us: [pid:7 tid:0x7f] ShaderName : fold(float*, int)
"""
FAULT = "Memory access fault by GPU node-1 (Agent handle: 0x5) on address {}. Reason: Page not present or supervisor privilege.\n"


def test_threads_elements_and_values_of_a_launch() -> None:
    told = facts(CALL.format(grid=8192, block=256) + ARGUMENTS + FAULT.format("0x7f0000400000"))
    assert "8192x1x1 blocks of 256x1x1 threads (2,097,152 threads); the object holds 1,048,576 of type float" in told
    assert "int n = 2097152" in told


def test_a_null_argument_of_the_launch() -> None:
    null = ARGUMENTS.replace("ptr:0x7f0000000000 obj:[0x7f0000000000-0x7f0000400000]", "ptr:0x0 ")
    (entry,) = explained(null + FAULT.format("(nil)")).diagnosis
    assert entry.cause == "null-pointer"
    assert entry.summary == "The fault address 0x0 is null, as argument 0 (float* out) of fold(float*, int) is."
    assert explained(ARGUMENTS + FAULT.format("0x7e0000400000")).diagnosis[0].summary.startswith("Work on the device")


@pytest.mark.parametrize(("block", "said"), [(2048, "2,048 threads in a block, and 1,024 are allowed"), (256, "blocks of 256x1x1 threads")])
def test_the_sizes_of_a_refused_launch(block: int, said: str) -> None:
    refused = ":3:hip_platform.cpp         :700 : 2us: [pid:7 tid:0x7f] hipLaunchKernel: Returned hipErrorInvalidConfiguration : \n"
    told = facts(CALL.format(grid=1, block=block) + refused)
    assert said in told and ("allowed" in told) == (block > 1024)


# ---- several processes ----


def test_a_rank_that_failed_explains_those_that_waited_for_it() -> None:
    waited = (
        "2026-06-01 10:30:0{0},000 [rank{0}]: [Rank {0}] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=8, OpType=ALLREDUCE) ran for 600010 milliseconds\n"
    )
    told = joined(rank0=waited.format(0), rank1="2026-06-01 10:20:00,900 [rank1]: RuntimeError: " + ERROR, rank2=waited.format(2))
    (entry,) = told.diagnosis
    assert entry.cause == "device-error-reported" and len(entry.not_counted) == 2
    assert any(one.text.endswith("report something as well: 0, 2") for one in entry.evidence)


def test_the_ranks_of_one_file_are_told_apart() -> None:
    text = "[1,0]<stderr>:NCCL WARN Call to recv failed\n[1,3]<stderr>:" + ERROR + "[1,2]<stderr>:" + ERROR
    (entry,) = explained(text).diagnosis
    assert "illegal address" in entry.summary and any("rank 3 is the first" in one.text for one in entry.evidence)


def test_a_process_of_another_number_is_another_program() -> None:
    xid = "[55.1] NVRM: Xid (PCI:0000:3b:00): 31, pid={}, name=a, Ch 1. MMU Fault: ENGINE GRAPHICS faulted @ 0x7f3a_12400000.\n"
    app = "pid 100: " + ERROR
    assert sum(one.severity == "error" for one in joined(app=app, dmesg=xid.format(100)).findings) == 1
    assert sum(one.severity == "error" for one in joined(app=app, dmesg=xid.format(777)).findings) == 2


def test_a_device_that_failed_explains_the_network_of_other_ranks() -> None:
    network = "NCCL WARN NET/IB : Got completion from peer 10.0.0.7 with status=12 opcode=129 len=0 vendor err 129\n"
    ecc = "CUDA error: uncorrectable ECC error encountered\n"
    told = joined(rank0=network, rank5=ecc)
    assert [one.id for one in told.findings if one.severity == "error"] == ["log-eccuncorrectable"]
    # Its own network failed first.
    assert [one.id for one in joined(rank5=network + ecc).findings if one.severity == "error"] == ["log-nccl-warning"]
    assert [one.id for one in joined(rank0=network).findings if one.severity == "error"] == ["log-nccl-warning"]


ABORT = ":0:rocdevice.cpp :26: 3us: [pid:7 tid:0x7f] Queue aborting with error : HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: x\n"


def test_the_only_launch_that_may_have_been_running() -> None:
    (entry,) = explained(ARGUMENTS + ABORT).diagnosis
    assert entry.cause == "out-of-bounds-access" and entry.summary.startswith("The kernel fold(float*, int) used an invalid address")
    other = ARGUMENTS.replace("fold(", "scan(")
    assert "The kernel" not in explained(other + ARGUMENTS + ABORT).diagnosis[0].summary


def test_a_status_that_programs_expect_is_no_failure() -> None:
    ready = ":3:hip_stream.cpp :300 : 3us: [pid:7 tid:0x7f] hipStreamQuery: Returned hipErrorNotReady : \n"
    assert not [one for one in findings(ARGUMENTS + ready) if one.severity != "info"]


STATUSES = {
    "cuStreamSynchronize(): 700\nDevice #2: Kernel crashed\n": "device-error-reported",
    "hipStreamSynchronize(): 719\n": "device-error-reported",
    "hsa_signal_wait failed: HSA_STATUS_ERROR_MEMORY_FAULT\n": "device-error-reported",
    "i915 0000:00:02.0: [drm] Resetting rcs0 for preemption time out\n": "hang",
    "drm_i915_gem_execbuffer2 failed: Input/output error\n": "device-error-reported",
    "GPUValidationError: Buffer size 65537 is greater than the maximum binding size 65536\n": "failed-call",
    "thread 'main' panicked at 'wgpu error: Validation Error: In a pass: size 70000 exceeds limit 65535'\n": "failed-call",
    "ERROR: Build program failure<source>:31:10: error: call to 'f' is ambiguous\n": "kernel-does-not-build",
    "fatal error: cannot open file '/clc/a.bc': No such file\n\nERROR: OpenCL error: clBuildProgram (-11)\n": "kernel-does-not-build",
    "Build log: unsupported call to function f in k\nError -11 building kernel k.cl\nCL_BUILD_PROGRAM_FAILURE\n": "kernel-does-not-build",
    "v3d 1002000000.v3d: [drm:v3d_reset [v3d]] *ERROR* Resetting GPU for hang.\n": "hang",
    "AMD Software detected that a driver timeout has occurred on your system.\n": "hang",
    "a_test.cpp:7: FAILED:\n  REQUIRE( hipDeviceSynchronize() == hipSuccess )\nwith expansion:\n  719 == 0\n": "device-error-reported",
}


@pytest.mark.parametrize("text", STATUSES)
def test_statuses_of_programs_that_nobody_lists(text: str) -> None:
    assert explained(text).diagnosis[0].cause == STATUSES[text]


QUIET = (
    "cuStreamSynchronize(): 0\nDevice #2: NVIDIA T4\n",
    "GPU 오류가 나지 않습니다. 커널 실행 시간은 3 ms 입니다.\n",
    "没有任何错误，GPU 运行正常。\n",
    "GPU のエラーはありません。\n",
    "[INFO] retry budget 3, timeout 600 s\n",
    "训练正常完成，未发现任何错误。\n",
    "GPU で正常に完了しました。問題は見つかりませんでした。\n",
    "device 0 synchronized in 0.4 ms, timeout disabled\n",
    "--- PASS: TestFold (0.02s)\n",
    "return HSA_STATUS_ERROR_MEMORY_FAULT;\n",
)


@pytest.mark.parametrize("text", QUIET)
def test_what_reports_no_failure_is_not_accused(text: str) -> None:
    assert not [one for one in findings(text) if one.severity in ("error", "warning")]


def test_the_caller_of_a_copy_that_address_sanitizer_stopped() -> None:
    text = """==4==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000114 at pc 0x4f bp 0x7ffe sp 0x7ffe
READ of size 4096 at 0x602000000114 thread T0
    #0 0x4f in __asan_memcpy
    #1 0x7f in clEnqueueWriteBuffer
    #2 0x52 in upload /w/main.c:88
"""
    (entry,) = explained(text).diagnosis
    assert entry.cause == "copy-range" and "clEnqueueWriteBuffer made a bad read of 4096 bytes at w/main.c:88" in entry.summary
    assert explained(text.replace("clEnqueueWriteBuffer", "encode_row")).diagnosis[0].cause == "crash-outside-calls"


def test_an_error_of_hips_tests_over_several_lines() -> None:
    text = "with message:\n  Error: invalid argument\n      Code: 1\n      Str: hipMemset(a, 0, n)\n  In File: /w/a.cc\n  At line: 157\n"
    assert "hipMemset" in findings(text)[0].message and "a.cc:157" in findings(text)[0].message
    assert not any("hipMemset" in one.message for one in findings(text.replace("Code: 1", "Code: 0")))


def test_a_copy_engine_is_no_kernel() -> None:
    fault = PAGE.format(thread="a", address="0x00007febd6383000") + "[ 41.2] amdgpu 0000:0b:00.0: amdgpu: client ID: {} (0xd)\n"
    assert findings(fault.format("SDMA0"))[0].message.startswith("A copy engine accessed memory")
    assert findings(fault.format("TCP"))[0].message.startswith("A kernel accessed memory")


def test_a_message_of_oclgrind_that_is_not_listed() -> None:
    text = "Something odd happened at address 0x30\n\tKernel: fir\n\tEntity: Global(16,0,0) Local(0,0,0) Group(1,0,0)\n"
    assert findings(text)[0].message == "Oclgrind reports of fir: Something odd happened at address 0x30."
    assert not [one for one in findings(text.replace("\tEntity", "\tColour")) if one.id == "log-oclgrind-report"]


def test_a_rank_whose_program_ended_did_not_join() -> None:
    watchdog = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=99, OpType=BROADCAST) ran for 600010 milliseconds"
    waited = f"[2026-06-01 10:30:01] [Rank 0] {watchdog}\n"
    ended = "[2026-06-01 10:19:58] Traceback (most recent call last):\n[2026-06-01 10:19:58] MemoryError: Unable to allocate 91.5 GiB\n"
    told = joined(rank_0=waited, rank_7=ended)
    assert any("MemoryError" in one.message and one.severity == "error" for one in told.findings)
    assert not any(one.id == "log-collective-timeout" and one.severity == "error" for one in told.findings)


def test_a_checked_status_of_ggml_is_not_the_hosts_fault() -> None:
    text = "/w/ggml-cuda.cu:2641: GGML_ASSERT({}) failed\n"
    assert explained(text.format("stat == cudaSuccess")).diagnosis[0].cause == "device-error-reported"
    assert findings(text.format("ne00 == ne10"))[0].id == "log-host-assertion"


def test_a_record_with_a_kernel_leads_one_of_another_log_without() -> None:
    hang = "[  812.412345] i915 0000:00:02.0: [drm] GPU HANG: ecode 12:1:85dcfffb, in blurtool [8123]\n"
    oob = "Invalid write of size 16 at global memory address 0x2000000001000\n\tKernel: blur\n\tEntity: Global(1,0,0) Local(0,0,0)\n"
    assert joined(dmesg=hang, oclgrind=oob).diagnosis[0].cause == "out-of-bounds-access"
    assert joined(all=hang + oob).diagnosis[0].cause == "hang"


def test_names_of_tests_and_the_steps_of_windows() -> None:
    assert "test gpu:reduce" in facts(" 3/12 gpu:reduce          FAIL            0.41s   killed by signal 11 SIGSEGV\n")
    deqp = "Test case 'dEQP-VK.compute.rw'..\n  Fail (Compare failed at offset 64)\n"
    assert findings(deqp)[0].message == "The test dEQP-VK.compute.rw failed (Compare failed at offset 64)."
    hip = "loading D:\\w\\a.dll\nHIP error: invalid argument\n"
    assert step(hip) == "set AMD_LOG_LEVEL=3&& app.exe"


def test_a_summary_of_bazel_and_its_table_are_one_failure() -> None:
    text = "TIMEOUT: //gpu:reduce_test (Summary)\n      /root/log\n//gpu:reduce_test      TIMEOUT in 900.1s\n"
    (one,) = findings(text)
    assert one.message == "Bazel's test //gpu:reduce_test ran out of time."
