"""The wording of an investigation: why it stopped, what each experiment showed, and each cause against each of them."""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.model import Case, Cell, Investigation, Observation
from gpudx.model.investigation import OTHER_PROGRAMS
from gpudx.report.blocks import Bullets, Paragraph, Picture, Section, Table
from gpudx.text import plural

RATES = "For each experiment, how often it failed (the mark) and the 95% interval of its failure rate (the bar)."
WHY_STOPPED = {
    "": "not finished",
    "nothing left that separates them": "no experiment is left that would separate the remaining causes",
}
OTHERS = {"another failure": "{runs} failed in another way", "timeout": "{runs} timed out"}
SAYS = {"for": "for it", "against": "against it", "nothing": "none"}


def investigated(case: Case) -> Iterator[Section]:
    """The sections; none for a case that was not investigated."""
    state = case.investigation
    if state is None:
        return
    runs = sum(seen.runs + sum(count for _, count in seen.others) for seen in case.observations)
    level = f"By chance alone, experiments confirm a wrong cause in at most {100 * (1 - state.confidence):.2g}% of investigations."
    stopped = WHY_STOPPED.get(state.stopped, state.stopped)
    yield Section("The investigation", (Paragraph(f"Stopped after {runs} runs: {stopped}. {state.reason} {level}"),))
    yield Section("Experiments", (Picture("rates", RATES), _experiments(case.observations)))
    if state.told:
        yield Section("Results of the experiments", (Bullets(state.told),))
    if state.table:
        yield Section("Causes against experiments", (*_table(state), *_where_each_stands(state)))
    if not_run := tuple(_not_run(state)):
        yield Section("Experiments that were not run", (Bullets(not_run),), aside=True)


def _not_run(state: Investigation) -> Iterator[str]:
    """One line for each reason, without experiments for other programs."""
    reasons = dict.fromkeys(why for _, why in state.not_run if why not in OTHER_PROGRAMS)
    for reason in reasons:
        yield f"{', '.join(name for name, why in state.not_run if why == reason)}: {reason}"


def _experiments(seen: tuple[Observation, ...]) -> Table:
    rows = tuple((one.experiment, _failed(one), _fits(one), _remarks(one)) for one in seen)
    return Table(("experiment", "failed", "failure rate (95% interval)", "remarks"), rows)


def _failed(seen: Observation) -> str:
    return f"{seen.reproduced} of {seen.runs}" if seen.runs else "-"


def _fits(seen: Observation) -> str:
    return f"{seen.low:.0%} to {seen.high:.0%}" if seen.runs else "any"


def _remarks(seen: Observation) -> str:
    others = [OTHERS[name].format(runs=plural(count, "run")) if name in OTHERS else f"{count} {name}" for name, count in seen.others]
    shown = [f"shown: {', '.join(seen.shown)}"] if seen.shown else []
    said = [seen.note] if seen.others and seen.note else []
    return "; ".join([*others, *shown, *said])


def _table(state: Investigation) -> tuple[Table, ...]:
    """A cause is named once; a cell in which it forbids nothing is left out. None where no cell is left."""
    rows = []
    for row in state.table:
        cells = [cell for cell in row.cells if cell.expects != "may change"]
        rows += [_row(row.cause if cell is cells[0] else "", cell) for cell in cells]
    return (Table(("cause", "experiment", "predicted", "observed", "evidence"), tuple(rows)),) if rows else ()


def _row(cause: str, cell: Cell) -> tuple[str, ...]:
    says = SAYS[cell.weight] if cell.weight != "nothing" else f"none: {cell.why.rstrip('.')}"
    return cause, cell.experiment, cell.expects, cell.observed, says


def _where_each_stands(state: Investigation) -> tuple[Bullets, ...]:
    return (Bullets(tuple(f"{row.cause}: {row.status}. {row.reason}" for row in state.table)),)
