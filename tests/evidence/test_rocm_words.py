"""ROCm's own words for faults, with their numbers: what is read of them, and what is not a fault. All examples are made up."""

from __future__ import annotations

import pytest
from support.typed import written

from gpudx.diagnose.logs import explain
from gpudx.evidence.logs._faults import faults_in
from gpudx.evidence.logs._fold import read_log
from gpudx.model import DeviceFault, Finding


def findings(text: str) -> tuple[Finding, ...]:
    return explain([read_log("x.log", [text.encode()])]).findings


def only(text: str) -> DeviceFault:
    (fault,) = faults_in(text)
    return fault


@pytest.mark.parametrize(
    ("text", "address", "span", "writes", "device", "does"),
    [
        (
            "Memory access fault by GPU node-2 (Agent handle: 0x5570) on address 0x7ff96a9ac000. Reason: Page not present or "
            "supervisor privilege.", 0x7FF96A9AC000, 4096, None, "node-2", "accessed memory that is not mapped",
        ),
        (
            "Memory access fault by GPU node-1 on address 0x901b09010. Reason: Write access to a read-only page.",
            0x901B09010, 1, True, "node-1", "wrote to read-only memory",
        ),
        (
            "Memory access fault by GPU node-4 (Agent handle: 0x15) on address (nil). Reason: Unknown.",
            0, 1, None, "node-4", "faulted for an unknown reason",
        ),
        (
            "System event (HSA_AMD_GPU_MEMORY_FAULT_EVENT: page not present or supervisor privilege, write access to a read-only "
            "page)\nFaulting page: 0x7fbe4cc01000", 0x7FBE4CC01000, 4096, None, "", "accessed memory that is not mapped",
        ),
        (
            "[1.5] amdgpu 0000:c6:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:3 pasid:32769)\n"
            "[1.5] amdgpu 0000:c6:00.0: amdgpu:   in page starting at address 0x00007f8570611000 from IH client 0x1b (UTCL2)\n"
            "[1.5] amdgpu 0000:c6:00.0: amdgpu: 	 Faulty UTCL2 client ID: TCP (0x8)\n"
            "[1.5] amdgpu 0000:c6:00.0: amdgpu: 	 RW: 0x1",
            0x7F8570611000, 4096, True, "", "wrote memory that is not mapped",
        ),
    ],
)  # fmt: skip
def test_addresses(text: str, address: int, span: int, writes: bool | None, device: str, does: str) -> None:
    fault = only(f"before\n{text}\nafter\n")
    assert (fault.address, fault.span, fault.writes, fault.device, fault.does) == (address, span, writes, device, does)
    assert fault.said == text.splitlines()[0].strip() or "amdgpu" in fault.said


@pytest.mark.parametrize(
    ("status", "code", "cause", "does"),
    [
        ("MEMORY_APERTURE_VIOLATION", "0x29", "out-of-bounds-access", "used an invalid address"),
        ("ILLEGAL_INSTRUCTION", "0x2a", "wrong-architecture", "executed an instruction that this device does not have"),
        ("MEMORY_FAULT", "0x2b", "out-of-bounds-access", "accessed memory that is not mapped"),
        ("EXCEPTION", "0x1016", "device-exception", "ended in an exception of the hardware"),
        ("OUT_OF_RESOURCES", "0x1008", "launch-refused", "could not get memory for its stack"),
        ("SOMETHING_NEW", "0x1", "device-exception", "failed (SOMETHING_NEW)"),
    ],
)
def test_queues_that_were_shut_down(status: str, code: str, cause: str, does: str) -> None:
    said = f"aborting with error : HSA_STATUS_ERROR_{status}: Text. code: {code}"
    new = f":0:rocdevice.cpp  :2984: 1 us: [pid:4 tid:0x7f] Callback: Queue 0x7ef7 {said}"
    newest = new.replace("aborting", "Aborting").replace("code: ", "Code: ") + " Available Free mem : 12 MB"
    old = f":0:rocdevice.cpp :2672: 06 us: 5999 : [tid:0x7f] Device::callbackQueue {said}"
    runtime = f"Queue at 0x7f4e03654000 inactivated due to async error:\n\tHSA_STATUS_ERROR_{status}: Text."
    for text in (new, newest, old, runtime, f"Queue error (HSA_STATUS_ERROR_{status}: Text.)"):
        (found,) = findings(text)
        assert does in found.message and found.causes[0] == cause and written(found).format == "rocm-queue"
        assert "not proved: which kernel" in found.evidence[-1].text
    assert f"HSA_STATUS_ERROR_{status}, {code})" in findings(new)[0].message
    assert findings(newest)[0].message == findings(new)[0].message
    assert "the queue is 0x7ef7" in findings(new)[0].evidence[1].text


