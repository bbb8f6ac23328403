"""What is put into which stream where one CUDA operation is held, or waits for another. The driver is a fake (tests/cuda): this
says which calls are made, never that a GPU did anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from order_kit import Kit, Played, Stage, asked, done_at, play_cuda
from support.typed import pair

from gpudx.detectors import Run, detect_all
from gpudx.facts.nth import LEAST_MS, MOST_MS
from gpudx.model import Finding, Outcome
from gpudx.trace.reader import Gap

ALL = 7
PASSED = Outcome("passed", "The program ended normally.", 0)
ADD = "_Z3addPKfS0_Pfi"


def race(stage: Stage, program: str, mode: str, name: str = "unordered-access") -> Finding:
    return next(f for f in stage(program, mode, "bug").findings if f.id == name)


def work(
    kit: Kit, folder: Path, mode: str, program: str = "cuda_streams", **environment: str
) -> tuple[Played, list[str]]:
    """A run, and what its streams were given: "copy a", "launch b". Streams are named in the order in which they come."""
    told = folder / "streams"
    told.unlink(missing_ok=True)
    played = play_cuda(kit, program, (mode, "judged"), FAKE_CUDA_STREAMS=str(told), **environment)
    lines = [line.split() for line in told.read_text().splitlines()]
    names = {stream: "abc"[n] for n, stream in enumerate(dict.fromkeys(stream for _, stream in lines))}
    return played, [f"{what} {names[stream]}" for what, stream in lines]


def test_named_by_call_and_by_compiled_kernel(stage: Stage) -> None:
    named = asked(race(stage, "cuda_streams", "no-event"), "hold", "edge")
    call, _, milliseconds = named["GPUDX_HOLD"].rpartition(":")
    assert (call, named["GPUDX_EDGE"]) == ("cuMemcpyHtoDAsync_v2:1", f"cuMemcpyHtoDAsync_v2:1>{ADD}:1")
    assert LEAST_MS <= int(milliseconds) <= MOST_MS  # a busy machine puts time between the two calls


def test_the_second_launch_of_a_kernel_is_the_second(stage: Stage) -> None:
    finding = race(stage, "cuda_streams", "half-join")
    assert pair(finding).edge == f"{ADD}:2>{ADD}:3"


def test_calls_that_the_record_lost_leave_nothing_to_count(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = stage("cuda_streams", "no-event", "bug").facts
    copy = next(f for f in detect_all(facts, Run(PASSED)) if f.id == "unordered-access").others[0].number - 1
    assert facts.nth.call(copy) == "cuMemcpyHtoDAsync_v2:1"
    monkeypatch.setattr(facts.trace, "gaps", (Gap("overwritten", "the oldest 9 calls were overwritten", 9),))
    assert facts.nth.call(copy) is None and facts.nth.pair(copy, copy) is None


def test_an_event_that_was_never_recorded_names_the_same_pair(stage: Stage) -> None:
    told = [f for f in stage("cuda_streams", "recorded-after-wait", "bug").findings if f.pair and f.pair.edge]
    assert {f.id for f in told} == {"unordered-access", "wait-for-unrecorded-event"}
    assert len({pair(f).edge for f in told}) == 1


@pytest.mark.parametrize(
    ("which", "wanted"),
    [
        ((), ["copy a", "launch b"]),
        (("hold",), ["function a", "copy a", "launch b"]),
        (("edge",), ["copy a", "event a", "wait b", "launch b"]),
        (("hold", "edge"), ["function a", "copy a", "event a", "wait b", "launch b"]),
    ],
)
def test_only_at_the_two_calls(
    stage: Stage, kit: Kit, tmp_path: Path, which: tuple[str, ...], wanted: list[str]
) -> None:
    finding = race(stage, "cuda_streams", "no-event")
    played, given = work(kit, tmp_path, "no-event", **asked(finding, *which))
    assert given == wanted and (played.code, played.output) == (0, "right\n") and played.trace is not None
    done = done_at(played.trace)
    assert sum(at for at, _ in done) == {(): 0, ("hold",): 1, ("edge",): 6}.get(which, ALL)
    assert not [why for _, why in done if why]


def test_none_of_it_is_recorded_as_a_call(stage: Stage, kit: Kit, tmp_path: Path) -> None:
    """So the record says the same of the program, and the finding stays."""
    finding = race(stage, "cuda_streams", "no-event")
    played, _ = work(kit, tmp_path, "no-event", **asked(finding, "hold", "edge"))
    (again,) = [f for f in played.findings if f.id == finding.id]
    assert (again.fingerprint, pair(again).edge) == (finding.fingerprint, pair(finding).edge)


def test_a_free_waits_for_the_last_use(stage: Stage, kit: Kit, tmp_path: Path) -> None:
    mode = "free-on-other-stream"
    finding = race(stage, "cuda_memory", mode, "freed-while-in-use")
    assert pair(finding).edge == f"{ADD}:2>cuMemFreeAsync:1"
    _, plain = work(kit, tmp_path, mode, "cuda_memory")
    played, given = work(kit, tmp_path, mode, "cuda_memory", **asked(finding, "edge"))
    assert len(given) == len(plain) + 2 and played.trace is not None
    assert sum(at for at, _ in done_at(played.trace)) == 6


def test_a_graph_is_one_operation(stage: Stage, kit: Kit, tmp_path: Path) -> None:
    finding = race(stage, "cuda_graphs", "output-read")
    assert pair(finding).edge == "cuGraphLaunch:1>cuMemcpyDtoHAsync_v2:1"
    played, given = work(kit, tmp_path, "output-read", "cuda_graphs", **asked(finding, "hold", "edge"))
    assert given[-3:] == ["function a", "event a", "wait b"] and played.trace is not None
    assert sum(at for at, _ in done_at(played.trace)) == ALL


def test_nothing_while_a_stream_is_captured(kit: Kit, tmp_path: Path) -> None:
    played, given = work(kit, tmp_path, "output-read", "cuda_graphs", GPUDX_HOLD=f"{ADD}:1:300")
    assert played.trace is not None and "function a" not in given
    assert done_at(played.trace) == [(1, "a stream was being captured")]


def test_a_driver_that_refuses(kit: Kit, tmp_path: Path) -> None:
    environment = {"GPUDX_HOLD": "cuMemcpyHtoDAsync_v2:1:300", "FAKE_CUDA_REFUSE": "cuLaunchHostFunc:1:801"}
    played, given = work(kit, tmp_path, "no-event", **environment)
    assert given == ["copy a", "launch b"] and played.trace is not None
    assert done_at(played.trace) == [(1, "the driver took no host function")]
