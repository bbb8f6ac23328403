"""Formats numbers, lists and plurals alike in every sentence."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

MOST_NAMED = 3
IDENTIFIER = re.compile(r"[a-z]+[A-Z]|[A-Za-z]*_\w")


def plural(number: int, one: str, many: str | None = None) -> str:
    """ "1 byte", "1,024 bytes"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(names: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"; "" for none."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def capital(text: str) -> str:
    """With a capital first letter, but for names of code: clFinish, cuMemAlloc, my_kernel."""
    return text if IDENTIFIER.match(text) else text[:1].upper() + text[1:]


def times(count: int) -> str:
    """ "once", "1,024 times"."""
    return "once" if count == 1 else f"{count:,} times"


def signal_name(number: int) -> str:
    """ "SIGSEGV" for 11."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def duration(seconds: float) -> str:
    """ "147 ms", "2.5 s", "3 min"."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def triple(extent: tuple[int, int, int]) -> str:
    """ "(4,1,1)", of a grid, a block or a place in one."""
    return f"({extent[0]},{extent[1]},{extent[2]})"


def several(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """ "a", "a and b", "a, b, c and 4 others"."""
    more = len(names) - most
    return listed([*names[:most], *([plural(more, "other")] if more > 0 else [])])


def printable(text: str) -> str:
    """Names come from files anybody may have written: nothing in them may reach a terminal as a command."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def nth(number: int) -> str:
    """ "1st", "2nd", "3rd", "4th", "11th"."""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"
