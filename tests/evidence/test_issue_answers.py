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
