"""Times on the command line: one spelling for all options."""

from __future__ import annotations

import click

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
EXAMPLES = "give for example 30, 90s, 10m or 2h"


def seconds(text: str | float) -> float:
    """ "90", "90s", "1.5m" or "2h" in seconds; ValueError where it is no time above zero."""
    if isinstance(text, float | int):
        return float(text)
    number, unit = (text[:-1], text[-1]) if text[-1:] in UNITS else (text, "s")
    found = float(number) * UNITS[unit]
    if not 0 < found < float("inf"):
        raise ValueError(text)
    return found


def duration(text: str | float) -> float:
    """For options: `Option(parser=duration, metavar="TIME")`."""
    try:
        return seconds(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a time: {EXAMPLES}.") from None


def duration_or_zero(text: str | float) -> float:
    """The same, where 0 means never."""
    return 0.0 if str(text) in ("0", "0s", "0.0") else duration(text)
