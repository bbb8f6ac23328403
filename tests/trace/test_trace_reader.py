"""Reading real traces: calls in order, gaps that are told, words of the dying."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import pytest
from exercise import exercise
from native_kit import Kit

from gpudx.errors import UserError
from gpudx.trace import Trace, open_case, open_trace

NOBODY = 65534


def test_calls_come_in_order_of_time(threaded: Path) -> None:
    trace = open_trace(threaded)
    begin = trace.column("begin")
    assert (begin[1:] >= begin[:-1]).all()
    assert len(trace) > 1000


def test_launches_have_their_arguments(crashed: Path) -> None:
    trace = open_trace(crashed)
    launches = trace.select(trace.schema.doing("launch"))
    owner, arguments = trace.arguments(launches)
    assert len(launches) == 200
    assert list(owner) == [i for i in range(200) for _ in range(3)]
    assert list(arguments["value"][0::3]) == [0x7000 + i for i in range(200)]
    flags = trace.schema.argument_flags
    assert (arguments["flags"][2::3] == flags["set"] | flags["local"]).all()
    assert (arguments["size"][2::3] == 256).all()
    tail = int(arguments["tail"][1])
    assert trace.argument_tail(int(launches[9]))[tail : tail + 40] == bytes([9]) * 40
    assert list(trace.words(launches, 4)) == list(range(1, 201))


def test_the_dying_words(crashed: Path) -> None:
    trace = open_trace(crashed)
    words = trace.last_words
    assert words
    assert (words.signal, words.address) == (11, 16)
    assert words.registers[16] == words.pc
    assert words.stack
    assert "launches" in trace.maps
    assert trace.exe.endswith("/launches")
    assert trace.argv[1:] == ("crash",)
    assert 0 <= words.time_s < 60
    (position,) = np.flatnonzero(trace.column("end") == 0)
    assert trace.info(int(position)).name == "clFinish"


def test_stacks_point_to_their_calls(kit: Kit) -> None:
    driver = kit.linked("core_driver")
    trace = kit.run([driver, "failing", "3"], "linked").trace()
    note, call = trace.schema.by_name("note_stack"), trace.schema.by_name("clSetKernelArg")
    assert note
    assert call
    stacks, failing = trace.select(note), trace.select(call)
    assert list(trace.words(stacks, 0)) == list(trace.slot_address(failing))


def test_everything_can_be_used(crashed: Path, threaded: Path) -> None:
    assert exercise(crashed)
    assert exercise(threaded)


def test_a_case_has_its_traces_oldest_first(crashed: Path, threaded: Path, tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces/1.gdx").symlink_to(threaded)
    (tmp_path / "traces/2.gdx").symlink_to(crashed)
    (tmp_path / "traces/9-0.part").write_bytes(b"a process killed before its trace was ready")
    starts = [int(t.header["start_mono_ns"]) for t in open_case(tmp_path)]
    assert len(starts) == 2
    assert starts == sorted(starts)
    with pytest.raises(UserError):
        open_case(tmp_path / "traces")


@pytest.mark.parametrize(
    "kind", ["missing", "empty", "directory", "text", "elf", "fifo", "device", "short", "no-permission"]
)
def test_what_is_not_a_trace_is_refused(tmp_path: Path, crashed: Path, kind: str) -> None:
    path = tmp_path / "file"
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "directory":
        path.mkdir()
    elif kind == "text":
        path.write_text("hello " * 10_000)
    elif kind == "elf":
        path = Path("/proc/self/exe")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/zero")
    elif kind == "short":
        path.write_bytes(crashed.read_bytes()[:20])
    elif kind == "no-permission":
        path.write_bytes(crashed.read_bytes())
        path.chmod(0)
    with as_nobody() if kind == "no-permission" else nullcontext(), pytest.raises(UserError, match=str(path)):
        open_trace(path)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read everything; nobody may not."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_newer_trace_says_what_to_do(crashed: Path, tmp_path: Path) -> None:
    path = tmp_path / "newer.gdx"
    data = bytearray(crashed.read_bytes())
    data[8:12] = (99).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(UserError, match="update gpudx"):
        open_trace(path)


def test_reading_is_fast(kit: Kit) -> None:
    """A trace is read as arrays: half a million calls in well under a second or two."""
    driver = kit.linked("core_driver")
    trace: Trace = kit.run([driver, "ring", "500000"], "linked", keep="all").trace()
    assert len(trace) == 500_000
