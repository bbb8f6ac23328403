"""A known finding that a project has decided to accept for a while: [[suppress]] in gpudx.toml."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from gpudx.model.finding import Finding

NOTES = ("Suppressed by gpudx.toml:", "The suppression of ")  # how the sentences about suppressions begin


@dataclass(frozen=True)
class Suppression:
    """Patterns with * and ?; an empty one fits everything."""

    rule: str
    reason: str
    kernel: str = ""
    path: str = ""
    expires: date | None = None  # the last day on which it holds

    def holds(self, today: date) -> bool:
        return self.expires is None or today <= self.expires

    def fits(self, finding: Finding) -> bool:
        """Is it about this finding? One without a kernel or a path does not fit a pattern for it."""
        sites = [one for one in (finding.site, finding.root) if one]
        kernels = [one.kernel for one in sites if one.kernel]
        paths = [one.source.rpartition(":")[0] for one in sites if one.source]
        paths += [finding.written.file] if finding.written else []
        return (
            fnmatch.fnmatchcase(finding.id, self.rule)
            and (not self.kernel or any(fnmatch.fnmatchcase(one, self.kernel) for one in kernels))
            and (not self.path or any(_is_below(one, self.path) for one in paths))
        )


def _is_below(path: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path, f"*/{pattern}")


def unsuppressed(
    findings: Iterable[Finding], suppressions: Iterable[Suppression], today: date
) -> tuple[list[Finding], list[str]]:
    """The findings that are left, and a sentence for each suppression that took some away or has expired."""
    left, notes = list(findings), []
    for one in suppressions:
        fitting = [finding for finding in left if one.fits(finding)]
        if fitting and one.holds(today):
            left = [finding for finding in left if finding not in fitting]
            count = sum(finding.count for finding in fitting)
            notes.append(f"{NOTES[0]} {one.rule}, {'once' if count == 1 else f'{count:,} times'} ({one.reason}).")
        elif fitting:
            notes.append(f"{NOTES[1]}{one.rule} in gpudx.toml expired on {one.expires}: fix the finding, or change the date.")
    return left, notes
