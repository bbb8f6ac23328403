"""gpudx explain --issue: what a pasted report establishes, claims and gets wrong. All reports are made up."""

from __future__ import annotations

from gpudx.diagnose.issue import answer, without_prose
from gpudx.diagnose.logs import explain
from gpudx.evidence.logs._fold import read_log

LOG = """```
$ python train.py --batch 8
CUDA error at main.cu:88 code=719(cudaErrorLaunchFailure) "cudaFree(p)"
Aborted (core dumped)
```
"""


def answered(text: str) -> str:
    return answer(text, explain([without_prose(text, read_log("report.md", [text.encode()]))]))


def part(text: str, title: str) -> str:
    return text.partition(f"**{title}")[2].partition("\n**")[0]


def test_the_reporting_call_is_cleared() -> None:
    text = answered(f"The bug is in cudaFree.\n\n{LOG}")
    assert "cudaErrorLaunchFailure, 719" in part(text, "Established")
    assert "cudaFree only returned it (line 5)" in part(text, "Claims that")
    assert "gpudx run --serialise --stacks -- python train.py --batch 8" in part(text, "Please add")


def test_claims_that_nothing_settles_stay_claims() -> None:
    text = answered(f"I think it is a driver bug.\nIt happens every time on our RTX 4090, driver 550.54.\n\n{LOG}")
    assert "“I think it is a driver bug.”" in part(text, "Claimed")
    assert "**Claims that" not in text
    asked = part(text, "Please add")
    assert "GPU model" not in asked and "how often" not in asked and "driver and toolkit" not in asked


def test_memory_that_did_not_run_out() -> None:
    assert "no line in the logs reports that memory ran out" in answered(f"It is out of memory.\n\n{LOG}")
    real = (
        "It is out of memory.\n\n```\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
        "capacity of "
        "80.00 GiB of which 41.00 GiB is free.\n```\n"
    )
    assert "asked for 2.00 GiB while 41.00 GiB were free" in answered(real)
    short = real.replace("41.00 GiB is free", "1.00 GiB is free")
    assert "**Claims that" not in answered(short)


def test_a_claim_that_memory_did_not_run_out_is_held_against_the_log() -> None:
    for claim in ("It is not out of memory.", "메모리 부족은 아닙니다.", "不是显存不足。", "メモリ不足ではありません。"):
        assert "**Claims that" not in answered(f"{claim}\n\n{LOG}"), claim
        short = f"{claim}\n\n```\nRuntimeError: CUDA error: out of memory\n```\n"
        assert "the logs report that memory ran out" in part(answered(short), "Claims that"), claim


def test_numbers_are_checked() -> None:
    text = answered(
        f"We have 1024 * 11008 = 11272193 floats and launch 65536 x 40000 threads; 16 x 4 = 64 is right.\n\n{LOG}"
    )
    against = part(text, "Claims that")
    assert "1024 * 11008 is 11,272,192" in against and "does not fit in a 32-bit index" in against
    assert "16 x 4" not in against


def test_kernel_log_and_tools_contradict() -> None:
    xid = "[ 9.1] NVRM: Xid (PCI:0000:01:00): 13, pid=7, name=a, Graphics SM Warp Exception: Misaligned Address\n"
    assert "line 4 is such a message" in answered(f"There are no errors in dmesg.\n\n```\n{xid}```\n")
    clean = "There are no errors in dmesg.\n\n```\nCUDA error: misaligned address at a.cu:1\n```\n"
    assert "**Claims that" not in answered(clean)


def test_other_languages() -> None:
    text = answered(f"## 环境\n我觉得原因是显存不足。\n\n{LOG}")
    assert "cudaErrorLaunchFailure" in part(text, "Established") and "memory ran out" in part(text, "Claims that")
    assert "Siempre falla" in part(answered(f"Siempre falla en el mismo paso.\n\n{LOG}"), "Claimed")


def test_a_report_without_a_log() -> None:
    text = answered("It does not work on my machine.\n")
    assert "the complete output of the failing run" in part(text, "Please add") and "**Established" not in text


