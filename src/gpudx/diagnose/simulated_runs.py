"""A run on Oclgrind's simulated device: what it reported, and where the checks inside kernels agree with it or do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gpudx.detectors import Run, arguments_overlap
from gpudx.diagnose.judge import diagnose
from gpudx.evidence import oclgrind_reports
from gpudx.evidence.oclgrind_reports import Report
from gpudx.facts import Facts
from gpudx.lab.simulated import FOLDER, LOG
from gpudx.model import Access, Case, Evidence, Finding, Instrument, Outcome
from gpudx.model.how import Simulator
from gpudx.text import plural

ID, OURS, SPLIT = "oclgrind-", "kernel-check-", "second-opinion"
NAME = "Oclgrind"
CAUSES = {"bounds": "out-of-bounds-access", "race": "race-in-kernel", "barrier": "barrier-misuse"}
WORDS = {
    "bounds": "an out-of-bounds access",
    "race": "a data race",
    "barrier": "a barrier that not all work-items reach",
}
NOT_CHECKED = (
    "Oclgrind ran without its check for uninitialized values, which reports bytes that a fill command wrote.",
)


def findings(facts: Sequence[Facts], case_dir: Path) -> Iterator[Finding]:
    raw, reports = f"{FOLDER}/{LOG}", list(oclgrind_reports.read(_log(case_dir)))
    overlap = _with_overlap(facts) if reports else set()
    for report in reports:
        if report.kind == "race" and report.space == "global" and report.kernel in overlap:
            continue  # the arguments that meet are the fault: the kernel's work-items use elements of their own
        yield _finding(report, facts, raw)


def _with_overlap(facts: Sequence[Facts]) -> set[str | None]:
    """Kernels that were passed overlapping parts of a buffer."""
    failed = Run(Outcome("exit", "", 1))
    return {f.site.kernel for one in facts for f in arguments_overlap.detect(one, failed) if f.site}


def _log(case_dir: Path) -> str:
    try:
        return (case_dir / FOLDER / LOG).read_text(errors="replace")
    except OSError:
        return ""


def _finding(report: Report, facts: Sequence[Facts], raw: str) -> Finding:
    launches = [(one, int(row)) for one in facts for row in one.launches.find(report.kernel)]
    only = len(launches) == 1
    site = launches[0][0].sites.at(int(launches[0][0].launches.position[launches[0][1]])) if launches else None
    where = " and ".join(f"line {line}" for line in dict.fromkeys(report.lines))
    seen = [Evidence(f"Oclgrind printed: {report.said}", raw=raw)]
    if report.item is not None:
        seen.append(Evidence(f"work-item {_ids(report.item)} (local {_ids(report.local)}, group {_ids(report.group)})"))
    if not only and launches:
        seen.append(
            Evidence(
                f"the program launched {report.kernel} {plural(len(launches), 'time')}; Oclgrind does not name the launch"
            )
        )
    return Finding(
        id=ID + report.kind,
        severity="error",
        message=f"Oclgrind reports {_what(report)} in kernel {report.kernel}{f' at {where} of its source' if where else ''}.",
        evidence=tuple(seen),
        site=site if only else None,
        causes=(CAUSES[report.kind],),
        facts=(("kernel", report.kernel), ("line", ",".join(map(str, report.lines)))),
        certainty="observed",
        attribution="this" if only else "kernel",
        because="Oclgrind simulates the device and saw this access.",
        access=Access(
            kind="write" if report.does == "write" else "read" if report.does else "",
            by="kernel",
            kernel=report.kernel,
            width=report.width or None,
            block=report.group,
            thread=report.local,
            source=f"kernel source:{report.lines[0]}" if report.lines else None,
            space=report.space,
            seen_by="Oclgrind",
        ),
    )


def _what(report: Report) -> str:
    if report.kind == "bounds" and report.does:
        return f"an out-of-bounds {report.does} of {plural(report.width, 'byte')} in {report.space} memory"
    return WORDS[report.kind] + (f" in {report.space} memory" if report.kind == "race" else "")


def _ids(one: tuple[int, int, int] | None) -> str:
    return "(" + ", ".join(f"{n:,}" for n in one or ()) + ")"


def instrument(simulator: Simulator, facts: Sequence[Facts], case_dir: Path) -> Instrument:
    launches = sum(len(one.launches) for one in facts)
    log = _log(case_dir)
    saw = f"{plural(launches, 'launch', 'launches')} simulated, {plural(len(oclgrind_reports.read(log)), 'fault')} reported"
    saw += "; it stopped printing before the end" if oclgrind_reports.was_cut(log) else ""
    return Instrument(NAME, "live" if launches else "not live", saw, simulator.version)


# ---- two opinions ----


def joined(first: Case, second: Case) -> Case:
    """The case of a run with checks inside its kernels, with what Oclgrind found in a second run of the program."""
    theirs = [one for one in second.findings if one.id.startswith(ID)]
    ours = [_seconded(one, theirs) if one.id.startswith(OURS) else one for one in first.findings]
    known = {(_kind(one), _kernel(one)) for one in first.findings if one.id.startswith(OURS)}
    added = [one for one in theirs if (_kind(one), _kernel(one)) not in known]
    notes = [*_only_ours(first, second, theirs), *(_only_theirs(one) for one in added if _checked_by_us(first))]
    merged = tuple(sorted([*ours, *added, *notes], key=lambda f: ("error", "warning", "info").index(f.severity)))
    tools = [one for one in second.instruments if one.name == NAME]
    return replace(
        first,
        findings=merged,
        diagnosis=diagnose(merged, first.outcome) or first.diagnosis,
        instruments=(*first.instruments, *tools),
        not_checked=tuple(dict.fromkeys((*first.not_checked, *second.not_checked))),
        observations=(*first.observations, *second.observations),
    )


def _kind(one: Finding) -> str:
    return one.id.removeprefix(OURS).removeprefix(ID)


def _kernel(one: Finding) -> str:
    return one.access.kernel if one.access else ""


def _lines(one: Finding) -> str:
    return dict(one.facts).get("line", "")


def _seconded(one: Finding, theirs: Sequence[Finding]) -> Finding:
    same = [other for other in theirs if (_kind(other), _kernel(other)) == (_kind(one), _kernel(one))]
    if not same:
        return one
    at = next((other for other in same if _lines(one) in _lines(other).split(",")), same[0])
    place = "at the same line" if _lines(one) in _lines(at).split(",") else f"at line {_lines(at)}"
    return replace(
        one, evidence=(*one.evidence, Evidence(f"Oclgrind reports {WORDS[_kind(one)]} in this kernel {place}"))
    )


def _only_ours(first: Case, second: Case, theirs: Sequence[Finding]) -> Iterator[Finding]:
    """Faults that Oclgrind would have seen. A simulation that did not end, or ended otherwise, may not have come so far."""
    live = any(one.name == NAME and one.state == "live" and "stopped" not in one.saw for one in second.instruments)
    if not live or second.outcome.kind != first.outcome.kind or second.outcome.exit_code != first.outcome.exit_code:
        return
    known = {(_kind(one), _kernel(one)) for one in theirs}
    for one in first.findings:
        if one.id.startswith(OURS) and _kind(one) in CAUSES and (_kind(one), _kernel(one)) not in known:
            yield _split(one, f"The check in kernel {_kernel(one)} reports {WORDS[_kind(one)]}; Oclgrind does not.")


def _only_theirs(one: Finding) -> Finding:
    return _split(
        one, f"Oclgrind reports {WORDS[_kind(one)]} in kernel {_kernel(one)}; the check in the kernel does not."
    )


def _checked_by_us(first: Case) -> bool:
    return any(one.name.startswith("kernel checks") and one.state == "live" for one in first.instruments)


def _split(one: Finding, message: str) -> Finding:
    return Finding(
        id=SPLIT,
        severity="warning",
        message=f"Two instruments disagree: {message[0].lower() if message[0] == 'T' else message[0]}{message[1:]}",
        evidence=(Evidence(one.message),),
        site=one.site,
        facts=(("kernel", _kernel(one)), ("kind", _kind(one))),
        scope="note",
    )
