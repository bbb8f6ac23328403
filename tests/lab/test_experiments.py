"""Every experiment keeps its contract, and says why it cannot be run or had no effect. No program is run here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.cuda_world import CudaWorld

from gpudx.causes import every as every_cause
from gpudx.facts import derive
from gpudx.investigate import one_run
from gpudx.lab.experiments import (
    PLAIN,
    Context,
    NotReached,
    Row,
    Seen,
    Shelf,
    every,
    in_words,
    one_processor,
    one_thread,
    other_device,
    turns,
)
from gpudx.lab.experiments.recorder_settings import PERTURB
from gpudx.model import Case, Outcome

OPENCL = Context(("./app",), {}, apis=frozenset({"opencl"}), threads=8, launches=10, devices=frozenset({"pthread-x"}))


@pytest.mark.parametrize("name", sorted(every()))
def test_its_words_are_short_enough_for_a_fact(name: str) -> None:
    words = in_words(name)
    assert words.startswith(f"experiment `{name}` (") and words.endswith(")") and len(words) <= 140
    assert in_words(f"{name}:2") == words.replace(f"`{name}`", f"`{name}:2`")


def test_the_words_of_an_experiment() -> None:
    assert in_words("serialised") == "experiment `serialised` (waits after each launch)"
    assert in_words("blocking") == "experiment `blocking` (each launch call returns only when its kernel has ended)"
    assert in_words("numbers").startswith("experiment `numbers` (CUDA kernels report")
    assert in_words("close-fenced") == "experiment `close-fenced` (as fenced, with allocations aligned to only four bytes)"
    assert in_words("nobody's") == "experiment `nobody's`"


@pytest.mark.parametrize("name", sorted(every()))
def test_the_contract(name: str) -> None:
    module = every()[name]
    file = module.__name__.rpartition(".")[2].replace("_", "-")
    assert name == module.ID and (isinstance(module, Row) or name == file)
    assert len((module.__doc__ or "").split("\n\n")) >= 2, "what it changes, then what that says and does not say"
    assert module.COST > 0
    why = module.missing(OPENCL)
    assert why is None or (why and not why.endswith("."))


def test_causes_predict_only_experiments_that_there_are() -> None:
    known = set(every())
    for cause in every_cause().values():
        assert set(cause.predictions) <= known, cause.id
        assert all(one.text for one in cause.predictions.values())


def test_nothing_is_predicted_where_the_user_has_the_word() -> None:
    asked = [name for name, module in every().items() if getattr(module, "ASKED", False)]
    assert asked == ["rebuilt", "revision", "sized", "sync-after", "sync-before"]
    for cause in every_cause().values():
        assert {one.expects for name, one in cause.predictions.items() if name in asked} <= {"may change"}, cause.id


def test_what_could_not_be_made_is_not_made_again(tmp_path: Path) -> None:
    tries = []

    @contextlib.contextmanager
    def make() -> Iterator[Path]:
        tries.append(1)
        if len(tries) == 1:
            raise NotReached("no")
        yield tmp_path

    shelf = Shelf()
    for _ in range(2):
        with pytest.raises(NotReached):
            shelf.once("bad", make)
    assert len(tries) == 1 and shelf.once("good", make) == shelf.once("good", make) == tmp_path and len(tries) == 2
    shelf.close()


def test_every_kind_of_rival_can_be_refuted_somewhere() -> None:
    for name in ("out-of-bounds-access", "order-or-timing", "threads-collide", "read-before-write"):
        told = {one.expects for one in every_cause()[name].predictions.values()}
        assert told & {"gone", "shown"}, name


def test_what_cannot_be_run_says_why() -> None:
    idle = replace(OPENCL, apis=frozenset(), threads=1, launches=0, devices=frozenset())
    for name in set(every()) - {PLAIN, "one-processor"}:
        assert every()[name].missing(idle), name
    assert "CUDA" in (every()["memcheck"].missing(OPENCL) or "")
    assert turns.missing(OPENCL) is None and every()["serialised"].missing(OPENCL) is None


@pytest.mark.parametrize(
    ("source", "options", "wanted"),
    [
        ("kernel void f(global int *x) { x[0] = 1; }", "", False),
        ("kernel void f(global float4 *x) { x[0] = 1; }", "", True),
        ("kernel void f(global REAL *x) { x[0] = 1; }", "-DREAL=float", True),
        ('#include "real.h"\nkernel void f(global REAL *x) { x[0] = 1; }', "", True),
        ("kernel void f(global int *x) { x[0] = x[1] * 1.5; }", "", True),
    ],
)
def test_the_first_nan_is_looked_for_where_there_can_be_one(source: str, options: str, wanted: bool) -> None:
    said = every()["checked-numbers"].missing(replace(OPENCL, sources=((source, options),)))
    assert (said != "no kernel computes with floating-point numbers") == wanted


def test_nothing_looks_inside_kernels_where_none_is_launched() -> None:
    without = replace(OPENCL, launches=0)
    for name in ("fenced", "low-fenced", "close-fenced", "checked", "checked-loops", "checked-numbers", "host-memory"):
        assert every()[name].missing(without), name


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("amd-serialised", {"AMD_SERIALIZE_KERNEL": "3", "AMD_SERIALIZE_COPY": "3"}),
        ("blocking", {"HIP_LAUNCH_BLOCKING": "1"}),
        ("without-sdma", {"HSA_ENABLE_SDMA": "0"}),
    ],
)
def test_settings_of_a_runtime(name: str, variables: dict[str, str]) -> None:
    """Only for programs of that runtime, and only where the plain runs are not like that already."""
    module, hip = every()[name], replace(OPENCL, apis=frozenset({"hip"}))
    assert module.missing(hip) is None and module.how(hip).extra_env == variables and module.MITIGATES
    assert "no runtime" in (module.missing(OPENCL) or "")
    assert "already" in (module.missing(replace(hip, environment=variables)) or "")
    assert module.missing(replace(hip, how=replace(hip.how, extra_env=variables)))
    assert module.missing(replace(hip, environment={next(iter(variables)): "other"})) is None


class Calls:
    """Calls of two threads, as a trace has them: (thread, begin, end)."""

    def __init__(self, calls: list[tuple[int, int, int]], gaps: tuple[str, ...] = ()) -> None:
        self._columns = dict(zip(("tid", "begin", "end"), np.array(calls, np.uint64).T, strict=True))
        self.gaps = gaps

    def column(self, name: str) -> NDArray[np.uint64]:
        return self._columns[name]


ONE_AFTER_THE_OTHER = [(1, 10, 20), (1, 30, 40), (2, 50, 60)]


@pytest.mark.parametrize(
    ("calls", "at_once"),
    [
        (Calls(ONE_AFTER_THE_OTHER), 1),
        (Calls([(1, 10, 20), (2, 25, 28), (1, 30, 40)]), 2),  # between two calls of the other
        (Calls([(1, 10, 0), (2, 50, 60)]), 2),  # the first never returned
        (Calls(ONE_AFTER_THE_OTHER, ("overwritten",)), 2),  # what is missing may lie anywhere
    ],
)
def test_threads_that_come_one_after_the_other_are_as_good_as_one(calls: Any, at_once: int) -> None:
    assert one_run._at_once(calls, np.ones(len(calls.column("tid")), bool)) == at_once


def test_without_effect_is_not_reached() -> None:
    assert "8 threads" in (one_thread.without_effect(OPENCL, Seen(8)) or "")
    assert one_thread.without_effect(OPENCL, Seen(1)) is None
    assert turns.without_effect(OPENCL, Seen(8, findings=frozenset({"kernel-shared-by-threads"})))
    assert turns.without_effect(OPENCL, Seen(8)) is None
    assert other_device.without_effect(OPENCL, Seen(8, OPENCL.devices))
    assert other_device.without_effect(OPENCL, Seen(8, frozenset({"basic-x"}))) is None


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("./app -n 3", "./app -n 3"),
        ("pytest tests", "pytest tests"),
        ("pytest -n 8 tests", "pytest -n 8 tests -n 0"),
        ("python -m pytest -n auto", "python -m pytest -n auto -n 0"),
        ("cargo test", "cargo test -- --test-threads=1"),
        ("cargo test -- --nocapture", "cargo test -- --nocapture --test-threads=1"),
        ("cargo build", "cargo build"),
    ],
)
def test_one_thread_for_test_runners(words: str, given: str) -> None:
    assert " ".join(one_thread.command(replace(OPENCL, command=tuple(words.split())))) == given


def test_the_environment_of_each() -> None:
    assert one_thread.how(OPENCL).extra_env["OMP_NUM_THREADS"] == "1"
    seeds = {every()["perturbed"].how(replace(OPENCL, turn=turn)).extra_env[PERTURB] for turn in range(5)}
    assert len(seeds) == 5, "each run has other delays"
    assert other_device.how(OPENCL).extra_env == {"POCL_DEVICES": "basic"}
    assert other_device.missing(replace(OPENCL, environment={"POCL_DEVICES": "pthread"}))


def test_one_processor_gives_the_others_back() -> None:
    import os

    allowed = os.sched_getaffinity(0)
    with one_processor.around(OPENCL):
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == allowed


def test_kernels_of_graphs_are_looked_into_too(schema: str, tmp_path: Path) -> None:
    """A graph that was made node by node: no call of the program launches a kernel by itself."""
    cuda = CudaWorld(schema)
    graph = cuda.graph(cuda.kernel("_Z5scalePfi", [8, 4]), [cuda.alloc(4096), 1024])
    seen = []
    for launched in (False, True):
        if launched:
            cuda.call("cuGraphLaunch", graph_exec=graph, queue=cuda.queue)
        learned = one_run.learn(Case(("app",), "", "", "", Outcome("exit", "", 1)), [derive(cuda.write(tmp_path / "1-0.gdx"))])
        seen.append(every()["fenced"].missing(replace(OPENCL, apis=learned.apis, launches=learned.launches)))
    assert seen == ["the program launches no kernel", None]
