"""gpudx investigate on a real Ray cluster, on loopback, with real programs on a real OpenCL device (PoCL).

The verdicts must be those of one machine: only when runs are made differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from fake_lab import FakeLab, suggests
from support.opencl import ROOT, OpenCL
from support.ray_host import TOKEN, hosted, one_node
from test_investigations import HEAP, failing, investigate, read, start, surroundings

from gpudx.investigate.loop import CONFIDENCE, Limits, ahead
from gpudx.investigate.loop import investigate as investigate_in
from gpudx.model import Investigation

PROGRAMS = ROOT / "benchmarks/accuracy/programs/opencl"


@pytest.fixture(scope="module")
def cluster(opencl: OpenCL, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with hosted(one_node(gpus=0), surroundings(opencl, **TOKEN), tmp_path_factory.getbasetemp() / "i") as (address, _):
        yield address


def on_cluster(opencl: OpenCL, cluster: str, case: Path, *words: str | Path) -> tuple[dict[str, Any], str]:
    options = ("--engine", "ray", "--address", cluster, "--case", case)
    out, err = start(opencl, *options, *words, **TOKEN).communicate(timeout=280)
    return read(case), out + err


def verdict(case: dict[str, Any]) -> dict[str, Any]:
    """What a user is told, without what differs from run to run."""
    state, first = case["investigation"], case["diagnosis"][0]
    guilty = first["guilty"] and {key: first["guilty"][key] for key in ("kernel", "launch", "argument")}
    return {
        "stopped": state["stopped"],
        "symptom": state["symptom"],
        "cause": (first["cause"], first["status"], first["summary"], guilty),
        "table": [(row["cause"], row["status"]) for row in state["table"]],
        "runs": [(trial["experiment"], trial["outcome"]) for trial in state["trials"]],
    }


BESIDE = "for other in $(cat begun 2>/dev/null); do kill -0 $other 2>/dev/null && echo $other >> beside; done; echo $$ >> begun"


def noted(program: Path, folder: Path, *lines: str) -> Path:
    """The program in a script that notes which other runs are under way when it begins."""
    script = folder / "app"
    script.write_text("\n".join(["#!/bin/sh", BESIDE, *lines, str(program), ""]))
    script.chmod(0o755)
    return script


@pytest.mark.parametrize("name", [pytest.param("fill_on_side_queue", marks=pytest.mark.slow), pytest.param("add_tail", marks=HEAP)])
def test_the_verdict_is_that_of_one_machine(
    name: str, cluster: str, opencl: OpenCL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A race, which takes runs that are compared and a pair that the first run named; and a fault that an instrument shows."""
    monkeypatch.chdir(tmp_path)
    app = noted(opencl.build([PROGRAMS / f"{name}.c"], "-g", "-pthread", name=name), tmp_path, "sleep 0.5")
    here, said_here, _ = investigate(opencl, tmp_path / "here", "--", app)
    assert not (tmp_path / "beside").exists()
    there, said = on_cluster(opencl, cluster, tmp_path / "there", "--", app)
    assert verdict(there) == verdict(here), said_here + said
    assert here["diagnosis"][0]["status"] == "confirmed" and "up to 2 runs at a time" in said
    if name == "fill_on_side_queue":  # the other is over after two runs, which need not meet
        assert (tmp_path / "beside").read_text()
    text = (tmp_path / "there" / "case.json").read_text()
    assert "/tmp/gpudx-" not in text.replace(str(tmp_path), "")  # no node's own folder
    for trial in there["investigation"]["trials"]:
        assert (tmp_path / "there" / trial["folder"] / "output.txt").is_file()
    assert sorted(one.name for one in (tmp_path / "there/runs").iterdir()) == sorted(
        Path(trial["folder"]).name for trial in there["investigation"]["trials"]
    )


@pytest.mark.slow  # the engine is the one of tests/flake/test_ray_engine.py, where a worker is lost in each run of the tests
def test_a_lost_worker_costs_nothing(
    cluster: str, opencl: OpenCL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run kills the worker above it, once; it is made again, and counts once."""
    monkeypatch.chdir(tmp_path)
    kill = (
        "if mkdir first 2>/dev/null; then",
        "  guard=$(cut -d' ' -f4 /proc/$PPID/stat)",
        "  kill -9 $(cut -d' ' -f4 /proc/$guard/stat)",
        "  sleep 60",
        "fi",
    )
    app = noted(opencl.build([PROGRAMS / "add_tail.c"], "-g", "-pthread", name="add_tail"), tmp_path, *kill)
    case, said = on_cluster(opencl, cluster, tmp_path / "case", "--", app)
    assert (tmp_path / "first").is_dir()
    assert [one["experiment"] for one in case["investigation"]["trials"]] == ["recorded", "checked"], said
    assert (case["diagnosis"][0]["cause"], case["diagnosis"][0]["status"]) == ("out-of-bounds-access", "confirmed")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--engine", "ray", "--address", "127.0.0.1:1"), "There is no Ray cluster to join at 127.0.0.1:1 ("),
        (("--address", "127.0.0.1:1"), "add --engine ray"),
        (("--engine", "ray", "--address", "CLUSTER", "--per-trial-gpus", "1"), "No node of the cluster has 1 GPU"),
        (("--engine", "ray", "--rebuild", "make"), "--rebuild uses one file for all runs"),
        (("--engine", "ray", "--compare", "out=good"), "--compare FILE=GOOD uses one file for all runs"),
    ],
)
def test_mistakes(words: tuple[str, ...], says: str, cluster: str, opencl: OpenCL, tmp_path: Path) -> None:
    (tmp_path / "good").touch()
    given = tuple(word.replace("CLUSTER", cluster).replace("out=good", f"out={tmp_path}/good") for word in words)
    child = start(opencl, *given, "--case", tmp_path / "case", "--", failing(opencl), **TOKEN)
    said = child.communicate(timeout=60)[1]
    assert child.returncode == 2 and says in " ".join(said.split()) and "Traceback" not in said, said


@pytest.mark.parametrize("fails", [1.0, 0.0])
def test_what_is_foreseen_is_what_is_asked_for(fails: float) -> None:
    """In a lab without processes, where no run shows anything new: the plan that is foreseen after the first run is the plan."""
    lab = FakeLab({"recorded": fails}, (suggests("kernel-shared-by-threads"),))
    first = investigate_in(Investigation(CONFIDENCE), lab, Limits(budget_s=1000.0, runs=1))
    first = replace(first, symptom="wrong result" if fails else "no failure", stopped="")
    foreseen = [name for name, _ in islice(ahead(first, lab, Limits(budget_s=1000.0)), 8)]
    done = investigate_in(first, lab, Limits(budget_s=1000.0, runs=8))
    made = [trial.experiment for trial in done.trials[1:]]
    assert len(foreseen) > 2 and foreseen[: len(made)] == made[: len(foreseen)]
