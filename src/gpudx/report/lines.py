"""One line for each finding, `file:line: severity: id message`, as editors and `grep -n` users read them."""

from __future__ import annotations

import os

from gpudx.model import Case, Finding
from gpudx.report import Page, source_line
from gpudx.report.safe import clean


def render(case: Case, page: Page) -> str:
    """Errors first; findings without a line of source have the program's name instead."""
    order = {"error": 0, "warning": 1, "info": 2}
    chosen = sorted(case.findings, key=lambda one: order[one.severity])
    return "".join(f"{clean(_line(case, one))}\n" for one in chosen)


def _line(case: Case, finding: Finding) -> str:
    place = _place(case, finding) or (os.path.basename(case.command[0]) if case.command else "gpudx")
    return f"{place}: {finding.severity}: {finding.id} {finding.message}"


def _place(case: Case, finding: Finding) -> str:
    """The line that an editor should open: as on the first screen, not the wrapper that made the call."""
    written = finding.written
    if written:
        return f"{written.file}:{written.line}"
    root, access, site = finding.root, finding.access, finding.site
    if root and root.source:
        return source_line.of_call(case, root)
    if access and access.source:
        return access.source
    return source_line.of_call(case, site) if site and site.source else ""
