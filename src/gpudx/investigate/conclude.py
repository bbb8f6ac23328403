"""The case of an investigation: the failing run's own, with what the experiments say about its causes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from gpudx.causes import every as every_cause
from gpudx.causes import tells
from gpudx.detectors import hang
from gpudx.diagnose import entries
from gpudx.diagnose.instruments import NOT_CHECKED as INSIDE  # said of plain runs: nothing looked inside kernels
from gpudx.diagnose.judge import ORDER
from gpudx.investigate import edited_kernel, exchanged, met, other_number, races, shared_kernels, widened
from gpudx.investigate.agreement import GENERAL, agreed, is_unnamed, kernel_of
from gpudx.investigate.observed import HUNG, PLAIN, observation, observed
from gpudx.investigate.prediction import REPORTED, STAYS
from gpudx.investigate.suspects import best_entries
from gpudx.investigate.uninitialized import CAUSE as READS_FRESH
from gpudx.investigate.uninitialized import (
    IF_IT_MATTERS,
    POISONED,
    SHARED_MEMORY,
    depends,
    ends_otherwise,
    is_of_shared,
    reads_back_by_pattern,
    seems_to_depend,
)
from gpudx.investigate.unset_variables import DEPENDS_ON_LOCAL, is_of_local, local_depends, makes_no_difference
from gpudx.investigate.which_memory import ruled_out
from gpudx.lab.experiments import base, in_words
from gpudx.model import Case, Cell, Diagnosis, Evidence, Finding, Investigation, Row, Status, Trial
from gpudx.model.cause_kinds import LIFETIME, THREADS, UNORDERED, WHERE
from gpudx.model.cause_kinds import ORDER as ORDERS
from gpudx.report.screen import CHECKS, unchecked_kernels
from gpudx.text import capital, listed, plural


def conclude(case: Case, state: Investigation) -> Case:
    """`case` is the first run that failed, or the first run if none did."""
    seen = observed(state.trials)
    told = _diagnosis(state) if state.failure or state.table or state.found else case.diagnosis
    without_effect = [one for one in told if one.reason == UNCHANGED or races.is_noted(one)]
    if state.stopped == "no fault found" and without_effect:
        told = tuple(one for one in told if one not in without_effect)
        case = replace(case, findings=tuple(one for one in case.findings if not _is_said_by(one, without_effect)))
        notes = tuple(races.note(one) if races.is_noted(one) else _note(one) for one in without_effect)
        rows = tuple(row for row in state.table if row.cause not in {one.cause for one in without_effect})
        state = replace(state, reason=_with_note(state.reason, " ".join(notes)), notes=notes, table=rows)
    if case.outcome.failed_itself and not any(one.status in ("confirmed", "likely") for one in told):
        mine = [trial for trial in state.trials if trial.experiment == SHARED_MEMORY and trial.outcome == "reproduced"]
        said = dict.fromkeys(trial.note for trial in mine if trial.note)
        state = replace(state, reason=_with_note(state.reason, " ".join(said))) if said else state
        passed = exchanged.undecided(state.trials)
        state = replace(state, reason=_with_note(state.reason, passed)) if passed else state
    return replace(
        case,
        diagnosis=told,
        observations=tuple(observation(one) for one in seen.values()),
        investigation=state,
        not_checked=_not_checked(case, state, seen.keys()),
    )


def _not_checked(case: Case, state: Investigation, made: Set[str]) -> tuple[str, ...]:
    """What the plain run did not look at and no other did, and the kernels that were to check themselves and did not."""
    left = [one for one in case.not_checked if one not in INSIDE or not made & CHECKS.keys()]
    lost = unchecked_kernels(replace(case, investigation=state))
    return tuple(dict.fromkeys([*left, *(f"{capital(one)}." for one in lost)]))


def _with_note(reason: str, note: str) -> str:
    """Behind the first sentence, which says how the runs ended."""
    head, _, rest = reason.partition(". ")
    return f"{head.rstrip('.')}. {note} {rest}".rstrip()


def _is_said_by(finding: Finding, notes: Sequence[Diagnosis]) -> bool:
    """Is it the warning of a plain run about such a read?"""
    kernel = finding.site.kernel if finding.site else None
    return finding.causes[:1] == (READS_FRESH,) and finding.severity == "warning" and kernel in map(kernel_of, notes)


def _note(entry: Diagnosis) -> str:
    """A read of uninitialized memory that what the program printed does not depend on: worth knowing, and no fault."""
    guilty, access = entry.guilty, entry.access
    kernel = f"Kernel {guilty.kernel} (launch {guilty.launch})" if guilty and guilty.kernel else "A kernel"
    argument = f" of argument {guilty.argument}" if guilty and guilty.argument is not None else ""
    line = f" at {access.source}" if access and access.source else ""
    return f"{kernel} reads uninitialized memory{argument}{line}, but what the program printed and returned does not depend on it."


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
    seen = observed(state.trials)
    judged = [met.likely(one, seen) for one in _judged(state, entries)]
    told = _without_guesses([*judged, *_untested(state, entries)], ruled_out(state.trials))
    if state.symptom == "hang":
        told = [_with_more_time(one, state) for one in told]
    if state.symptom in IF_IT_MATTERS:
        kept = _that_matter if state.symptom == "no failure" else _without_effect
        told = [_of_race(one, state) for one in kept(told, state.trials)]
    ranked = _before_numbers(_earliest_first(sorted(_without_despair(_without_echoes(agreed(told)), state.trials), key=_rank)))
    return tuple(_order_before_changes(shared_kernels.before_followers(ranked, state)))


CHANGED = (other_number.CAUSE, edited_kernel.CAUSE, widened.CAUSE)
OF_TIMING = (ORDERS, UNORDERED, LIFETIME, THREADS)


def _order_before_changes(ranked: Sequence[Diagnosis]) -> Iterator[Diagnosis]:
    """A change of a number or a word also moves the timing: of equals, two operations that nothing orders come before it."""
    first = ranked[0] if ranked else None
    guess = first is not None and first.status == "likely" and first.cause in CHANGED
    before = [one for one in ranked if guess and one.status == "likely" and _is_of_timing(one)]
    yield from before
    yield from (one for one in ranked if one not in before)


def _is_of_timing(entry: Diagnosis) -> bool:
    cause = every_cause().get(entry.cause)
    return cause is not None and cause.kind in OF_TIMING and entry.guilty is not None


def _of_race(entry: Diagnosis, state: Investigation) -> Diagnosis:
    return races.that_matters(entry, state) if state.symptom == "no failure" else races.with_order(entry, state)


def _before_numbers(ranked: list[Diagnosis]) -> list[Diagnosis]:
    """A NaN is computed from what earlier launches left behind: a cause of as much weight in one of those comes before it."""
    first = ranked[0] if ranked else None
    if first is None or first.cause != NOT_A_NUMBER:
        return ranked
    earlier = [one for one in ranked if one.status == first.status and tells(one.cause) == "why" and _launch_of(one) < _launch_of(first)]
    return [*earlier, *(one for one in ranked if one not in earlier)]


def _earliest_first(ranked: list[Diagnosis]) -> list[Diagnosis]:
    """Of accesses that checks saw outside of one buffer, that of the earliest launch comes first: the later ones may follow from it."""
    first = ranked[0] if ranked else None
    if first is None or not _is_seen_outside(first):
        return ranked
    same = [one for one in ranked if _is_seen_outside(one) and _memory_of(one) == _memory_of(first) and one.status == first.status]
    return sorted(ranked, key=lambda one: one is not min(same, key=_launch_of))


def _is_seen_outside(entry: Diagnosis) -> bool:
    seen = entry.access is not None and entry.access.seen_by == "kernel check" and entry.access.offset is not None
    return seen and tells(entry.cause) in ("access", "memory") and _memory_of(entry) is not None


def _memory_of(entry: Diagnosis) -> str | None:
    return entry.guilty.allocation.id if entry.guilty and entry.guilty.allocation else None


def _launch_of(entry: Diagnosis) -> int:
    return entry.guilty.launch if entry.guilty and entry.guilty.launch is not None else 1 << 62


OVERFLOW, NOT_A_NUMBER = "index-overflow", "not-a-number"
FAR = (
    "This launch faulted, far from the end of its buffers, and the product of its sizes exceeds 2^31; its index is not "
    "shown to be 32 bits wide."
)


def _without_guesses(told: list[Diagnosis], ruled: tuple[Evidence, ...]) -> list[Diagnosis]:
    """Where only the device's error suggests an access: what it was not. A product that no 32-bit index holds explains it better then."""
    guesses = [one for one in told if not one.observed and one.status == "likely" and tells(one.cause) == "access"]
    if not ruled or not guesses:
        return told
    places = [(one.guilty.kernel, one.guilty.launch) for one in guesses if one.guilty]
    large = [one for one in told if one.cause == OVERFLOW and one.guilty and (one.guilty.kernel, one.guilty.launch) in places]
    status: Status = "inconclusive" if large else "likely"
    seen = {id(one): replace(one, status=status, evidence=(*ruled, *one.evidence)) for one in guesses}
    seen |= {id(one): replace(one, status="likely", reason=FAR, evidence=(*one.evidence, *ruled)) for one in large}
    return [seen.get(id(one), one) for one in told]


