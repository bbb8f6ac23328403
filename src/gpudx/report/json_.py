"""The case itself: the content of case.json."""

from __future__ import annotations

from gpudx import casefile
from gpudx.model import Case
from gpudx.report import Page


def render(case: Case, page: Page) -> str:
    """The case as JSON."""
    return casefile.to_text(case)
