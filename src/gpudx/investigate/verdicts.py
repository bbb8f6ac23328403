"""How each suspect stands after the experiments.

    refuted       a prediction failed: the rate, or for instruments every one of them that could have shown it
    confirmed     a prediction came true that no standing rival shares, and none failed. A prediction that the failure stays
                  cannot do that, since whatever nobody thought of predicts it too; nor can a failure that goes in an experiment
                  that only mitigates.
                  Where two experiments differ in one thing only, rivals that nothing suggests share nothing
    likely, inconclusive   as the record alone has it; "likely" where a mitigation helps

A cause that is not in every failing run is partial: what it leaves unexplained is named, and it is not confirmed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpudx.investigate.observed import PLAIN, Observed, compared
from gpudx.investigate.prediction import SHOWS, weigh
from gpudx.investigate.reach import limits
from gpudx.investigate.suspects import Suspect
from gpudx.lab.experiments import against
from gpudx.model import Cell, Row, Status
from gpudx.model.investigation import OTHER_PROGRAMS
from gpudx.text import capital, plural

CONFIRMING = ("gone", "may go", *SHOWS)
RATED = ("stays", "gone", "rarer", "more often")
DECIDING = ("gone", "shown", "rarer", "more often")
SHARING = ("gone", "may go", "may change", "rarer")  # what a rival says that would explain a failure that went, too


def judge(
    accused: Sequence[Suspect],
    seen: Mapping[str, Observed],
    runnable: Sequence[str],
    mitigations: frozenset[str],
    level: float,
    not_run: Mapping[str, str],
) -> tuple[Row, ...]:
    """The table: a row for each suspect, in their order. `not_run`: experiments that cannot be run, and why."""
    cells = [tuple(weigh(one, seen[n], compared(n, seen), level) for n in seen if n != PLAIN) for one in accused]
    able = [name for name in runnable if name not in seen or not seen[name].is_blind]
    failed = [_failed(one, own, able) for one, own in zip(accused, cells, strict=True)]
    standing = [one for one, cell in zip(accused, failed, strict=True) if cell is None]
    rows = []
    for one, own, cell in zip(accused, cells, failed, strict=True):
        status, reason = _verdict(one, own, cell, [s for s in standing if s is not one], seen, mitigations)
        if not reason and one.entry is None:
            reason = _open(one, own, seen, not_run)
        rows.append(Row(one.cause.id, status, one.entry is not None, own, reason))
    return tuple(rows)


def _failed(one: Suspect, cells: Sequence[Cell], able: Sequence[str]) -> Cell | None:
    """The prediction that failed, if one did; instruments that stay silent say more than rates."""
    instruments = {name for name in able if one.expects(name) == "shown"}
    if any(cell.weight == "for" and cell.expects in SHOWS for cell in cells):
        instruments = set()  # one that was silent has overlooked it
    silent = [cell for cell in cells if cell.weight == "against" and cell.experiment in instruments]
    if silent and len(silent) == len(instruments):
        return silent[0]
    return next((cell for cell in cells if cell.weight == "against" and cell.expects in RATED), None)


def _verdict(
    one: Suspect,
    cells: Sequence[Cell],
    against: Cell | None,
    rivals: Sequence[Suspect],
    seen: Mapping[str, Observed],
    mitigations: frozenset[str],
) -> tuple[Status, str]:
    if against is not None:
        said = f"It predicts {_said(against)}, and {against.why} ({against.observed}{_base(against, seen)})."
        return "refuted", f"{said}{limits(against.experiment)}"
    came = [cell for cell in cells if cell.weight == "for" and cell.expects in CONFIRMING]
    own = [cell for cell in came if not _is_hidden(cell, mitigations) and not _shared(cell, rivals)]
    left = _left(one, seen[PLAIN])
    if own and left:
        return "likely", f"Partial: {_came(own[0], seen)}; but {left}."
    if own:
        return "confirmed", f"{capital(_came(own[0], seen))}, which no remaining rival predicts."
    if came:
        return _at_least_likely(one), _only_hidden(came[0], seen, rivals, mitigations)
    return one.prior, _untouched(one, left, cells, seen)


def _is_hidden(cell: Cell, mitigations: frozenset[str]) -> bool:
    """Has the change only hidden the failure? A fault that is named was not hidden."""
    return cell.experiment in mitigations and cell.expects not in SHOWS


def _shared(cell: Cell, rivals: Sequence[Suspect]) -> bool:
    """Would a rival explain it too? One that forbids nothing there would; but not that an instrument names the fault."""
    if cell.expects in SHOWS:
        return False
    if (
        against(cell.experiment) != PLAIN
    ):  # the two differ in one thing only, so what nothing suggests does not explain it
        rivals = [rival for rival in rivals if rival.entry]
    return any(rival.expects(cell.experiment) in SHARING for rival in rivals)


def _left(one: Suspect, plain: Observed) -> str:
    """Failing plain runs that do not have its fault."""
    marks = set(one.entry.findings) if one.entry else set()
    if not marks or not any(marks & set(trial.fingerprints) for trial in plain.trials):
        return ""  # found in another experiment: the plain runs cannot have it
    left = [t for t in plain.trials if t.outcome == "reproduced" and not marks & set(t.fingerprints)]
    endings = ", ".join(dict.fromkeys(trial.ending for trial in left))
    return f"{plural(len(left), 'failing run')} of {plain.rate.failures} did not have it ({endings})" if left else ""


def _came(cell: Cell, seen: Mapping[str, Observed]) -> str:
    how = "the tool reported it" if cell.expects in SHOWS else "the failure is gone"
    return f"under {cell.experiment} {how} ({cell.observed}{_base(cell, seen)})"


def _only_hidden(
    cell: Cell, seen: Mapping[str, Observed], rivals: Sequence[Suspect], mitigations: frozenset[str]
) -> str:
    came = capital(_came(cell, seen))
    if _is_hidden(cell, mitigations):
        return f"{came}: order or timing matters, and this mitigates it. It is not the cause."
    others = ", ".join(rival.cause.id for rival in rivals if _shared(cell, [rival]))
    return f"{came}, but that would fit {others} too."


def _at_least_likely(one: Suspect) -> Status:
    return one.prior if one.prior == "confirmed" else "likely"


def _untouched(one: Suspect, left: str, cells: Sequence[Cell], seen: Mapping[str, Observed]) -> str:
    if one.entry is None:
        return ""
    notes = [(cell.experiment, _not_reached(cell, seen)) for cell in cells if cell.expects in DECIDING]
    tried = "; ".join(f"{name}: {note}" for name, note in notes if note)
    return f"{one.entry.reason}{f' Tried, without effect: {tried}.' if tried else ''}{f' Partial: {left}.' if left else ''}"


def _open(one: Suspect, cells: Sequence[Cell], seen: Mapping[str, Observed], not_run: Mapping[str, str]) -> str:
    """Why a rival that nothing suggests is not refuted either: what its experiments did not see, and what would settle it."""
    run = [(cell.experiment, _not_reached(cell, seen) or cell.why) for cell in cells if cell.expects in DECIDING]
    missing = [(name, why) for name, why in not_run.items() if one.expects(name) == "shown" and why not in OTHER_PROGRAMS]
    tried = "; ".join(f"{name}: {why.rstrip('.')}" for name, why in [*run, *missing]) or "no available experiment tests it"
    settled = f" It would be settled by {one.cause.settled_by}." if one.cause.settled_by else ""
    return f"Nothing suggests it, and nothing refutes it ({tried}).{settled}"


def _not_reached(cell: Cell, seen: Mapping[str, Observed]) -> str:
    """Why an experiment could not be brought about."""
    trials = seen[cell.experiment].trials
    return "; ".join(dict.fromkeys(t.note for t in trials if t.note and t.outcome == "not reached"))


def _said(cell: Cell) -> str:
    what = "that the tool shows it" if cell.expects == "shown" else f'"{cell.expects}"'
    return f"{what} under {cell.experiment}"


def _base(cell: Cell, seen: Mapping[str, Observed]) -> str:
    other = compared(cell.experiment, seen)
    change = "" if other is seen[PLAIN] else f"; under {other.experiment} {other.text}"
    return f"{change}; without the change {seen[PLAIN].text}"