def _with_more_time(entry: Diagnosis, state: Investigation) -> Diagnosis:
    """A hang whose place an instrument saw, and that did not end with more time either, is no slow program."""
    plain = [trial for trial in state.trials if trial.experiment == PLAIN and trial.ending == HUNG]
    longest = max((trial.seconds for trial in plain), default=0.0)
    if len(plain) < AGAIN or entry.cause != "hang" or entry.status != "likely":
        return entry
    told = Evidence(f"it did not end within {longest:.0f} s either")
    done = {hang.MORE_TIME, *([hang.DUMP] if any(trial.experiment == "dump" for trial in state.trials) else [])}
    fix = tuple(step for step in entry.fix if step not in done)
    entry = replace(entry, evidence=(*entry.evidence[:1], told, *entry.evidence[1:]), fix=fix)
    named = entry.observed and entry.guilty is not None and entry.guilty.source and entry.guilty.launch is not None
    reason = "An instrument saw where the threads are, and a run with more time did not end."
    if named:
        return replace(entry, status="confirmed", reason=reason)
    return replace(entry, reason=STILL_NOT_ENDED) if entry.reason == entries.NOT_ENDED else entry


STILL_NOT_ENDED = "Breadcrumbs show that its stream reached it and that it had not ended; a run with more time did not end."


