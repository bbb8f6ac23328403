"""What the experiments at the two operations of an order finding say, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpudx.diagnose.observed import PLAIN, Observed
from gpudx.diagnose.weigh import TWICE

HELD, WITH_EDGE = "held", "held-edge"


def told_of_order(seen: Mapping[str, Observed]) -> Iterator[str]:
    """Nothing where nothing was held."""
    held = seen.get(HELD, Observed(HELD))
    if not held.rate.runs:
        return
    if held.rate.failures < TWICE and not seen[PLAIN].rate.failures:
        yield (
            f"With a delay ({_what(held)}) nothing changed that the program returns or prints ({held.text}, {held.range} fits): "
            "its outcome does not show a race of the two, which refutes nothing."
        )
        return
    yield f"With a delay ({_what(held)}) {_rate(held)}; plain runs {_rate(seen[PLAIN])}{_with_edge(seen)}."


def _with_edge(seen: Mapping[str, Observed]) -> str:
    one = seen.get(WITH_EDGE, Observed(WITH_EDGE))
    return f"; with the same delay and the missing order ({_what(one)}) {_rate(one)}" if one.rate.runs else ""


def _rate(one: Observed) -> str:
    return f"{one.rate.failures} of {one.rate.runs} ended otherwise than they should ({one.range} fits)"


def _what(one: Observed) -> str:
    return next((trial.note for trial in one.trials if trial.note and trial.outcome in ("reproduced", "passed")), "")
