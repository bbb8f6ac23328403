"""Of everything that was asked to check a run: the instruments, what they found, and what was not checked.

Readers of tools' reports are imported where the tool was used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpudx.diagnose import fenced_runs, left_undone, poisoned_runs, watched_runs
from gpudx.facts import Facts
from gpudx.lab.recorded import RunResult
from gpudx.model import Finding, Instrument

NOT_CHECKED = ("What kernels did inside their memory: recording sees calls, not accesses.",)


@dataclass(frozen=True)
class Checked:
    instruments: tuple[Instrument, ...] = ()
    findings: tuple[Finding, ...] = ()
    unchecked: tuple[str, ...] = ()


def look(run: RunResult, facts: Sequence[Facts], command: Sequence[str], case_dir: Path) -> Checked:
    """What fences and watched memory found is in the record, and found there by detectors."""
    inside = _sanitized(run, facts, command, case_dir)
    if run.how.fence:
        fence = run.how.fence
        inside = Checked((fenced_runs.instrument(fence, facts),), (), fenced_runs.not_checked(fence, facts))
    parts = [
        inside,
        _checked(run, facts, case_dir),
        _simulated(run, facts, case_dir),
        _watched(run, facts),
        _poisoned(run, facts),
    ]
    unchecked = [text for one in parts for text in one.unchecked]
    if (run.how.watch or run.how.kernel_checks or run.how.simulator) and inside.unchecked == NOT_CHECKED:
        unchecked = [text for text in unchecked if text not in NOT_CHECKED]
    return Checked(
        tuple(tool for one in parts for tool in one.instruments),
        tuple(finding for one in parts for finding in one.findings),
        (*unchecked, *left_undone.not_checked(facts)),
    )


def _sanitized(run: RunResult, facts: Sequence[Facts], command: Sequence[str], case_dir: Path) -> Checked:
    if run.sanitized is None:
        return Checked(unchecked=NOT_CHECKED)
    from gpudx.diagnose import sanitizer_runs

    reports = sanitizer_runs.read(case_dir)
    tool = sanitizer_runs.instrument(run.sanitized, reports, len(facts))
    found = tuple(sanitizer_runs.findings(run.sanitized, reports, facts, command))
    return Checked((tool,), found, sanitizer_runs.not_checked(run.sanitized, tool.state == "live"))


def _checked(run: RunResult, facts: Sequence[Facts], case_dir: Path) -> Checked:
    """Checks inside kernels."""
    wanted = run.how.kernel_checks
    if wanted is None:
        return Checked()
    if wanted.language == "ptx":
        from gpudx.diagnose import ptx_check_runs

        tool = ptx_check_runs.instrument(wanted, facts, case_dir)
        return Checked((tool,), tuple(ptx_check_runs.findings(facts, case_dir)), ptx_check_runs.not_checked(facts))
    from gpudx.diagnose import kernel_check_runs

    if not (run.sanitized is None or kernel_check_runs.applies(facts, case_dir)):
        return Checked()
    tool = kernel_check_runs.instrument(wanted, facts, case_dir)
    found = tuple(kernel_check_runs.findings(facts, case_dir))
    return Checked((tool,), found, kernel_check_runs.not_checked(wanted, facts, tool.state == "live", case_dir))


def _simulated(run: RunResult, facts: Sequence[Facts], case_dir: Path) -> Checked:
    if run.how.simulator is None:
        return Checked()
    from gpudx.diagnose import simulated_runs

    tool = simulated_runs.instrument(run.how.simulator, facts, case_dir)
    return Checked((tool,), tuple(simulated_runs.findings(facts, case_dir)), simulated_runs.NOT_CHECKED)


def _watched(run: RunResult, facts: Sequence[Facts]) -> Checked:
    if run.how.watch is None:
        return Checked()
    tool = watched_runs.instrument(facts)
    return Checked((tool,), (), watched_runs.not_checked(tool))


def _poisoned(run: RunResult, facts: Sequence[Facts]) -> Checked:
    if run.how.poison is None:
        return Checked()
    return Checked((poisoned_runs.instrument(run.how.poison, facts),), (), poisoned_runs.NOT_CHECKED)
