"""The first of two operations that nothing orders is delayed, and the planted bug shows; the missing order makes it go away.

On a real OpenCL driver. "judged" is the bug that looks at its result: it ends with 1 where that is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from order_kit import HERE, Played, Stage, asked, done_at
from support.opencl import OpenCL
from support.typed import pair

from gpudx.model import Finding

# Not blocking-read: PoCL ends a blocking read only when the whole queue is empty, out of order or not.
FLIPPED = (
    "two-queues out-of-order wrong-event half-wait-list no-barrier marker-for-barrier barrier-of-other-queue flush-for-finish "
    "write-after-read copy-then-read fill-against-kernel"
).split()
HELD, FIRST, SECOND = 1, 2, 4
every_mode = pytest.mark.parametrize("mode", FLIPPED)
Run = Callable[..., Played]


@pytest.fixture(scope="session")
def run(opencl: OpenCL) -> Run:
    """run(mode, "judged" or "twin", variables): opencl_queues once more."""

    def go(mode: str, which: str, program: str = "opencl_queues", **environment: str) -> Played:
        built = opencl.build([HERE / f"programs/{program}.c"], "-Werror")
        ran = opencl.record([built, mode, which], **environment)
        return Played(ran.outcome.exit_code, ran.output, ran.traces[0])

    return go


def race(stage: Stage, mode: str) -> Finding:
    """What the record of one run that passed says."""
    return next(f for f in stage("opencl_queues", mode, "bug").findings if f.id == "unordered-access")


def bits(played: Played) -> int:
    assert played.trace is not None
    told = done_at(played.trace)
    assert not [why for _, why in told if why]
    return sum(at for at, _ in told)


@every_mode
def test_held_it_shows_and_the_missing_order_mends_it(stage: Stage, run: Run, mode: str) -> None:
    finding = race(stage, mode)
    held = run(mode, "judged", **asked(finding, "hold"))
    assert (held.code, held.output) == (1, "wrong\n")
    fixed = run(mode, "judged", **asked(finding, "hold", "edge"))
    assert (fixed.code, fixed.output) == (0, "right\n")
    assert (bits(held), bits(fixed)) == (HELD, HELD | FIRST | SECOND)


@pytest.mark.parametrize("mode", ["two-queues", "no-barrier", "copy-then-read"])
def test_twin_stays_right(stage: Stage, run: Run, mode: str) -> None:
    finding = race(stage, mode)
    for which in (("hold",), ("edge",), ("hold", "edge")):
        played = run(mode, "twin", **asked(finding, *which))
        assert (played.code, played.output) == (0, "right\n") and bits(played)


def test_race_of_one_run_in_300_is_named_from_one_that_passes_and_shown_in_each_that_is_held(run: Run) -> None:
    """The program draws a lot, and is right in 299 of 300 cases. The test fixes the lot, so that chance decides nothing."""
    passes = run("rare", "judged", LOT="1")
    (finding,) = [f for f in passes.findings if f.id == "unordered-access"]
    assert run("rare", "judged", LOT="0").output == "wrong\n", "the one run in 300"
    assert pair(finding).hold.startswith("clEnqueueCopyBuffer:1:")  # type: ignore[union-attr]
    for _ in range(5):
        assert run("rare", "judged", LOT="1", **asked(finding, "hold")).output == "wrong\n"
        assert run("rare", "judged", LOT="1", **asked(finding, "hold", "edge")).output == "right\n"


# ---- what may go wrong ----


def test_a_site_that_never_comes_changes_nothing(run: Run) -> None:
    played = run("two-queues", "twin", GPUDX_HOLD="add:9:300", GPUDX_EDGE="nothing:1>add:1")
    assert played.trace is not None and (played.code, played.output) == (0, "right\n")
    assert done_at(played.trace) == [(SECOND, "the first call had not been made by then")]


@pytest.mark.parametrize(
    ("name", "value"),
    [(f"GPUDX_{name}", value) for name, values in {
        "HOLD": ("add", "add:1", "add:x:300", "add:1:0", "add:1:3x", ":1:300", "add:0:300"),
        "EDGE": ("add:1", "add:1>", ">add:1", "add>add:2", "add:1>add:0"),
    }.items() for value in values],
)  # fmt: skip
def test_a_variable_that_makes_no_sense_is_refused(run: Run, name: str, value: str) -> None:
    played = run("two-queues", "twin", **{name: value})
    assert played.trace is not None and (played.code, played.output) == (0, "right\n")
    ((_, why),) = done_at(played.trace)
    assert why.startswith(f"{name} is not NAME:NUMBER")


def test_a_call_that_blocks_can_be_held(run: Run) -> None:
    """The thread of the program waits in its own call, and goes on when the time is over."""
    played = run("copy-then-read", "judged", GPUDX_HOLD="clEnqueueReadBuffer:1:200")
    assert (played.code, played.output) == (0, "right\n") and bits(played) == HELD


@pytest.mark.parametrize("mode", ["leaves", "forks", "refused"])
def test_the_end_of_the_program_does_not_wait(run: Run, mode: str) -> None:
    began = time.monotonic()
    played = run(mode, "", "opencl_held", GPUDX_HOLD="clEnqueueFillBuffer:1:20000")
    assert (played.code, played.output) == (0, "done\n") and time.monotonic() - began < 20
    assert played.trace is not None
    assert done_at(played.trace) == [(HELD, "the driver refused the call" if mode == "refused" else "")]
