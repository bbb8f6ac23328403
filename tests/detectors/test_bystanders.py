"""bystander-changed, on PoCL: memory that a launch was not given and that changed under it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.opencl import PROGRAMS, ROOT, OpenCL, Recorded
from support.simulated import crossed

from gpudx.diagnose import diagnose, watched_runs
from gpudx.model import Finding

ID = "bystander-changed"
CORRECT = ("ranges", "mapped", "events", "threads", "references", "own")
INCIDENTS = sorted({path.parent for path in (ROOT / "incidents").glob("opencl-*/*.c")})  # those that are compiled


def watch(opencl: OpenCL, *words: str, **environment: str) -> Recorded:
    return opencl.run("watched", *words, GPUDX_WATCH="1", **environment)


def only(recorded: Recorded) -> Finding:
    assert recorded.outcome.kind == "passed", recorded.output
    finding = recorded.only(ID)
    assert finding.severity == "error"
    return finding


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        (
            "part",
            "bytes 14 to 15 of subbuffer #2 (4,096 bytes), which it was not passed; argument 0 (subbuffer #1) ends 4,110",
        ),
        (
            "gap",
            "bytes 4,098 to 4,099 of buffer #1 (16,384 bytes, in none of its live parts), which it was not passed; argument 0",
        ),
        (
            "argument",
            "bytes 2 to 3 of subbuffer #1 (4,096 bytes), which it was passed only to read; argument 1 (subbuffer #2)",
        ),
        ("buffer", "bytes 22 to 23 of buffer #3 (4,096 bytes), which it was not passed"),
    ],
)
@pytest.mark.parametrize("device", ["", "basic"])
def test_the_only_launch_is_named(opencl: OpenCL, mode: str, says: str, device: str) -> None:
    """A float was written, of which the lower bytes are zero as before. PoCL's `basic` device runs kernels inside calls."""
    recorded = watch(opencl, mode, **({"POCL_DEVICES": device} if device else {}))
    finding = only(recorded)
    assert says in finding.message and finding.message.startswith("Launch ")
    assert finding.site is not None and finding.site.kernel == ("put_beside" if mode == "argument" else "put")
    assert diagnose(recorded.findings, recorded.outcome)[0].status == "likely"


def test_of_many_launches_none_is_accused(opencl: OpenCL) -> None:
    recorded = watch(opencl, "many")
    finding = only(recorded)
    assert "none of the 41 launches that ran in between was passed them" in finding.message and finding.site is None
    assert "of subbuffer #2" in finding.message and len(finding.others) == 8
    assert diagnose(recorded.findings, recorded.outcome)[0].status == "inconclusive"


@pytest.mark.parametrize(("mode", "launch"), [("many", 21), ("part", 2), ("argument", 1), ("buffer", 1)])
def test_a_look_at_each_launch_names_it(opencl: OpenCL, mode: str, launch: int) -> None:
    recorded = watch(opencl, mode, GPUDX_SERIALISE="1")
    finding = only(recorded)
    assert finding.site is not None and finding.site.launch == launch and finding.attribution == "this"
    (told,) = diagnose(recorded.findings, recorded.outcome)
    assert (told.cause, told.status) == ("write-into-bystander", "confirmed")


@pytest.mark.parametrize(("mode", "each"), crossed(CORRECT, ("0", "1")))
def test_correct_program_is_silent(opencl: OpenCL, mode: str, each: str) -> None:
    """Ranges, maps, a queue that waits for the program, threads, memory that the program can write itself."""
    plain = opencl.run("watched", mode)
    recorded = watch(opencl, mode, GPUDX_SERIALISE=each)
    assert (recorded.outcome.kind, recorded.output) == ("passed", plain.output)
    assert not recorded.findings
    counts = recorded.facts.watch.counts
    assert counts["looks"] > 1 and counts["watched"] >= 1 and not counts["untold"]
    assert not recorded.facts.watch.stopped


def test_each_process_is_watched(opencl: OpenCL) -> None:
    recorded = watch(opencl, "processes")
    assert recorded.outcome.kind == "passed" and len(recorded.traces) == 2 and not recorded.findings
    assert watch(opencl, "processes", "part").only(ID).severity == "error"


def test_memory_that_is_not_watched_is_counted(opencl: OpenCL) -> None:
    facts = watch(opencl, "own").facts
    assert list(facts.watch.missed.values()) == [1] and "CL_MEM_USE_HOST_PTR" in next(iter(facts.watch.missed))
    said = watched_runs.instrument([facts])
    assert said.state == "live" and "Compared 2 of 3 pieces of memory" in said.saw and "CL_MEM_USE_HOST_PTR" in said.saw


def test_the_limit_leaves_memory_out(opencl: OpenCL) -> None:
    recorded = watch(opencl, "buffer", GPUDX_WATCH_LIMIT="20000")
    assert not recorded.findings and recorded.facts.watch.missed == {"no room under --watch-limit": 2}
    assert watch(opencl, "buffer", GPUDX_WATCH_LIMIT="24576").only(ID)


def test_only_memory_of_some_sizes(opencl: OpenCL) -> None:
    recorded = watch(opencl, "buffer", GPUDX_WATCH_SIZES="7,4096")
    assert recorded.only(ID) and recorded.facts.watch.counts["watched"] == 2


def test_without_a_look_nothing_is_clean(opencl: OpenCL) -> None:
    facts = opencl.run("watched", "ranges").facts
    assert not facts.watch.counts and watched_runs.instrument([facts]).failed


def test_overwritten_calls_are_not_judged(opencl: OpenCL) -> None:
    """With a small ring most calls are gone, and with them who was given what."""
    recorded = watch(opencl, "loop", GPUDX_KEEP="1048576")
    assert recorded.facts.trace.gaps and not recorded.findings
    assert any("overwritten" in why for why in recorded.facts.bystanders.unjudged)


@pytest.mark.parametrize("incident", INCIDENTS, ids=lambda path: path.name)
def test_twin_of_an_incident(opencl: OpenCL, incident: Path) -> None:
    recorded = opencl.record([opencl.short_twin(incident)], GPUDX_WATCH="1")
    assert recorded.outcome.kind == "passed", recorded.output
    assert not recorded.findings


@pytest.mark.parametrize("each", ["0", "1"])
def test_pyopencl(opencl: OpenCL, each: str) -> None:
    words = [sys.executable, PROGRAMS / "pyopencl_queues.py"]
    recorded = opencl.record(words, GPUDX_WATCH="1", GPUDX_SERIALISE=each)
    assert recorded.output.rstrip().endswith("right"), recorded.output
    assert not recorded.errors and not recorded.of(ID) and recorded.facts.watch.counts["looks"]


@pytest.mark.parametrize("mode", ["right", "threads"])
def test_with_a_fence(opencl: OpenCL, mode: str) -> None:
    recorded = opencl.run("fenced", mode, GPUDX_FENCE="high", GPUDX_WATCH="1")
    assert recorded.outcome.kind == "passed", recorded.output
    assert not recorded.findings and recorded.facts.watch.counts["looks"]
