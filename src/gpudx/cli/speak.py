"""What gpudx itself says: on stderr, because stdout belongs to the program, and whether or not anyone listens."""

from __future__ import annotations

import os
import sys

from gpudx.errors import UserError


def say(text: str) -> None:
    """One line of our own."""
    write(f"gpudx: {text}\n")


def complain(error: UserError) -> None:
    """An error that is the user's to mend, as one harmless line."""
    from gpudx.report.safe import clean

    say(clean(str(error)))


def write(text: str) -> None:
    """Text for stderr. If it is closed or full, gpudx goes on in silence: the program's exit status matters more."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - else the interpreter fails again when it ends
