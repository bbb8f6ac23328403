"""A probe that the user put into the program is in the program that ran, and never fired.

Unlike the silence of an absent probe, this shows something: the program did not reach this place, or its output was lost.

Example:

    $ gpudx run --probe 'ENTER gemm' -- ./app      // the executable has the text, and did not write it

Fix it by finding the branch, the error or the crash before it. It is a note, for texts only: whether a function or a line was
reached is not recorded. Output that was still buffered when the program was killed is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.detectors import Run
from gpudx.model import Evidence, Finding, Identity

ID = "probe-not-reached"
BUFFERED = " Output that was still in a buffer when it was killed is lost."


def examine(identity: Identity, run: Run) -> Iterator[Finding]:
    """One note for each mark."""
    for probe in identity.probes:
        if probe.state == "not reached":
            killed = run.outcome.kind in ("signal", "timeout")
            yield Finding(
                id=ID,
                severity="info",
                scope="note",
                message=probe.said,
                evidence=(Evidence(f"it is in {', '.join(probe.places[:3])}.{BUFFERED if killed else ''}"),),
                facts=(("probe", probe.text),),
            )
