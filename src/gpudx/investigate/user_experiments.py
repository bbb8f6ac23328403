"""What the experiments that the user asked for say: how often it fails there, and nothing of why.

A value or a build "fails" when the failure came TWICE, and "in no run" when it did not come in so many runs that the plain rate would
have brought it, and plain runs failed again afterwards. That is less than "never", so the rates that fit stand beside it. A boundary
is told only where every value is the one or the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpudx.investigate.observed import PLAIN, Observed
from gpudx.investigate.prediction import TWICE, compare
from gpudx.model import Asked

SIZED = "sized"
SINGLE = {
    "rebuilt": "this build",
    "revision": "this revision",
    "sync-before": "a wait before {}",
    "sync-after": "a wait after {}",
}
HIDES = "; that may only hide the cause"


def told(asked: Asked, seen: Mapping[str, Observed], level: float) -> tuple[str, ...]:
    """One sentence for each experiment that was asked for and run."""
    plain = seen[PLAIN]
    parts = [(*name.partition(":")[::2], one) for name, one in seen.items()]
    single = [
        _single(SINGLE[name].format(_launches(way)), one, plain, level) for name, way, one in parts if name in SINGLE
    ]
    return (*_sizes(asked, seen, level), *single)


def _launches(which: str) -> str:
    return f"launch {which}" if which.isdigit() else f"the launches of {which}"


def _single(where: str, one: Observed, plain: Observed, level: float) -> str:
    rates = f"{where} {_count(one)}, the plain runs {_count(plain)}"
    change = compare(plain.rate, one.rate, level) if one.rate.runs >= TWICE else "unsettled"
    if not one.rate.runs:
        notes = dict.fromkeys(trial.note for trial in one.trials if trial.note)
        return f"Nothing is known about {where}: {'; '.join(notes) or one.text}."
    if change == "lower" and plain.after(one).rate.failures < TWICE:
        return f"It is not known whether {where} matters, because plain runs have not failed again: {rates}."
    if change != "unsettled":
        less = "less" if change == "lower" else "more"
        return f"With {where} it fails {less} often: {rates}{HIDES if change == 'lower' else ''}."
    if one.rate.failures >= TWICE:
        return f"With {where} it fails too: {rates}."
    return f"It is not known yet whether {where} matters: {rates}."


def _sizes(asked: Asked, seen: Mapping[str, Observed], level: float) -> Iterator[str]:
    if not any(name.startswith(f"{SIZED}:") for name in seen):
        return
    runs = {value: seen.get(f"{SIZED}:{asked.name}={value}", Observed(SIZED)) for value in asked.values[:-1]}
    runs[asked.values[-1]] = seen[PLAIN]
    fails = {value: _fails(one, seen[PLAIN], level) for value, one in runs.items()}
    counts = ", ".join(f"{value}: {_count(runs[value])}" for value in _in_order(asked.values))
    yield f"{_where(asked, fails)} ({counts})."


def _fails(one: Observed, plain: Observed, level: float) -> bool | None:
    """None: cannot be told."""
    if one is plain or one.rate.failures >= TWICE:
        return True
    gone = not one.rate.failures and one.rate.runs >= TWICE and compare(plain.rate, one.rate, level) == "lower"
    return False if gone and plain.after(one).rate.failures >= TWICE else None


def _where(asked: Asked, fails: Mapping[str, bool | None]) -> str:
    values, name = _in_order(asked.values), asked.name
    bad, good, open_ = ([v for v in values if fails[v] is state] for state in (True, False, None))
    if open_ or not good:
        return _unsplit(name, bad, good, open_)
    if _numbers(values) and values == [*good, *bad]:
        return f"It fails from {name}={bad[0]} on, and in no run up to {good[-1]}; between these nothing was tried"
    if _numbers(values) and values == [*bad, *good]:
        return f"It fails up to {name}={bad[-1]}, and in no run from {good[0]} on; between these nothing was tried"
    return f"It fails at {name}={_list(bad)}, and in no run at {_list(good)}; there is no boundary between them"


def _unsplit(name: str, bad: Sequence[str], good: Sequence[str], open_: Sequence[str]) -> str:
    if not open_:
        return f"It fails at every value of {name} that was tried, or the program does not use {name}"
    known = f"It fails at {name}={_list(bad)}{f', in no run at {_list(good)}' if good else ''}"
    return f"{known}; {_list(open_)} is not known yet, so no boundary is known"


def _count(one: Observed) -> str:
    return f"{one.text}, {one.range} fits" if one.rate.runs else one.text


def _in_order(values: Sequence[str]) -> list[str]:
    return sorted(values, key=float) if _numbers(values) else list(values)


def _numbers(values: Sequence[str]) -> bool:
    try:
        return all(float(value) == float(value) for value in values)
    except ValueError:
        return False


def _list(values: Sequence[str]) -> str:
    return ", ".join(values)
