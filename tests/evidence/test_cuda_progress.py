"""The driver's lines about a core dump in the making: whole, cut off, mixed with other output."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudx.errors import UserError
from gpudx.evidence.cuda_progress import parse, read, sniff, to_findings

TIME = "[06:30:11.249157] coredump: "


def said(*lines: str) -> str:
    return "".join(f"{TIME}{line}\n" for line in lines)


START = said(
    "Starting GPU coredump generation",
    "Detected an exception of type CUDBG_EXCEPTION_WARP_MISALIGNED_ADDRESS (6)",
    "  - Device: 0",
    "  - SM: 17",
    "  - Warp: 3",
    "  - PC 0x7f0000000d60",
    "Stack trace (lane masks: active 0xFFFFFFFF, valid 0xFFFFFFFF):",
    "  #0\t0x7f0000001000\t_Z6helperPf",
    "  #1\t0x7f00000018a0\t_Z4sinkPfi",
    "SM 1/132 has finished state collection",
)
END = said("Writing ELF file to /tmp/my core.gpu", "95%...", "Finalizing", "Writing done", "All done (took 01s)")


def test_finished_dump() -> None:
    (dump,) = parse("hello\n" + START + END + "goodbye\n")
    assert dump.finished and dump.file == "/tmp/my core.gpu" and dump.percent == 95 and dump.sms == (1, 132)
    (found,) = dump.exceptions
    assert (found.exception, found.code, found.device, found.sm, found.warp) == (
        "CUDBG_EXCEPTION_WARP_MISALIGNED_ADDRESS",
        6,
        0,
        17,
        3,
    )
    assert found.pc == 0x7F0000000D60 and found.active == 0xFFFFFFFF and not found.exited
    assert found.kernel == "sink" and found.signature == "sink(float*, int)" and len(found.frames) == 2
    (finding,) = to_findings((dump,))
    assert finding.id == "gpu-exception-misaligned-address" and finding.message.startswith("Kernel sink failed")


def test_cut_off_is_never_finished() -> None:
    (dump,) = parse(START + said("95%..."))
    assert not dump.finished and dump.last == "95%..." and len(dump.exceptions) == 1
    assert [f.id for f in to_findings((dump,))] == ["gpu-exception-misaligned-address", "gpu-coredump-cut-off"]


def test_silent() -> None:
    assert parse("") == () and parse("nothing\ncoredump\n") == () and to_findings(()) == ()
    assert sniff("coredumpctl: nothing") == 0.0 and sniff(START) == 1.0 and sniff(TIME + "5%...\n") == 0.5


def test_exited_warp_prefix_and_colours() -> None:
    lines = said(
        "Detected an exception of type CUDBG_EXCEPTION_WARP_ILLEGAL_ADDRESS (14)",
        "  - SM: 124",
        "  - Warp: exception was detected after the warp has exited",
        "  - PC 0x10",
    )
    (dump,) = parse("".join(f"(worker pid=7) \x1b[1m{line}\x1b[0m\r\n" for line in lines.splitlines()))
    (found,) = dump.exceptions
    assert found.exited and found.warp is None and found.sm == 124 and found.kernel is None and found.pc == 0x10
    assert "had exited" in to_findings((dump,))[0].evidence[0].text


def test_two_dumps_in_one_log() -> None:
    dumps = parse(START + END + START)
    assert [d.finished for d in dumps] == [True, False]


def test_same_exception_on_many_sms_is_one_finding() -> None:
    lines = [
        line
        for n in range(20)
        for line in ("Detected an exception of type CUDBG_EXCEPTION_WARP_ASSERT (12)", f"  - SM: {n}", "  - PC 0x40")
    ]
    (finding,) = to_findings(parse(said(*lines, "All done (took 00s)")))
    assert finding.count == 20 and finding.id == "gpu-exception-assert"


def test_mutated_text_raises_nothing(tmp_path: Path) -> None:
    chance, source = random.Random(1), (START + END).encode()
    for _ in range(2000):
        bad = bytearray(source)
        for _ in range(10):
            at = chance.randrange(len(bad))
            bad[at : at + chance.choice((0, 1, 20))] = bytes(
                chance.choices(b"#0x9(): \t\n\xff-", k=chance.choice((0, 1, 30)))
            )
        to_findings(parse(bytes(bad)))
    with pytest.raises(UserError, match="cannot read"):
        read(tmp_path / "missing")


def test_real_lines(sample: Callable[[str], Path]) -> None:
    (whole,), (cut,) = read(sample("coredump-full-stderr.txt")), read(sample("coredump-light-stderr.txt"))
    assert whole.finished and not cut.finished and cut.percent == 95
    for dump in (whole, cut):
        (found,) = dump.exceptions
        assert (found.code, found.sm, found.kernel) == (14, 0, "rope_kernel")