UNCHANGED = (
    "What the program printed and returned was the same whatever fresh memory held; what it read back from the device was not, so the "
    "value may be one that it does not use."
)


SAME = "What the program printed and returned was the same whatever fresh memory held."
READ_BACK = (
    "What the program read back from the device changes with what fresh memory holds, and with nothing else between these runs; it failed "
    "in the same way each time, so it is not shown that it fails because of this."
)


NOT_SHOWN = (
    "The kernel reported the read; runs with other undefined values do not show that anything depends on it, so the value may be one that "
    "the kernel does not use."
)


UNDECIDED = (
    "An instrument reported the read. A program may load what it then does not use, and the runs do not show that anything depends on it: "
    "compare `gpudx run` with --poison=zero, --poison=cb and --poison=4b."
)
FEW_RUNS = "The outcome differed with the content of fresh memory, in too few runs to exclude chance."


def _that_matter(told: Sequence[Diagnosis], trials: Sequence[Trial]) -> Iterator[Diagnosis]:
    """A program may load what it then does not use: such a read is a fault if the content makes a difference."""
    poisoned = observed(trials).get(POISONED)
    for one in told:
        if is_of_local(one):
            yield _of_local(one, trials, "inconclusive")
        elif is_of_shared(one):  # patterns in global memory say nothing of it
            decided = one.status == "confirmed" or ends_otherwise(trials)
            yield one if decided else replace(one, status="inconclusive", reason=NOT_SHOWN)
        elif one.cause != READS_FRESH or depends(trials):
            yield one
        elif seems_to_depend(trials):
            yield replace(one, status="likely", reason=FEW_RUNS)
        elif poisoned is None or not poisoned.looks_alike:
            yield replace(one, status="inconclusive", reason=UNDECIDED)
        elif not poisoned.unmoved:
            yield replace(one, status="inconclusive", reason=UNCHANGED)


def _without_effect(told: Sequence[Diagnosis], trials: Sequence[Trial]) -> Iterator[Diagnosis]:
    """A program that failed: the read is confirmed if the outcome depends on it, likely as long as no runs say so, and no cause where they
    say that it does not. A program that only says whether its results are right may say the same of all wrong ones: if what it reads back
    depends on the read, it stays likely."""
    poisoned = observed(trials).get(POISONED)
    for one in told:
        if is_of_local(one) and one.status == "confirmed":
            yield _of_local(one, trials, "likely")
        elif is_of_shared(one) or one.cause != READS_FRESH or one.status != "confirmed" or depends(trials):
            yield one
        elif poisoned is not None and poisoned.looks_alike and reads_back_by_pattern(trials):
            yield replace(one, status="likely", reason=READ_BACK, observed=False)  # what a change of the program shows says more
        elif poisoned is not None and poisoned.looks_alike:
            yield replace(one, status="inconclusive", reason=SAME)
        else:
            yield replace(one, status="likely", reason=FEW_RUNS if seems_to_depend(trials) else UNDECIDED)


