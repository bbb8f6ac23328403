"""Every entry of the dispatch table: recorded with the right words, and without any effect on the caller."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from every_entry import array_content, every_entry, known_words
from fake_opencl import opencl_calls
from native_kit import Kit, Ran

from gpudx.trace import Trace


@pytest.fixture(scope="module")
def runs(kit: Kit) -> Iterator[tuple[Ran, Ran]]:
    # The fake driver numbers all that it makes: without events of ours, so that the numbers are the same.
    yield kit.both([kit.program(every_entry(kit.shared), "-O0")], env={"GPUDX_CRUMBS": "off"})


def test_results_and_errno_are_the_same(runs: tuple[Ran, Ran]) -> None:
    plain, recorded = runs
    assert plain.returncode == 0
    assert "changed errno" not in plain.stdout
    assert recorded.seen == plain.seen


def records_of(trace: Trace, name: str) -> list[int]:
    info = trace.schema.by_name(name)
    assert info
    return [int(p) for p in trace.select(info)]


def test_every_entry_is_recorded_with_its_words(runs: tuple[Ran, Ran]) -> None:
    trace = runs[1].trace()
    assert trace.gaps == ()
    for number, call in enumerate(opencl_calls()):
        positions = records_of(trace, call.name)
        assert len(positions) == 2 + (2 if call.name == "clCreateKernel" else 0), call.name
        for position in positions[:2]:
            record = trace.record(position)
            assert {n: record[n] for n in known_words(call, number)} == known_words(call, number), call.name
            assert int(trace.column("end")[position]) > 0
            for name in call.arrays:
                content = trace.array(position, name)
                assert content, (call.name, name)
                assert array_content(call, number, name).startswith(content), (call.name, name)


def test_results_are_recorded(runs: tuple[Ran, Ran]) -> None:
    """What the program got is what the trace has."""
    plain, recorded = runs
    trace = recorded.trace()
    printed = [line.split() for line in plain.stdout.splitlines()]
    for call in opencl_calls():
        given = [int(result, 16) for name, result, _ in printed if name == call.name]
        for position, value in zip(records_of(trace, call.name)[:2], given, strict=True):
            record = trace.record(position)
            if "result" in record:
                assert record["result"] == value, call.name
            if call.returns == "cl_int":
                assert int(trace.column("status")[position]) == np.int64(value).astype(np.int32), call.name


def test_events_are_recorded_where_the_program_asked_for_them(runs: tuple[Ran, Ran]) -> None:
    trace = runs[1].trace()
    for call in opencl_calls():
        if any(call.is_out_event(p) for p in call.params):
            first, second = records_of(trace, call.name)
            assert trace.record(first)["event"] != 0, call.name
            assert trace.record(second)["event"] == 0, call.name


def test_build_options_are_the_programs_own(kit: Kit) -> None:
    """The recorder adds one to learn about arguments; the program must not find it."""
    plain, recorded = kit.both([kit.program("builds")])
    assert recorded.seen == plain.seen
    trace = recorded.trace()
    logs = records_of(trace, "note_build_log")
    assert [len(trace.text(p)) for p in logs] == [99_999]
    assert trace.array(records_of(trace, "clBuildProgram")[2], "options") == b"-O2"


def test_a_failing_call_leaves_its_results_alone(kit: Kit, tmp_path: Path) -> None:
    """Where the driver refuses a call, it has written nothing to the caller's pointers: nobody may read them."""
    ran = kit.run([kit.program("refused")], "symbols")
    assert ran.seen == kit.run([kit.program("refused")], "plain").seen == (0, "refused\n", "")
    trace = ran.trace()
    for name in (
        "clEnqueueNDRangeKernel",
        "clEnqueueTask",
        "clEnqueueMarker",
        "clEnqueueReadBuffer",
        "clEnqueueMapBuffer",
    ):
        (position,) = records_of(trace, name)
        assert int(trace.column("status")[position]) == -36, name
        assert trace.record(position)["event"] == 0, name
