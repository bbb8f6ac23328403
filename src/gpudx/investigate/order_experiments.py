"""What the experiments at the two operations of an order finding say, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpudx.investigate.observed import PLAIN, SAYS, Observed
from gpudx.investigate.prediction import TWICE

HELD, WITH_EDGE = "held", "held-edge"


def told_of_order(seen: Mapping[str, Observed]) -> Iterator[str]:
    """Nothing where nothing was held."""
    held, plain = seen.get(HELD, Observed(HELD)), seen[PLAIN]
    if not held.rate.runs:
        return
    if held.rate.failures < TWICE and not plain.rate.failures:
        same = held.rate.runs - held.rate.failures
        yield (
            f"When {_what(held)}, the outcome stayed the same in {same} of {held.rate.runs} runs: what the program returns and "
            "prints does not show this race, which refutes nothing."
        )
        return
    yield (
        f"When {_what(held)}, the outcome was wrong in {_rate(held)}, without that in {_rate(plain)}"
        f"{_with_edge(seen.get(WITH_EDGE, Observed(WITH_EDGE)))}."
    )


def _with_edge(one: Observed) -> str:
    if not one.rate.runs:
        return ""
    stays = "; so the delay matters in another way as well" if one.rate.failures >= TWICE else ""
    return f"; when {_what(one)} as well, in {_rate(one)}{stays}"


def _rate(one: Observed) -> str:
    return f"{one.rate.failures} of {one.rate.runs} runs (95% interval: {one.range})"


def _what(one: Observed) -> str:
    return next((trial.note for trial in one.trials if trial.note and trial.outcome in SAYS), "")