def test_a_wave_without_line_information_and_many_alike() -> None:
    wave = "wave_{}: pc=0x7f10 (stopped, reason: ASSERT_TRAP)\n  v0: [0] 0\n\nDisassembly for function _Z4blurPf:\n=>  0x7f10\n"
    (found,) = findings("".join(wave.format(number) for number in range(5)))
    assert (
        found.message == "The kernel blur ran into a trap, as a failed assert does (ASSERT_TRAP)." and found.count == 5
    )


def test_a_wave_whose_function_never_comes() -> None:
    (found,) = findings("wave_0: pc=0x7f10 (stopped, reason: ILLEGAL_INSTRUCTION)\n")
    assert found.message.startswith("A kernel executed an instruction") and written(found).line == 1
    first, second = findings(
        "wave_0: pc=0x7f10 (stopped, reason: ECC_ERROR)\nwave_1: pc=0x7f10 (stopped, reason: MEMORY_VIOLATION|TRAP)\n"
    )
    assert "ECC_ERROR" in first.message and "(MEMORY_VIOLATION)" in second.message


def test_waves_that_only_stand_somewhere_are_no_faults() -> None:
    assert findings("wave_0: pc=0x7f10 (stopped, reason: NONE)\nDisassembly for function _Z4blurPf:\n=> 0x7f10\n") == ()
    assert findings("wave_0: pc=0x7f10 (stopped, reason: BREAKPOINT)\n") == ()


def test_asan_on_the_device_with_its_threads() -> None:
    text = """==7==ERROR: AddressSanitizer: heap-buffer-overflow on amdgpu device 0 at pc 0x7b045b3632a0
WRITE of size 4 in workgroup id (3,0,0)
  #0 0x7b045b3632a0 in blur(float*) at /src/blur.hip:6:21

Thread ids and accessed addresses:
00 : 0x7b165d11d400
01 : 0x7b165d11d404

0x7b165d11d400 is located 0 bytes after 1024-byte region [0x7b165d11d000,0x7b165d11d400)
"""
    (found,) = findings(text)
    assert "blur made a bad write of 4 bytes at src/blur.hip:6, 0 bytes past the end of memory of 1,024 bytes" in found.message
    assert "thread 0 of workgroup (3,0,0) accessed 0x7b165d11d400, and 1 more thread" in [
        e.text for e in found.evidence
    ]
    assert only(text) == DeviceFault(
        "made a bad access (heap-buffer-overflow)", text.splitlines()[0], 0x7B165D11D400, 1, True, "", "blur"
    )


def test_host_reports_are_no_faults_of_a_device() -> None:
    assert (
        faults_in("==9==ERROR: AddressSanitizer: heap-use-after-free on address 0x6020 at pc 0x4f\nREAD of size 8\n")
        == ()
    )


def test_same_words_without_a_failure() -> None:
    quiet = "aborting with error handling enabled\n#define X HSA_STATUS_ERROR_EXCEPTION\nno queue was inactivated due to async error\n"
    understood = [one for one in findings(quiet) if one.id != "log-not-understood"]
    assert understood == [] and faults_in(quiet) == ()


