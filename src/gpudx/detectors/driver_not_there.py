"""A driver is registered with the loader, and the file that it names is not there.

The loader goes on without it: the program then runs on another device than the one that was meant, or finds none.

Example:

    $ OCL_ICD_VENDORS=/opt/old/vendors ./app      // the folder went with an update

Mend it by correcting the variable or the .icd file, or by installing the driver again.

A note in a run that passed; a warning in one that failed. A name without a folder is looked up by the loader in places of its
own, and is never told as missing.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.detectors import Run
from gpudx.model import Evidence, Finding, Identity

ID = "driver-not-there"


def examine(identity: Identity, run: Run) -> Iterator[Finding]:
    """One finding for each."""
    for one in identity.drivers:
        if one.problem:
            yield Finding(
                id=ID,
                severity="warning" if run.failed else "info",
                message=f"{one.problem}: the loader went on without it; correct the entry or install the driver.",
                evidence=(Evidence(one.problem),),
                facts=(("driver", one.name),),
            )
