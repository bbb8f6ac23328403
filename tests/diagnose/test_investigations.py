"""gpudx investigate as a user runs it, on real programs and a real OpenCL device (PoCL)."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import forked, valid
from support.opencl import OpenCL
from support.own import PYTHONPATH
from support.simulated import SLOW

from gpudx.cli.demo import build_incident
from gpudx.demos import incidents

FAILING = Path(__file__).resolve().parent / "programs/failing.c"
SET_ROWS, SHARED = "opencl-set-rows-q4_0", "opencl-shared-kernel"
HEAP = pytest.mark.pocl("the write damages the heap of Intel's driver, which then ends the program in other ways")
STALE, DIMENSIONS = "stale-binary", "model-dimensions"


def surroundings(opencl: OpenCL, **environment: str) -> dict[str, str]:
    ours = {"GPUDX_LIB": str(opencl.recorder), "PYTHONPATH": PYTHONPATH}
    return {**os.environ, **environment, **opencl.loader.environment, **ours}


def start(opencl: OpenCL, *words: str | Path, **environment: str) -> forked.Running:
    return forked.start("investigate", *words, env=surroundings(opencl, **environment))


def investigate(opencl: OpenCL, case: Path, *words: str | Path, **environment: str) -> tuple[dict[str, Any], str, int]:
    """The case, all that was said, and the exit status."""
    before, after = words[: words.index("--")], words[words.index("--") :]
    done = forked.gpudx(
        "investigate", *before, "--case", case, *after, env=surroundings(opencl, **environment), timeout=280
    )
    return read(case), done.stdout + done.stderr, done.returncode


def read(case: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((case / "case.json").read_text())
    valid.check(data)
    return data


def status(case: dict[str, Any]) -> dict[str, str]:
    return {row["cause"]: row["status"] for row in case["investigation"]["table"]}


def incident(name: str, folder: Path, twin: bool = False, rounds: int = 1000) -> tuple[Path, dict[str, str]]:
    """A correct program fails in no round, so that a tenth of them will do; a race needs more to show in most runs."""
    one = shorter(incidents.every()[name], folder, 300 if twin else rounds)
    built = build_incident(one, folder / "build", twin)
    return built.program, built.environment


def shorter(one: incidents.Incident, folder: Path, rounds: int) -> incidents.Incident:
    place = Path(shutil.copytree(one.folder, folder / "shorter"))
    for source in place.glob("*.c"):
        source.write_text(source.read_text().replace("ROUNDS = 3000", f"ROUNDS = {rounds}"))
    return replace(one, folder=place)


def script(name: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    """The command of an incident that a script builds and runs."""
    one = incidents.every()[name]
    built = build_incident(one, folder / "build", twin=False)
    return [str(built.program.with_name(one.script)), *one.run], {**built.environment, **built.make}


def failing(opencl: OpenCL) -> Path:
    return opencl.build([FAILING], name="failing")


def test_a_failure_that_is_always_there(opencl: OpenCL, tmp_path: Path) -> None:
    program, environment = incident(SET_ROWS, tmp_path)
    case, said, code = investigate(opencl, tmp_path / "case", "--", program, **environment)
    assert code == 0 and case["investigation"]["stopped"] == "settled", said
    assert (case["diagnosis"][0]["cause"], case["diagnosis"][0]["status"]) == ("value-is-not-a-handle", "confirmed")
    assert case["investigation"]["trials"][0]["folder"] == "runs/001-recorded"
    assert len(case["investigation"]["trials"]) <= 2, (
        said
    )  # the record settles it; the second run says whether it repeats


@pytest.mark.early
def test_threads_that_share_a_kernel(opencl: OpenCL, tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("the race needs two processors")
    # Intel's driver shows the race in fewer rounds, of which each takes longer.
    program, environment = incident(SHARED, tmp_path, rounds=300 if opencl.loader.driver == "intel" else 1000)
    # Runs take several times as long on a busy machine, and the verdict needs two dozen of them; a look at all memory after each
    # wait of so many is as long as all others together. By default only what tells this cause from its rivals is run.
    deciding = ("--only", "fenced", "--only", "serialised", "--only", "turns")
    words = ("--budget", "240s", *(("--without", "watched") if SLOW else deciding))
    case, said, code = investigate(opencl, tmp_path / "case", *words, "--", program, **environment)
    assert code == 0 and status(case)["kernel-shared-by-threads"] == "confirmed", said


def test_a_program_that_is_not_what_its_sources_give(opencl: OpenCL, tmp_path: Path) -> None:
    """One run settles it: the mark is in the sources, and nothing that ran has it. It makes no launch, so it has no rivals."""
    words, environment = script(STALE, tmp_path)
    probes = ("--probe", *incidents.every()[STALE].probes)
    case, said, code = investigate(opencl, tmp_path / "case", *probes, "--", *words, **environment)
    assert code == 0 and case["investigation"]["stopped"] == "settled", said
    assert (case["diagnosis"][0]["cause"], case["diagnosis"][0]["status"]) == ("stale-executable", "confirmed")
    assert status(case) == {"stale-executable": "confirmed", "copy-range": "confirmed"}  # what the old program does
    assert [probe["state"] for probe in case["identity"]["probes"]] == ["absent"]


def test_without_a_mark_a_text_that_the_old_program_lacks_makes_it_likely(opencl: OpenCL, tmp_path: Path) -> None:
    words, environment = script(STALE, tmp_path)
    case, said, code = investigate(opencl, tmp_path / "case", "--", *words, **environment)
    told = {entry["cause"]: entry["status"] for entry in case["diagnosis"]}
    assert code == 0 and told["stale-executable"] == "likely" and told["copy-range"] == "confirmed", said
    (stale,) = [entry for entry in case["diagnosis"] if entry["cause"] == "stale-executable"]
    assert any("PROBE enter buffer_rows" in one["text"] for one in stale["evidence"])


def test_a_size_from_another_model(opencl: OpenCL, tmp_path: Path) -> None:
    """All buffers are parts of one, whose fence the kernel never meets; with a fence behind each part it does, in the very launch."""
    program, environment = incident(DIMENSIONS, tmp_path)
    case, said, code = investigate(opencl, tmp_path / "case", "--", program, **environment)
    best, rows = case["diagnosis"][0], status(case)
    assert code == 0 and (best["cause"], best["status"]) == ("model-dimensions", "confirmed"), said
    assert (best["guilty"]["kernel"], best["guilty"]["argument_name"]) == ("ffn_up", "hidden")
    assert rows["out-of-bounds-access"] == "confirmed", said  # what the wrong size leads to


def test_parts_in_memory_of_their_own_change_nothing_for_a_correct_program(opencl: OpenCL, tmp_path: Path) -> None:
    program, environment = incident(DIMENSIONS, tmp_path, twin=True)
    env = surroundings(opencl, **environment, GPUDX_PARTS="1")
    done = forked.gpudx("run", "--fence", "--case", tmp_path / "case", "--", program, env=env, timeout=100)
    assert done.returncode == 0 and "0 of 64 results are wrong" in done.stdout, done.stderr
    case = read(tmp_path / "case")
    fence = next(one for one in case["instruments"] if one["name"] == "fence")
    assert "Fenced 7 of 7 allocations" in fence["saw"] and not fence["blind"] and not case["diagnosis"]


def test_a_program_that_computes_with_fresh_memory_is_not_cleared_of_it(opencl: OpenCL, tmp_path: Path) -> None:
    """What comes back holds no pattern, but it is another number for each of them: that refutes nothing."""
    only = ("--only", "poisoned", "--only", "serialised")
    case, said, _ = investigate(opencl, tmp_path / "case", *only, "--", failing(opencl), "fresh")
    poisoned = [one for one in case["investigation"]["trials"] if one["experiment"] == "poisoned"]
    assert {one["fresh"] for one in poisoned} == {"cb", "4b", "zero"}, said
    assert len({one["given"] for one in poisoned}) == 3 and all(one["given"] for one in poisoned), said
    assert status(case)["read-before-write"] == "inconclusive", said


@pytest.mark.parametrize("name", [SET_ROWS, SHARED, DIMENSIONS])
def test_a_twin_does_not_fail(name: str, opencl: OpenCL, tmp_path: Path) -> None:
    program, environment = incident(name, tmp_path, twin=True)
    case, said, code = investigate(opencl, tmp_path / "case", "--runs", "6", "--", program, **environment)
    assert code == 1 and case["investigation"]["stopped"] == "the failure did not reproduce", said
    # Of six runs one is plain: what shows faults of runs that pass comes first.
    assert "It failed in 0 of 1 plain run" in case["investigation"]["reason"] and "NO FAILURE" in said
    assert len(case["investigation"]["trials"]) == 6 and "confirmed" not in status(case).values()


@pytest.mark.slow
def test_a_failure_at_random_is_inconclusive_with_its_rate(opencl: OpenCL, tmp_path: Path) -> None:
    count = tmp_path / "count"
    count.write_text("0")
    words = ("--runs", "45", "--", failing(opencl), "random")
    case, said, code = investigate(opencl, tmp_path / "case", *words, FAILING_COUNT=str(count))
    assert code == 1 and not {"confirmed", "likely"} & set(status(case).values()), said
    plain = case["observations"][0]
    assert 0 < plain["reproduced"] < plain["runs"] and plain["low"] < 0.5 < plain["high"], said
    assert "failure rate" in case["investigation"]["reason"] and "INCONCLUSIVE" in said


@pytest.mark.slow
def test_a_wait_that_helps_is_a_mitigation(opencl: OpenCL, tmp_path: Path) -> None:
    words = ("--without", "held-edge", "--without", "edge", "--", failing(opencl), "unordered")
    case, said, code = investigate(opencl, tmp_path / "case", *words)
    assert code == 1 and status(case)["order-or-timing"] == "likely", said
    assert "confirmed" not in status(case).values() and "mitigates" in said


@pytest.mark.slow
def test_the_missing_order_of_two_calls_is_a_cause(opencl: OpenCL, tmp_path: Path) -> None:
    case, said, code = investigate(opencl, tmp_path / "case", "--", failing(opencl), "unordered")
    assert code == 0 and status(case)["unordered-access"] == "confirmed", said
    assert [cause for cause, how in status(case).items() if how == "confirmed"] == ["unordered-access"], said
    seen = {one["experiment"]: one for one in case["observations"]}
    assert seen["held-edge"]["reproduced"] == 0 and seen["held"]["reproduced"] == seen["held"]["runs"], said


def test_an_access_outside_memory_is_shown(opencl: OpenCL, tmp_path: Path) -> None:
    """The plain runs only say that results are wrong; the fenced ones name the launch and the argument."""
    case, said, code = investigate(opencl, tmp_path / "case", "--", failing(opencl), "outside")
    best = case["diagnosis"][0]
    assert code == 0 and (best["cause"], best["status"]) == ("out-of-bounds-access", "confirmed"), said
    assert best["guilty"]["kernel"] == "pick" and best["guilty"]["argument"] == 0


def test_an_interrupted_investigation_goes_on(opencl: OpenCL, tmp_path: Path) -> None:
    process = start(opencl, "--case", tmp_path / "case", "--", failing(opencl), "unordered")
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("case/runs/003-*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    case = read(tmp_path / "case")
    done = len(case["investigation"]["trials"])
    assert process.returncode == 130 and case["investigation"]["stopped"] == "interrupted" and done >= 2
    again = start(opencl, "--runs", "1", tmp_path / "case")
    said = again.communicate(timeout=60)
    case = read(tmp_path / "case")
    assert len(case["investigation"]["trials"]) == done + 1 and case["investigation"]["stopped"] == "runs used up", said


def test_a_case_of_gpudx_run_is_the_first_run(opencl: OpenCL, tmp_path: Path) -> None:
    env, case = surroundings(opencl), tmp_path / "case"
    forked.gpudx("run", "-q", "--case", case, "--", failing(opencl), "outside", env=env, timeout=60)
    forked.gpudx("investigate", "--runs", "2", case, env=env, timeout=60)
    found = read(case)
    assert [trial["folder"] for trial in found["investigation"]["trials"]] == ["", "runs/002-host-heap", "runs/003-checked"]
    assert found["investigation"]["stopped"] == "settled" and found["diagnosis"][0]["cause"] == "out-of-bounds-access"


def test_a_run_that_only_the_budget_ends_is_not_counted(opencl: OpenCL, tmp_path: Path) -> None:
    process = start(opencl, "--budget", "1s", "--case", tmp_path / "case", "--", "sleep", "30")
    assert "--timeout 30s if it hangs" in process.communicate(timeout=60)[1] and process.returncode == 2


def test_a_hang_is_a_failure_when_asked_for(opencl: OpenCL, tmp_path: Path) -> None:
    case, said, code = investigate(opencl, tmp_path / "case", "--timeout", "0.3", "--", "sleep", "30")
    assert code == 1 and case["investigation"]["stopped"] == "nothing to investigate", said
    assert case["observations"][0]["reproduced"] == 1 and case["investigation"]["failure"]["ending"] == "timeout"


def test_words_that_make_no_sense(opencl: OpenCL, tmp_path: Path) -> None:
    for words, says in (
        (["--budget", "soon", "--", "true"], "give for example 30, 90s"),
        (["--only", "magic", "--", "true"], "no experiment 'magic'"),
        (["--", "no-such-program"], "not found"),
    ):
        process = start(opencl, "--case", tmp_path / "case", *words)
        assert says in " ".join(process.communicate(timeout=60)[1].split()) and process.returncode != 0
