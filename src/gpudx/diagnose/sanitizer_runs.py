"""What a run under compute-sanitizer left in the case: its reports, whether it worked at all, and what it left out.

A tool that printed no summary checked nothing. One that was narrowed to some kernels says nothing of the others.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpudx.backends.cuda.sanitizer import NAME, UNSEEN, kernel_filter
from gpudx.diagnose.sanitizer_faults import join, kernel_of
from gpudx.evidence.compute_sanitizer import Report, parse
from gpudx.evidence.compute_sanitizer import read as read_report
from gpudx.facts import Facts
from gpudx.lab.sanitized import FOLDER, Sanitized
from gpudx.lab.signals import name as signal_name
from gpudx.model import Evidence, Finding, Instrument
from gpudx.model.how import Sanitizer
from gpudx.text import plural

NARROWED = "sanitizer-narrowed"
MOST_SAID = 3
ADVICE = re.compile("The application may|Default timeout")  # long, and about something else
Reports = Sequence[tuple[Report, str | None]]


def read(case_dir: Path) -> Reports:
    """The reports with their files' names; one of a tool that did not run, when it wrote none."""
    paths = sorted((case_dir / FOLDER).glob("*.txt"))
    return [(read_report(path), f"{FOLDER}/{path.name}") for path in paths] or [(parse(b""), None)]


def findings(run: Sanitized, reports: Reports, processes: Sequence[Facts], command: Sequence[str]) -> Iterator[Finding]:
    """What the tool found, joined to the recorded launches, and that there may be more outside of what it checked."""
    for report, raw in reports:
        yield from join(report, processes, raw, run.sanitizer.launch)
    if run.sanitizer.kernel and _empty(reports):
        yield _narrowed(run.sanitizer, reports, command)


def _empty(reports: Reports) -> bool:
    """Did the tool run, and see no fault of a kernel? An exception of the hardware in a launch that it skipped counts."""
    ran = any(r.errors is not None or any("hardware exception" in said for said in r.problems) for r, _ in reports)
    return ran and not any(kernel_of(fault.first) for report, _ in reports for fault in report.faults)


def _narrowed(sanitizer: Sanitizer, reports: Reports, command: Sequence[str]) -> Finding:
    again = f"gpudx run --sanitize={sanitizer.check} -- {shlex.join(command)}"
    return Finding(
        id=NARROWED,
        severity="warning",
        message=f"Only launches of {sanitizer.kernel} were checked; a launch outside that filter may be the one: {again}",
        evidence=(
            Evidence(f"the tool was passed the filter {kernel_filter(sanitizer.kernel or '')}"),
            *(Evidence(f"the tool reports: {text}", raw=raw) for report, raw in reports for text in _said(report)),
        ),
        facts=(("kernel", sanitizer.kernel or ""), ("check", sanitizer.check)),
    )


def _said(report: Report) -> tuple[str, ...]:
    return (*report.problems, *report.summaries)[:MOST_SAID]


def instrument(run: Sanitized, reports: Reports, processes: int) -> Instrument:
    """The tool as an instrument of the case. Live only if each report ends with its own, unrestricted summary."""
    kinds = {report.status for report, _ in reports}
    live = kinds <= {"clean", "errors"}
    only = f"Only launches of {run.sanitizer.kernel} were checked. " if run.sanitizer.kernel else ""
    saw = _counted(reports, processes) if live else _failed(run, reports)
    blind = only.strip() or ("" if live else "the tool did not check everything")
    return Instrument(
        f"{NAME} {run.sanitizer.check}", "live" if live else "not live", only + saw, run.sanitizer.version, blind
    )


def _counted(reports: Reports, processes: int) -> str:
    errors = plural(sum(report.errors or 0 for report, _ in reports), "error")
    return f"Its summary counts {errors} in {plural(processes, 'process', 'processes')}."


def _failed(run: Sanitized, reports: Reports) -> str:
    first = next(report for report, _ in reports if report.status not in ("clean", "errors"))
    what = {
        "did not run": "It printed no summary, so nothing was checked",
        "cut off": f"It stopped before its summary, after {plural(first.records, 'record')}",
        "incomplete": "It found nothing, but reports that it could not check everything",
    }[first.status]
    said = "".join(f"; it reports: {text.rstrip('.')}" for text in first.problems[:MOST_SAID] if not ADVICE.match(text))
    return f"{what} ({_ended(run)}){said}."


def _ended(run: Sanitized) -> str:
    code = run.returncode
    if code is None:
        return "it did not end"
    return f"it crashed with {signal_name(-code)}" if code < 0 else f"it ended with status {code}"


def not_checked(run: Sanitized, live: bool) -> tuple[str, ...]:
    """What nobody looked at, in a run under the tool."""
    if not live:
        return (f"What kernels did inside their memory: {NAME} did not work.",)
    kernel = run.sanitizer.kernel
    others = (f"Launches of other kernels than {kernel}: they were filtered out.",) if kernel else ()
    return (*others, UNSEEN[run.sanitizer.check])
