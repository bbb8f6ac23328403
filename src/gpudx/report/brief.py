"""A run without a fault in one line, and whether one line is enough. Apart from the rest, which takes longer to import than to print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudx.model.case import UNCHECKED_IMAGES, UNCHECKED_KERNELS
from gpudx.model.suppression import NOTES
from gpudx.report.safe import clean, full
from gpudx.text import listed, plural
from gpudx.text.places import here

if TYPE_CHECKING:
    from gpudx.model import Case, Instrument

RECORDER = "recorder"
SEVERITIES = (("error", "error", "errors"), ("warning", "warning", "warnings"), ("info", "note", "notes"))


def one_line(case: Case) -> str:
    """What `gpudx run` prints after a run that needs no report."""
    return f"{clean(watched(case))} case: {near(case.directory)}"


def near(place: str) -> str:
    """A path as short as it can be opened from here."""
    return full(here(place))


def needs_report(case: Case) -> bool:
    """Is there more to say than one line? Not after a pass without a fault, even if nothing could be watched."""
    return eventful(case) or bool(case.hypotheses) or bool(case.identity and case.identity.probes)


def eventful(case: Case) -> bool:
    faults = any(finding.severity != "info" for finding in case.findings)
    causes = any(entry.status in ("confirmed", "likely") for entry in case.diagnosis)
    return not case.outcome.passed or faults or causes


def watched(case: Case) -> str:
    """What was looked at without finding a fault, as one sentence without a capital."""
    blind = blind_recorder(case)
    if blind:
        return f"gpudx could not watch this program. {blind.saw}"
    calls = calls_made(case)
    launches = sum(process.launches for process in case.processes)
    if not calls:
        return "no GPU API call was recorded."
    seen = f"{plural(calls, 'call')}, {plural(launches, 'launch', 'launches')}"
    found = counted(case) if case.findings else "no fault found"
    tools = "".join(f" {one.name}: {one.saw}" for one in case.instruments if one.watches and one.name != RECORDER)
    tools += _kernels_checked(case)
    inside = any(one.state == "live" for one in _inside_kernels(case))
    tools += " Of images, at most 2D coordinates were checked." if inside and unchecked_images(case) else ""
    suppressed = "".join(f" {note}" for note in suppressions(case))
    missing = missing_calls(case)
    gap = f" Not everything was recorded: {missing}." if missing else ""
    several = f" ({len(case.processes):,} processes)" if len(case.processes) > 1 else ""
    return f"{found} in {seen}{several}.{gap}{tools}{suppressed}"


def missing_calls(case: Case) -> str:
    """What the record does not have of the program's calls: the first gap, and whether there are more; "" where nothing is missing."""
    gaps = [gap for process in case.processes for gap in process.gaps]
    more = f", and {plural(len(gaps) - 1, 'more gap')}, see gpudx report" if len(gaps) > 1 else ""
    return f"{gaps[0].rstrip('.')}{more}" if gaps else ""


def _kernels_checked(case: Case) -> str:
    """How many kernels checked themselves, and why others did not."""
    saw = next((one.saw for one in case.instruments if one.name.startswith("kernel checks")), "")
    missing = [note for note in case.not_checked if UNCHECKED_KERNELS in note]
    more = f" (and for {plural(len(missing) - 1, 'other reason')}, see gpudx report)" if len(missing) > 1 else ""
    return (f" {saw.partition(';')[0]}." if saw else "") + (f" {missing[0].rstrip('.')}{more}." if missing else "")


def unchecked_images(case: Case) -> bool:
    """Did kernels run that have images among their arguments? No instrument follows these."""
    return any(note.startswith(UNCHECKED_IMAGES) for note in case.not_checked)


def _inside_kernels(case: Case) -> list[Instrument]:
    return [one for one in case.instruments if one.name.startswith(("kernel checks", "oclgrind"))]


def suppressions(case: Case) -> list[str]:
    """Findings that the project's gpudx.toml took away, or no longer does: a pass is never silent about them."""
    return [note for note in case.not_checked if note.startswith(NOTES)]


def blind_recorder(case: Case) -> Instrument | None:
    return next((one for one in case.instruments if one.name == RECORDER and one.failed), None)


def calls_made(case: Case) -> int:
    return sum(process.calls for process in case.processes)


def counted(case: Case) -> str:
    """ "2 errors and 1 note"; "no findings"."""
    parts = []
    for severity, one, many in SEVERITIES:
        count = sum(finding.severity == severity for finding in case.findings)
        if count:
            parts.append(plural(count, one, many))
    return listed(parts) or "no findings"
