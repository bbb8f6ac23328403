"""Environment variables were set that change what GPUs, drivers or loaders do.

They explain why a program behaves differently on another machine or in another shell: launches that wait, devices that are
hidden or pass for others, libraries from elsewhere. No fault by themselves, but part of what ran.

Example:

    CUDA_LAUNCH_BLOCKING=1 ./app      // errors are reported by other calls than without it

Mend it by running without those that are not meant.

A note, one for all of them; `gpudx show CASE identity` has each with its meaning and where that is said. Only what the program
was started with is seen, not what a script sets later.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.detectors import Run
from gpudx.detectors._words import several
from gpudx.model import Evidence, Finding, Identity

ID = "settings-around"
MOST_NAMED = 6
COMMON = "LD_"  # paths for loaders are set on many machines, and seldom matter: they stand in the identity alone


def examine(identity: Identity, run: Run) -> Iterator[Finding]:
    """One note for all variables."""
    found = [one for one in identity.settings if not one.name.startswith(COMMON)]
    if found:
        names = several([one.name for one in found], MOST_NAMED)
        change = "changes" if len(found) == 1 else "change"
        yield Finding(
            id=ID,
            severity="info",
            message=f"{names} {'was' if len(found) == 1 else 'were'} set, which {change} what GPUs, drivers or loaders do.",
            evidence=tuple(Evidence(f"{one.name}={one.value}: {one.meaning} ({one.source})") for one in found),
            facts=tuple(("variable", one.name) for one in found),
        )
