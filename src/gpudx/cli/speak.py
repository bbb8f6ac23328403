"""What gpudx itself says: on stderr, because stdout belongs to the program, and whether or not anyone listens."""

from __future__ import annotations

import os
import re
import sys

from gpudx.errors import UserError

COMMAND = re.compile(r": ((?:gpudx|pip) .+)$")
_quiet = False


def hush(quiet: bool) -> None:
    """With --quiet, only errors are said."""
    global _quiet
    _quiet = quiet


def say(text: str) -> None:
    """One line of our own."""
    if not _quiet:
        write(_lines(text))


def renew(text: str) -> None:
    """How something goes: a line that is renewed in place on a terminal, else one more line. What does not fit is left out: only one
    row can be cleared."""
    if _is_terminal() and not _quiet:
        write(f"\r\033[K{f'gpudx: {text}'[: _width() - 1]}")
    else:
        say(text)


def clear_line() -> None:
    """Take the renewed line away."""
    if _is_terminal():
        write("\r\033[K")


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def paragraph(text: str) -> None:
    """Sentences of our own, as wide as the terminal."""
    if not _quiet:
        write(_wrapped(text))


def _lines(text: str) -> str:
    """One line, and on a terminal as many as it needs."""
    return _wrapped(text) if _is_terminal() else f"gpudx: {text}\n"


def _wrapped(text: str) -> str:
    """A command at the end stays whole, so that it can be pasted."""
    from gpudx.report.layout import wrapped

    return "\n".join(wrapped(text, _width(), "gpudx: ", whole=COMMAND.findall(text))) + "\n"


def _width() -> int:
    from gpudx.cli.page import page_of

    return page_of(2).width


def complain(error: UserError) -> None:
    """An error that is the user's to fix, as one harmless line."""
    from gpudx.report.safe import clean

    write(_lines(clean(str(error))))


def write(text: str) -> None:
    """Text for stderr. If it is closed or full, gpudx goes on in silence: the program's exit status matters more."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - else the interpreter fails again when it ends