def test_claims_in_other_languages_are_held_against_the_log() -> None:
    text = """训练崩溃，我认为是显存不足导致的，cudaMemcpy 有 bug。
```
cudaMemcpy failed: an illegal memory access was encountered
[ 812.1] NVRM: Xid (PCI:0000:3b:00): 31, pid=4411, name=python, Ch 00000008. MMU Fault: faulted @ 0x7f2a_40000000
```
항상 재현됩니다. 毎回同じ場所で失敗します。
"""
    told = answered(text)
    assert "cudaMemcpy only returned it (line 3)" in told
    assert "no line in the logs reports that memory ran out" in told
    assert "“항상 재현됩니다.”" in told and "毎回" in told


def test_what_people_write_around_a_log_establishes_nothing() -> None:
    text = answered(f"My GPU runs out of memory and the device hangs after 5 minutes.\n\n{LOG}")
    assert "out of memory" not in part(text, "Established") and "in time" not in part(text, "Established")
    assert "no line in the logs reports that memory ran out" in part(text, "Claims that")


def test_a_log_that_was_pasted_without_a_fence_is_read() -> None:
    text = answered("After the update I see this\nworker 2: GPU sync failed\n")
    assert "GPU sync failed" in part(text, "Established")


CRASH = """- Crash in the driver: `qCLDrvAPI_clSetKernelArg+100`
- Type: `SIGSEGV` (Segmentation Fault)
- Fault Address: `0x48008`
"""


def test_a_crash_in_a_call_is_not_a_kernels_access() -> None:
    text = answered(f"{CRASH}\nI think the kernel makes an out-of-bounds access.\n")
    assert "294,912 = 9 * 2^15 plus 8" in part(text, "Established")
    assert "crashed in clSetKernelArg, on the host" in part(text, "Claims that")
    asked = part(text, "Please add")
    assert "the arguments of the clSetKernelArg call that crashed" in asked and "of 294,912 bytes" in asked
    assert "**Claims that" not in answered(f"{CRASH}\nThe cause may be the driver.\n")


SYMPTOMS = """- Before: `hipMemcpy D2H failed: an illegal memory access was encountered`
- Now: `RoPE Q launch failed: an illegal memory access was encountered`
"""


def test_an_error_that_is_noticed_at_two_places_may_be_one() -> None:
    text = answered(f"{SYMPTOMS}\nRoot cause: the RoPE kernel.\n")
    assert "at hipMemcpy D2H and at RoPE Q" in part(text, "Established")
    assert "line 2 shows only that the error was noticed at RoPE Q" in part(text, "Claims that")
    once = answered(f"{SYMPTOMS.splitlines()[0]}\nRoot cause: the softmax kernel.\n")
    assert "may be one fault" not in once and "**Claims that" not in once


def test_a_silent_probe() -> None:
    text = answered(f"The wrapper [D2H_SAFE] did not appear, so it is earlier.\n\n{SYMPTOMS}")
    assert "only if the program that ran contains it" in part(text, "Claimed")
    assert "grep -F 'D2H_SAFE'" in part(text, "Please add")
    assert "strings" not in answered(f"The wrapper [D2H_SAFE] printed its size.\n\n{SYMPTOMS}")


def test_expected_output_is_no_log() -> None:
    expected = "## Expected Outputs\n```\nerror: hipModuleLoad failed: hipErrorNoBinaryForGpu\n```\n## Log\n"
    assert "hipModuleLoad" not in answered(f"{expected}{LOG}")
    assert "cudaErrorLaunchFailure" in answered(f"{expected}{LOG}")
    assert "no device code" in answered(expected.replace("Expected Outputs", "Output"))


def test_headings_claim_nothing_and_the_same_is_said_once() -> None:
    text = answered(f"## 가능한 원인들\n## Possible causes\nThe bug is in cudaFree.\ncudaFree is broken.\n\n{LOG}")
    assert "원인들" not in text and "Possible causes" not in text
    assert text.count("cudaFree only returned it") == 1 and "“The bug is in cudaFree.”; “cudaFree is broken.”" in text


def test_a_build_that_was_called_clean() -> None:
    warned = "```\nwarning: /usr/include/crt/mma.hpp(91): Warning: cannot perform wmma load or store on local memory\n```\n"
    assert "the compiler warned at line 4" in part(answered(f"Build is clean.\n\n{warned}"), "Claims that")
    assert "**Claims that" not in answered(f"Build is slow.\n\n{warned}")


