"""What gpudx itself says: on stderr, because stdout belongs to the program, and whether or not anyone listens."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gpudx.errors import UserError

WHOLE = re.compile(r"(?<=: )(?:gpudx|pip) .+$|case: \S+$")
LINE_EVERY_S = 10.0  # of progress, where stderr is no terminal
_quiet = False
_renewed: float | None = None


@dataclass
class _Elsewhere:
    """Where a command's result goes instead of stdout, or of stderr if stdout belongs to the program."""

    file: Path | None
    text: io.StringIO = field(default_factory=io.StringIO)

    def write(self) -> None:
        if self.file is None:
            return
        try:
            self.file.write_text(self.text.getvalue(), encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise UserError(f"{self.file} cannot be written ({error.strerror}): choose another file with -o FILE.") from None


_elsewhere: _Elsewhere | None = None


@contextlib.contextmanager
def elsewhere(file: Path | None, quiet: bool) -> Iterator[None]:
    """With -o the result of a command goes to a file; with -q only errors are printed."""
    global _elsewhere
    if file is None and not quiet:
        yield
        return
    before = (_quiet, _elsewhere)
    hush(quiet or _quiet)
    result = _elsewhere = _Elsewhere(file)
    try:
        with contextlib.redirect_stdout(result.text) if file else _nowhere():
            yield
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException:  # how a command gives its exit status
        result.write()
        raise
    else:
        result.write()
    finally:
        quiet, _elsewhere = before
        hush(quiet)


@contextlib.contextmanager
def _nowhere() -> Iterator[None]:
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        yield


def show(text: str) -> None:
    """The result of a command whose stdout belongs to the program."""
    if _elsewhere is None:
        write(text)
        return
    _elsewhere.text.write(text)
    _elsewhere.write()  # the command may end with the program's own signal


def shown_on() -> int:
    """The file descriptor that `show` writes to; -1: none that is a terminal."""
    return 2 if _elsewhere is None else -1


def hush(quiet: bool) -> None:
    """With --quiet, only errors are said."""
    global _quiet
    _quiet = quiet


def say(text: str) -> None:
    """One line of our own."""
    if not _quiet:
        write(lines(text))


def follow(text: str) -> None:
    """Text below such a line, as it is."""
    if not _quiet:
        write(text)


def renew(text: str, begins: bool = False) -> None:
    """How something goes: a line that is renewed in place on a terminal, elsewhere one where it `begins`, and now and then another. What
    does not fit is left out: only one row can be cleared."""
    global _renewed
    if _quiet:
        return
    _renewed = time.monotonic() if _renewed is None else _renewed
    if _is_terminal():
        write(f"\r\033[K{f'gpudx: {text}'[: _width() - 1]}")
    elif begins or time.monotonic() - _renewed >= LINE_EVERY_S:
        _renewed = time.monotonic()
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


def lines(text: str) -> str:
    """One line, and on a terminal as many as it needs."""
    return _wrapped(text) if _is_terminal() and _elsewhere is None else f"gpudx: {text}\n"


def _wrapped(text: str) -> str:
    """A command, or the place of a case, at the end stays whole, so that it can be pasted."""
    from gpudx.report.layout import wrapped

    return "\n".join(wrapped(text, _width(), "gpudx: ", whole=WHOLE.findall(text))) + "\n"


def _width() -> int:
    from gpudx.cli.page import page_of

    return page_of(2).width


def complain(error: UserError) -> None:
    """An error that is the user's to fix, as one harmless line."""
    from gpudx.report.safe import clean

    write(lines(clean(str(error))))


def write(text: str) -> None:
    """Text for stderr. If it is closed or full, gpudx goes on in silence: the program's exit status matters more."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - else the interpreter fails again when it ends
