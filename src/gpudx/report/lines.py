"""One line for each finding, `file:line: id message`, as editors and `grep -n` users read them."""

from __future__ import annotations

import os

from gpudx.model import Case, Finding
from gpudx.report import Page
from gpudx.report.safe import clean


def render(case: Case, page: Page) -> str:
    """Errors first; findings without a line of source have the program's name instead."""
    order = {"error": 0, "warning": 1, "info": 2}
    chosen = sorted(case.findings, key=lambda one: order[one.severity])
    return "".join(f"{clean(_line(case, one))}\n" for one in chosen)


def _line(case: Case, finding: Finding) -> str:
    place = _place(finding) or (os.path.basename(case.command[0]) if case.command else "gpudx")
    return f"{place}: {finding.severity}: {finding.id} {finding.message}"


def _place(finding: Finding) -> str:
    written, site = finding.written, finding.site
    if written:
        return f"{written.file}:{written.line}"
    root = finding.root.source if finding.root else None
    return root or (finding.access.source if finding.access else None) or (site.source if site else None) or ""