LOCAL_UNDECIDED = "The kernel reported the read of local memory that no work-item had written; no run shows what depends on the value."
LOCAL_SAME = "What the program printed, returned and read back was the same whatever fresh local memory held."


def _of_local(entry: Diagnosis, trials: Sequence[Trial], otherwise: Status) -> Diagnosis:
    """A read of local memory that nothing has written: runs with other content in it say whether it matters. `otherwise`: without them."""
    shown = local_depends(trials)
    if shown:
        return replace(entry, status="confirmed", evidence=(*shown, *entry.evidence), reason=DEPENDS_ON_LOCAL)
    same = makes_no_difference(trials)
    return replace(entry, status="inconclusive" if same else otherwise, reason=LOCAL_SAME if same else LOCAL_UNDECIDED)


UNEXPLAINED = "unexplained"
AGAIN = 2  # plain runs, the second with more time
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


def _without_despair(told: list[Diagnosis], trials: Sequence[Trial]) -> list[Diagnosis]:
    """That no call explains the failure is no news beside what does."""
    known = any(one.status in ("confirmed", "likely") for one in told)
    return [_with_tries(one, trials) for one in told if not known or one.cause != UNEXPLAINED]


TRIES = {
    exchanged.EDITED: ("change to kernels", "changes to kernels"),
    exchanged.NUMBER: ("other number", "other numbers"),
    exchanged.EXPERIMENT: ("pair of arguments swapped", "pairs of arguments swapped"),
    exchanged.REDIRECTED: ("call changed", "calls changed"),
    exchanged.SCALED: ("offset multiplied", "offsets multiplied"),
}


def _with_tries(entry: Diagnosis, trials: Sequence[Trial]) -> Diagnosis:
    """That nothing explains the failure, with what did not change it."""
    made = {trial.experiment for trial in trials if trial.outcome not in ("passed", "not reached", "tool missing") and trial.note}
    counts = {name: sum(base(one) == name for one in made) for name in TRIES}
    tried = listed([plural(count, *TRIES[name]) for name, count in counts.items() if count])
    if entry.cause != UNEXPLAINED or not tried:
        return entry
    passed = exchanged.undecided(trials)
    return replace(entry, summary=" ".join(filter(None, [entry.summary, passed, f"It also failed with {tried}, one at a time."])))


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


def _said_by(row: Row, weight: str) -> Iterator[tuple[Cell, Evidence]]:
    for cell in row.cells:
        if cell.weight != weight:
            continue
        seen = f"{in_words(cell.experiment)}: {cell.observed}"
        if weight == "against":
            yield cell, Evidence(f'{seen}, {cell.why}; this cause predicts "{cell.expects}"')
        elif cell.why == REPORTED:
            yield cell, Evidence(f"{in_words(cell.experiment)} showed it: {cell.observed}")
        else:
            why = "" if cell.why == STAYS else f", {cell.why}"
            yield cell, Evidence(f"{seen}{why}, as this cause predicts")


def _entry(row: Row, entry: Diagnosis) -> Diagnosis:
    for_, against = (tuple(_said_by(row, weight)) for weight in ("for", "against"))
    counted, not_counted = (against, for_) if row.status == "refuted" else (for_, against)
    telling = [one for cell, one in counted if cell.why != STAYS]  # that it stays under other conditions says little
    return replace(
        entry,
        status=row.status,
        reason=row.reason,
        evidence=(*telling, *entry.evidence, *(() if telling or entry.evidence else (one for _, one in counted))),
        not_counted=(*entry.not_counted, *(one for _, one in not_counted)),
    )


def _rival(row: Row) -> Diagnosis:
    cause = every_cause()[row.cause]
    return Diagnosis(cause.id, row.status, f"{cause.title}.", None, None, (), cause.refutes_if, cause.fix)


def _untested(state: Investigation, entries: dict[str, Diagnosis]) -> Iterator[Diagnosis]:
    """Entries that say where it surfaced, or that no experiment can touch."""
    tested = {row.cause for row in state.table}
    yield from (entry for cause, entry in entries.items() if cause not in tested)