def test_the_line_of_a_wave_is_the_place_only_of_traps() -> None:
    code = "Disassembly for function blur(float*):\n/src/blur.hip:\n7   y[0] = 1;\n=>  0x7f10 <+0>: x\n"
    wave = f"wave_0: pc=0x7f10 (stopped, reason: {{}})\n\n{code}"
    (trap,), (access,) = findings(wave.format("ASSERT_TRAP")), findings(wave.format("MEMORY_VIOLATION"))
    assert ", at src/blur.hip:7 (ASSERT_TRAP)." in trap.message
    assert "blur.hip" not in access.message
    assert "it was at src/blur.hip:7, which is at or after the access" in [one.text for one in access.evidence]


def test_newer_agents_name_the_kernel_in_the_line() -> None:
    line = "wave_2: pc=0x7f10 (kernel_code_entry=0x7f00 <void blur<4>(float*, int)>, kernargs=0x7e00) (stopped, reason: TRAP)"
    (found,) = findings(line)
    assert found.message == "The kernel blur<4> ran into a trap (TRAP)."


LAUNCHED = ":3:rocvirtual.cpp  :2937: 1 us: [pid:4 tid:0x7f] ShaderName : {}\n"
WAITED = ":3:hip_device_runtime.cpp  :690: 1 us: [pid:4 tid:0x7f] hipDeviceSynchronize: Returned hipSuccess : \n"
ABORTED = (
    ":0:rocdevice.cpp  :2984: 1 us: [pid:4 tid:0x7f] Callback: Queue 0x7e Aborting with error : "
    "HSA_STATUS_ERROR_EXCEPTION: T. code: 0x1016\n"
)


def test_the_launches_that_an_aborted_queue_may_have_been_running_are_listed() -> None:
    blur, scale, add = (LAUNCHED.format(name) for name in ("_Z4blurPf", "_Z5scalePfi", "_Z3addPf"))
    told = [one.message for one in findings(blur + WAITED + scale + add + ABORTED)]
    assert any("2 launches may have been running when the queue was aborted, the latest first: add, scale." in one for one in told)
    assert not any("blur" in one for one in told)


def test_no_launch_is_listed_where_all_had_been_waited_for() -> None:
    told = [one.message for one in findings(LAUNCHED.format("_Z4blurPf") + WAITED + ABORTED)]
    assert not any("may have been running when" in one for one in told)


STOPPED = """Thread 9 "app" received signal SIGINT, Interrupt.
[Switching to thread 9, lane 0 (AMDGPU Lane 1:1:1:3/0 (0,0,0)[64,0,0])]
0x00007ffff7e3c0a4 in total (x=0x7fff00001000, n=100) at total.hip:14
(gdb) x/3i $pc-8
   0x7ffff7e3c09c <_Z5totalPfi+156>:\ts_waitcnt lgkmcnt(0)
   0x7ffff7e3c0a0 <_Z5totalPfi+160>:\t{}
=> 0x7ffff7e3c0a4 <_Z5totalPfi+164>:\ts_waitcnt vmcnt(0)
"""


@pytest.mark.parametrize(("instruction", "barrier"), [("s_barrier", True), ("s_barrier_wait 0xffff", True), ("s_nop 0", False)])
def test_a_wave_that_was_interrupted_at_a_barrier(instruction: str, barrier: bool) -> None:
    (found,) = findings(STOPPED.format(instruction))
    assert found.message.startswith("The kernel total was still running when it was interrupted at total.hip:14")
    assert any("the wave is at a barrier" in one.text for one in found.evidence) == barrier


def test_an_interrupted_host_thread_is_no_hang_of_the_device() -> None:
    text = 'Thread 1 "app" received signal SIGINT, Interrupt.\n0x00007ffff7e3c0a4 in poll () from /lib/libc.so.6\n'
    assert not any("on the device" in one.message for one in findings(text))
