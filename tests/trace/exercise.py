"""Uses everything a Trace offers, the way the rest of gpudx does."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpudx.errors import UserError
from gpudx.trace import Trace, open_trace

SOME = 40  # records looked at one by one
COLUMNS = ("begin", "end", "caller", "status", "flags", "tid", "blob", "blob_bytes")


def exercise(path: Path, *, all_calls: bool = True) -> Trace | None:
    """Reads `path` from end to end. None if it was refused with a UserError; any other exception is a bug."""
    try:
        trace = open_trace(path)
    except UserError as error:
        assert str(path) in str(error)
        return None
    _process(trace)
    _columns(trace)
    if all_calls:
        _calls(trace)
    _records(trace)
    _launches(trace)
    return trace


def _process(trace: Trace) -> None:
    assert isinstance(trace.exe, str)
    assert all(isinstance(a, str) for a in trace.argv)
    assert isinstance(trace.maps, str)
    assert trace.ticks_per_second > 0
    assert trace.pid >= 0 <= trace.ppid
    assert trace.entries >= 0
    assert trace.ended in (True, False)
    words = trace.last_words
    assert words is None or len(words.stack) <= 1 << 20
    assert all(g.kind and g.text and g.count >= 0 for g in trace.gaps)


def _columns(trace: Trace) -> None:
    for name in COLUMNS:
        assert len(trace.column(name)) == len(trace)
    assert np.isfinite(trace.seconds(trace.column("begin"))).all()
    assert len(trace.call) == len(trace)


def _calls(trace: Trace) -> None:
    for call in trace.schema.calls:
        positions = trace.select(call)
        for name, _ in call.fields:
            assert len(trace.field(call, name, positions)) == len(positions)
    trace.select(trace.schema.doing("launch"))


def _records(trace: Trace) -> None:
    count = len(trace)
    for position in {*range(min(SOME, count)), *range(max(0, count - SOME), count)}:
        trace.record(position)
        assert isinstance(trace.text(position), str)
        trace.numbers(position)
        trace.parts(position)
        trace.argument_tail(position)
        for name in trace.info(position).arrays:
            trace.array(position, name)


def _launches(trace: Trace) -> None:
    launches = trace.select(trace.schema.doing("launch"))
    trace.slot_address(launches)
    owner, arguments = trace.arguments(launches)
    assert len(owner) == len(arguments)
    assert not len(owner) or int(owner.max()) < len(launches)
