"""The case of an investigation: the failing run's own, with what the experiments say about its causes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpudx.causes import every as every_cause
from gpudx.causes import tells
from gpudx.diagnose.instruments import NOT_CHECKED as INSIDE  # said of plain runs: nothing looked inside kernels
from gpudx.diagnose.judge import ORDER
from gpudx.investigate.agreement import GENERAL, agreed, is_unnamed, kernel_of
from gpudx.investigate.observed import Observed, observation, observed
from gpudx.investigate.suspects import best_entries
from gpudx.investigate.uninitialized import CAUSE as READS_FRESH
from gpudx.investigate.uninitialized import POISONED
from gpudx.model import Case, Diagnosis, Evidence, Investigation, Row
from gpudx.model.cause_kinds import WHERE
from gpudx.report.screen import CHECKS


def conclude(case: Case, state: Investigation) -> Case:
    """`case` is the first run that failed, or the first run if none did."""
    seen = observed(state.trials)
    return replace(
        case,
        diagnosis=_diagnosis(state) if state.failure or state.table else case.diagnosis,
        observations=tuple(observation(one) for one in seen.values()),
        investigation=state,
        not_checked=tuple(one for one in case.not_checked if one not in INSIDE or not seen.keys() & CHECKS.keys()),
    )


def _diagnosis(state: Investigation) -> tuple[Diagnosis, ...]:
    """Where there is a second cause, the first one says so: it is what most people read."""
    told = entries_of(state)
    if not state.also:
        return told
    if told and told[0].status in ("confirmed", "likely"):
        told = (replace(told[0], evidence=(_of_second(state.also), *told[0].evidence)), *told[1:])
    return tuple(sorted((*told, *state.also), key=lambda entry: ORDER[entry.status]))


def _of_second(also: tuple[Diagnosis, ...]) -> Evidence:
    kernel = kernel_of(also[0])
    where = f" in kernel {kernel}" if kernel else ""
    return Evidence(f"{also[0].evidence[0].text}, which has a cause of its own: {also[0].cause}{where} ({also[0].status})")


def entries_of(state: Investigation) -> tuple[Diagnosis, ...]:
    """The causes of the failure that was looked for, best first."""
    entries = best_entries(state)
    told = [*_judged(state, entries), *_untested(state, entries)]
    if state.symptom == "no failure":
        told = list(_that_matter(told, observed(state.trials).get(POISONED)))
    return tuple(sorted(_without_despair(_without_echoes(agreed(told))), key=_rank))


UNCHANGED = (
    "What the program printed and returned was the same whatever fresh memory held; what it read back from the device was not, so the "
    "value may be one that it does not use."
)


def _that_matter(told: Sequence[Diagnosis], poisoned: Observed | None) -> Iterator[Diagnosis]:
    """A program without a failure may load what it then does not use: such a read is a fault if the content makes a difference."""
    for one in told:
        if one.cause != READS_FRESH or poisoned is None or not poisoned.looks_alike:
            yield one
        elif not poisoned.unmoved:
            yield replace(one, status="inconclusive", reason=UNCHANGED)


UNEXPLAINED = "unexplained"
UNEXPLAINING = (*GENERAL, "condition")


def _without_echoes(told: list[Diagnosis]) -> list[Diagnosis]:
    """Where an entry says why a kernel did what it may not, one that only says that it did is left out: it is the same fault. So is
    one that no launch is known of."""
    why = {
        kernel_of(one)
        for one in told
        if one.status in ("confirmed", "likely") and tells(one.cause) not in UNEXPLAINING and not _only_where(one)
    }
    return [
        one
        for one in told
        if tells(one.cause) not in ("access", "condition")
        or one.status == "refuted"
        or not why
        or not (kernel_of(one) in why or kernel_of(one) is None)
    ]


def _without_despair(told: list[Diagnosis]) -> list[Diagnosis]:
    """That no call explains the failure is no news beside what does."""
    known = any(one.status in ("confirmed", "likely") for one in told)
    return [one for one in told if not known or one.cause != UNEXPLAINED]


def _rank(entry: Diagnosis) -> tuple[int, bool, bool, bool, bool]:
    return ORDER[entry.status], _only_where(entry), tells(entry.cause) in UNEXPLAINING, not entry.observed, is_unnamed(entry)


def _only_where(entry: Diagnosis) -> bool:
    """Of equals, a cause comes before what only says where it surfaced."""
    cause = every_cause().get(entry.cause)
    return cause is not None and cause.kind is WHERE


def _judged(state: Investigation, entries: dict[str, Diagnosis]) -> Iterator[Diagnosis]:
    """Suspects as they stand; a rival that nothing speaks for stands in the table only."""
    for row in state.table:
        entry = entries.get(row.cause)
        if entry is not None or row.status != "inconclusive":
            yield _entry(row, entry or _rival(row))


AS_PREDICTED = ", as predicted"
STAYS = f"it still fails{AS_PREDICTED}"


def _entry(row: Row, entry: Diagnosis) -> Diagnosis:
    for_, against = (tuple(_evidence(row, weight)) for weight in ("for", "against"))
    counted, not_counted = (against, for_) if row.status == "refuted" else (for_, against)
    telling = [one for one in counted if not one.text.endswith(STAYS)]  # that it stays under other conditions says little
    return replace(
        entry,
        status=row.status,
        reason=row.reason,
        evidence=(*telling, *entry.evidence, *(one for one in counted if one not in telling)),
        not_counted=(*entry.not_counted, *not_counted),
    )


def _evidence(row: Row, weight: str) -> Iterator[Evidence]:
    for cell in row.cells:
        if cell.weight == weight:
            seen = f"{cell.experiment}: {cell.observed}, {cell.why}"
            expected = f'; this cause predicts "{cell.expects}"' if weight == "against" else AS_PREDICTED
            yield Evidence(seen + expected)


def _rival(row: Row) -> Diagnosis:
    cause = every_cause()[row.cause]
    return Diagnosis(cause.id, row.status, f"{cause.title}.", None, None, (), cause.refutes_if, cause.fix)


def _untested(state: Investigation, entries: dict[str, Diagnosis]) -> Iterator[Diagnosis]:
    """Entries that say where it surfaced, or that no experiment can touch."""
    tested = {row.cause for row in state.table}
    yield from (entry for cause, entry in entries.items() if cause not in tested)
