"""What is in HIP graphs when they are launched. Programs are built by the real hipcc; execution is simulated (tests/hip/sim), with the
numbers of node types of HIP 5 and of later versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cuda_kit import Ran, decode, of, values
from hip_kit import Kit

from gpudx.detectors import Run, detect_all
from gpudx.facts import derive
from gpudx.model import Finding, Outcome

VERSIONS = ("0", "1")
HOW = ("captured", "added")


def run(kit: Kit, *words: str, version: str = "0") -> Ran:
    return kit.run_hip(kit.hip_program("graphs"), *words, GPUDX_HIP_SIM_MAPPINGS=version)


def found(ran: Ran) -> list[Finding]:
    outcome = Outcome("exit" if ran.returncode else "passed", "The program ended.", ran.returncode)
    return [f for f in detect_all(derive(ran.trace()), Run(outcome)) if f.severity == "error"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("how", HOW)
def test_kernels_and_their_arguments_are_known_at_the_launch(kit: Kit, how: str, version: str) -> None:
    ran = run(kit, how, "keep", version=version)
    trace = ran.trace()
    facts = derive(trace)
    memory = [c.words["result"] for c in of(decode(trace), "hipMalloc")]
    seen = facts.graphs.version(1)
    assert seen is not None and [facts.graphs.name(n) for n in seen.nodes if n.kind == "kernel"] == ["kernel store"] * 2
    given = [values(trace, n.position) for n in seen.nodes if n.kind == "kernel"]
    assert [[int.from_bytes(value, "little") for _, _, value in one] for one in given] == [
        [address, 0, 64] for address in memory[:2]
    ]
    fills = [trace.record(n.position)["dst"] for n in seen.nodes if n.kind == "fill"]
    assert fills == ([memory[1]] if how == "captured" else [])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("how", HOW)
def test_memory_that_a_graph_still_holds_is_told(kit: Kit, how: str, version: str) -> None:
    one, *_ = [f for f in found(run(kit, how, "free", version=version)) if f.id == "graph-holds-dead-pointer"]
    assert "kernel store, still has it as argument 0" in one.message and "hipFree" in one.message


@pytest.mark.parametrize("change", ["keep", "node", "update"])
@pytest.mark.parametrize("how", HOW)
def test_graphs_that_were_changed_in_time_are_not_accused(kit: Kit, how: str, change: str) -> None:
    ran = run(kit, how, change)
    assert ran.returncode == 0 and not found(ran)


def test_a_runtime_that_wants_a_list_in_any_case_does_not_crash(kit: Kit) -> None:
    built = kit.hip_program("graphs")
    plain = kit.run_hip(built, "captured", "keep", record=False)
    assert kit.run_hip(built, "captured", "keep", GPUDX_HIP_SIM_STRICT="1").seen == plain.seen


@pytest.mark.parametrize("words", [("captured", "free"), ("added", "node"), ("captured", "update")])
def test_the_program_does_not_notice(kit: Kit, words: tuple[str, str]) -> None:
    plain = kit.run_hip(kit.hip_program("graphs"), *words, record=False)
    assert run(kit, *words).seen == plain.seen and "made 0 last 0" in plain.stdout


def replayed(kit: Kit, folder: Path, *words: str) -> dict[str, Any]:
    return kit.case_of(kit.hip_program("replay"), folder, *words)


def test_host_memory_that_a_graph_copies_and_that_is_gone(kit: Kit, tmp_path: Path) -> None:
    """The device reports an illegal address, and no kernel is to blame."""
    best = replayed(kit, tmp_path)["diagnosis"][0]
    assert (best["cause"], best["status"]) == ("host-memory-freed-in-use", "confirmed")
    assert "captured with hipMemcpyAsync (call 6, replay.hip:" in best["summary"] and best["guilty"]["call"] == "hipGraphLaunch"


@pytest.mark.parametrize("word", ["good", "past"])
def test_host_memory_that_was_there_when_the_device_faulted_is_not_blamed(kit: Kit, tmp_path: Path, word: str) -> None:
    """With "past" it is freed before the program ends."""
    case = replayed(kit, tmp_path, word)
    assert (case["outcome"]["kind"] == "passed") == (word == "good")
    assert "host-memory-gone" not in [one["id"] for one in case["findings"]]
