"""All findings of a run: those of detectors, with their process; of device dumps; and of the program's model files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudx.detectors import Run, detect_all
from gpudx.diagnose.surface import pid_of
from gpudx.errors import UserError
from gpudx.facts import Facts
from gpudx.model import Finding, Outcome

if TYPE_CHECKING:  # readers of dumps are imported where there is a dump
    from gpudx.evidence.cuda_coredump import Dump

WAVES = "waves.txt"  # of ROCm's debug agent (backends/hip/agent.py)
SEVERITY = {"error": 0, "warning": 1, "info": 2}


def find(facts: Iterable[Facts], outcome: Outcome) -> tuple[Finding, ...]:
    """What the detectors find in all processes; the same fault of one process is told once."""
    found = (
        replace(finding, pid=finding.pid or one.trace.pid) for one in facts for finding in detect_all(one, Run(outcome))
    )
    return merge(found)


def merge(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The same fault of one process is one finding, with its count; errors first."""
    return _merged(findings, lambda finding: (pid_of(finding), finding.fingerprint))


def across(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The same fault of several processes, too: for a case, whose diagnosis says in which processes it was."""
    return _merged(findings, lambda finding: finding.fingerprint)


def _merged(findings: Iterable[Finding], key: Callable[[Finding], object]) -> tuple[Finding, ...]:
    merged: dict[object, Finding] = {}
    for finding in findings:
        earlier = merged.get(key(finding))
        merged[key(finding)] = replace(earlier, count=earlier.count + finding.count) if earlier else finding
    return tuple(sorted(merged.values(), key=lambda f: SEVERITY[f.severity]))


def of_dumps(folder: Path, facts: Iterable[Facts], outcome: Outcome) -> tuple[list[Finding], list[str]]:
    """Faults that the device recorded itself, and a sentence for each record that cannot be read."""
    found: list[Finding] = []
    unreadable: list[str] = []
    processes = {one.trace.pid: one for one in facts}
    if not folder.is_dir():
        return found, unreadable
    from gpudx.diagnose.wave_faults import of_waves
    from gpudx.evidence import cuda_coredump

    for path in sorted(folder.glob("*.nvcudmp")):
        try:
            pid, dump = int(path.stem), cuda_coredump.read(path)
        except (UserError, ValueError) as error:
            unreadable.append(str(error))
            continue
        if pid in processes:
            found += (replace(one, pid=pid) for one in _of_dump(dump, processes[pid], outcome))
    try:
        found += of_waves(folder / WAVES, tuple(processes.values())) if (folder / WAVES).exists() else ()
    except UserError as error:
        unreadable.append(str(error))
    return found, unreadable


def _of_dump(dump: Dump, facts: Facts, outcome: Outcome) -> Iterator[Finding]:
    """Joined to the launches that made them; after a hang, what was running."""
    from gpudx.diagnose import device_faults

    yield from device_faults.join(dump, facts)
    if outcome.kind == "timeout" and not dump.faults:
        yield from device_faults.still_running(dump, facts)
