"""What a report may fill where it is shown: the terminal's width and colours."""

from __future__ import annotations

import os
import sys

from gpudx.report import Page


def page_here(width: int = Page.width) -> Page:
    """What can be shown on stdout; `width` where it is no terminal."""
    return page_of(sys.stdout.fileno()) if sys.stdout.isatty() else Page(width)


def page_of(descriptor: int) -> Page:
    """What can be shown on an open file: the terminal's width and colours, or 80 columns and none."""
    try:
        width = os.get_terminal_size(descriptor).columns or 80
    except OSError:
        return Page()
    return Page(width, "NO_COLOR" not in os.environ and os.environ.get("TERM", "dumb") != "dumb")