def test_a_cause_in_kernels_does_not_explain_a_copy() -> None:
    runs = "```\nRun 1: FAILED. 214 passed; 5 failed\nRun 2: ok. 219 passed; 0 failed\n```\n"
    tests = "1. `test_fold_rows`\n2. `test_buffer_copy`\n"
    assert "explains `test_buffer_copy`" in answered(f"Root cause: the kernel cache.\n{tests}\n{runs}")
    assert "explains" not in answered(f"Root cause: the kernel cache.\n1. `test_fold_rows`\n\n{runs}")
    assert "gpudx flake -- ./app" in part(answered(runs), "Please add")


FAULT = """```
$ compute-sanitizer ./fill
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at fill(float *, int)+0x60 in a.cu:5
=========     by thread (232,0,0) in block (3,0,0)
=========     Address 0x7f5c4ba00fa0 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f5c4ba00000 of size 4000 bytes
=========
========= ERROR SUMMARY: 1 error
```
"""


def test_a_sentence_of_a_person_is_no_line_of_a_log() -> None:
    text = answered(f"It crashes with an illegal memory access. I think the bug is in `cudaMemcpyAsync`.\n\n{LOG}")
    assert "(line 5)" in part(text, "Established") and "illegal address" not in part(text, "Established")
    assert "first to notice it" in part(text, "Claims that")
    alone = answered("I get cudaErrorIllegalAddress from my program.\n")
    assert "cudaErrorIllegalAddress" in part(alone, "Established")


def test_claims_about_the_kernel_and_sizes_are_held_against_the_fault() -> None:
    text = answered(f"The kernel is correct. We allocate 4096 bytes.\n\n{FAULT}")
    against = part(text, "Claims that")
    assert "“The kernel is correct.”: line 6: fill writes 4 bytes" in against
    assert "line 6 shows an allocation of 4,000 bytes" in against
    right = answered(f"The kernel is slow. We allocate 4000 bytes.\n\n{FAULT}")
    assert "**Claims that" not in right


def test_a_rank_that_waited_is_not_at_fault() -> None:
    waited = (
        "[rank5]:[E] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=204, OpType=ALLREDUCE) "
        "ran for 600029 milliseconds before timing out.\n"
    )
    text = answered(f"Rank 5 is at fault because it prints this:\n\n{waited}")
    assert "rank 5 waited for another rank" in part(text, "Claims that")
    assert "the output of all other ranks" in part(text, "Please add")
    assert "**Claims that" not in answered(f"Rank 3 is at fault because it is slow.\n\n{waited}")


def test_limits_and_types_of_numbers() -> None:
    refused = "```\nclGetDeviceInfo MAX_WORK_GROUP_SIZE = 256\nERROR: clEnqueueNDRangeKernel(blur) -> -54\n```\n"
    text = answered(f"The local size 32 x 32 is fine. It is a race condition.\n\n{refused}")
    against = part(text, "Claims that")
    assert "32 x 32 is 1,024, and line 4 says that the device takes 256" in against
    assert "the first error is a refusal (line 5)" in against
    assert "**Claims that" not in answered(f"The local size is 16 x 16.\n\n{refused}")
    large = "The table has 3,072,000,000 elements, which {} in int32.\n\n" + LOG
    assert "does not fit in a 32-bit index" in part(answered(large.format("fits")), "Claims that")
    assert "**Claims that" not in answered(large.format("does not fit"))


def test_what_an_observation_does_not_show() -> None:
    text = answered(f"It works with CUDA_LAUNCH_BLOCKING=1, so I think it is fine. compute-sanitizer shows nothing.\n\n{LOG}")
    claimed = part(text, "Claimed")
    assert "points to order or timing" in claimed and "only for the checks that ran" in claimed
    assert "the complete output of compute-sanitizer" in part(text, "Please add")
    assert "the complete output of compute-sanitizer" not in answered(f"I ran compute-sanitizer, it shows nothing.\n\n{FAULT}")


def test_a_test_that_fails_sometimes_is_run_many_times() -> None:
    failed = "```\ntests/test_a.py::test_sum FAILED\nE   AssertionError: sums differ\n```\n"
    assert "`gpudx flake -- pytest tests/test_a.py`" in part(answered(f"It fails in 3 of 20 runs.\n\n{failed}"), "Please add")
    assert "gpudx flake" not in answered(f"It fails always.\n\n{failed}")
