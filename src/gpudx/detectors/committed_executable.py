"""The program that ran is itself a file of the repository.

A committed program stays as it is, whatever is built elsewhere. A developer who edits the sources, builds into another folder
and runs the committed file searches for a mistake in code that does not run.

Example:

    $ git ls-files bin/app      // it is there
    $ make                      // builds build/app
    $ ./bin/app                 // runs the one that was committed

Fix it by running what the build makes, and by removing the program from the repository (git rm --cached bin/app).

Reported for the user's own executables that git lists. Libraries that come with a repository are common, and not reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.detectors import Run
from gpudx.detectors._ages import name_of
from gpudx.model import Evidence, Finding, Identity

ID = "committed-executable"


def examine(identity: Identity, run: Run) -> Iterator[Finding]:
    """One finding for each."""
    for one in identity.executables():
        if one.own and one.committed and one.sha256:
            name = name_of(one.path)
            yield Finding(
                id=ID,
                severity="warning",
                scope="note",
                message=f"{name}, which ran, is a committed file of {one.tree}: a new build elsewhere does not change it.",
                evidence=(Evidence(f"git lists {one.path} as a file of {one.tree}"),),
                facts=(("program", name),),
            )
