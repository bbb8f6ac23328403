"""What wraps a line of a log is taken off; what is broken in it breaks nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.simulated import times
from support.typed import written
from test_logs import LOUD, SILENT

from gpudx.diagnose.logs import explain
from gpudx.evidence.logs._clean import clean_block, clean_line
from gpudx.evidence.logs._fold import Log, read_log
from gpudx.evidence.logs._near import FARTHEST
from gpudx.evidence.logs._numbers import address

BARE = "RuntimeError: CUDA error: misaligned address"
WRAPPED = [
    f"2026-01-02T03:04:05.1234567Z {BARE}",
    f"2026-01-02T03:04:05.1234567Z ##[error]{BARE}",
    f"::error file=a.py,line=1::{BARE}",
    f"trainer-1  | {BARE}",
    f"Jan  2 03:04:05 node7 python[123]: {BARE}",
    f"> {BARE}",
    f"> > {BARE}",
    f"[1,0]<stderr>:{BARE}",
    f"[rank0]: {BARE}",
    f"(EngineCore pid=12) ERROR 01-02 03:04:05 [core.py:12] {BARE}",
]


@pytest.mark.parametrize("line", WRAPPED)
def test_prefixes(line: str) -> None:
    assert clean_line(line.encode()) == BARE


def test_what_looks_like_a_prefix_in_a_path_stays() -> None:
    for line in ("a.cu:7: error", 'File "x.py", line 3', "#0 0x1 in main"):
        assert clean_line(line.encode()) == line


def one(data: bytes) -> Log:
    return read_log("x", [data])


@pytest.mark.parametrize(
    "data",
    [
        b"\x1b[31mRuntimeError: \x1b[1mCUDA error\x1b[0m: misaligned address\n",
        b" 10%|#  |\r 20%|## |\rRuntimeError: CUDA error: misaligned address\r\n",
        ("\ufeff" + BARE + "\n").encode("utf-16-le"),
        b"\xff\xfe\x80 " + BARE.encode() + b" \xf0\x28\n",
        b"\0\0" + BARE.encode() + b"\0",
        b"```\n" + BARE.encode() + b"\n```\n",
        BARE.encode(),
    ],
)
def test_broken_and_coloured(data: bytes) -> None:
    (told,) = one(data).told
    assert told.event.kind == "misaligned-address"


def test_line_numbers_across_blocks() -> None:
    filler = b"nothing to see in this line at all\n" * 3000
    data = filler + BARE.encode() + b"\n" + filler + b"NVRM: Xid (PCI:0000:01:00): 79, x\n" + filler
    for step in (1 << 20, 50_001):
        log = read_log("x", (data[at : at + step] for at in range(0, len(data), step)))
        assert [told.event.line for told in log.told] == [3001, 6002]
        assert log.lines == 9002 and log.size == len(data)


def test_endless_lines_are_bounded() -> None:
    log = one(b"x" * (5 * FARTHEST) + BARE.encode() + b"y" * (3 << 20))
    assert log.lines == 1 and all(len(told.event.quote) <= 300 for told in log.told)


PIECES = st.sampled_from([line for text, _ in LOUD.values() for line in text.split("\n")] + SILENT.split("\n"))
BROKEN = st.one_of(PIECES.map(str.encode), st.binary(max_size=60), PIECES.map(lambda t: t.encode()[len(t) // 3 : -3]))


@settings(max_examples=times(150), deadline=None)
@given(st.lists(BROKEN, max_size=25), st.sampled_from([b"\n", b"\r\n", b"\r", b" ", b"\0\n"]), st.integers(1, 400))
def test_no_input_breaks_it(pieces: list[bytes], between: bytes, step: int) -> None:
    data = between.join(pieces)
    log = read_log("x", (data[at : at + step] for at in range(0, len(data), step)))
    told = explain([log])
    assert all(1 <= int(written(found).line or 0) <= max(1, log.lines) + 1 for found in told.findings)


@settings(max_examples=times(200), deadline=None)
@given(st.binary(max_size=300))
def test_cleaning_never_fails(data: bytes) -> None:
    clean_line(clean_block(data))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "null pointer"),
        (0x18, "null plus 24 bytes"),
        (0x48008, "294,912 = 9 * 2^15 plus 8"),
        (0xCBCBCBCBCBCBCBCB, "--poison"),
        (0x3F8000003F800000, "the floats 1 and 1"),
        (0x6F6C6C6568206568, "the text"),
        (0xFFFFFFFFFFFFFF00, "the negative number -256"),
        (0x7F0012340000, ""),
    ],
)
def test_addresses(value: int, said: str) -> None:
    assert said in address(value) and bool(said) == bool(address(value))
