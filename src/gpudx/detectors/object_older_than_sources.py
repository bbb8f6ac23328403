"""The program that ran is older than the sources it was built from.

An edit that was never built, a build in another folder, a forgotten copy: the code that you read is not the code that ran, and
every conclusion about it is about another program.

Example:

    $ edit kernels.c; make -C build-new        // builds another folder
    $ ./build/app                              // ran last week's build

Fix it by building again, and check the build id or the hash in `gpudx show CASE identity`.

Reported if the debug information names sources that exist here and are newer: by their checksum, if the compiler kept one (then
it is certain), else by their time. A time alone counts only if git shows that the file was changed since, or there is no
repository: a clone, a checkout or a copy gives old files new times. If such a source has a text that nothing that ran contains,
and no condition around it explains that, the difference probably matters. Files of the system or of a package are not checked,
and neither are files that were edited after the program had started.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.detectors import Run
from gpudx.detectors._ages import OLDER, before, name_of, span
from gpudx.model import Evidence, Finding, Identity, Lack, LoadedObject, Making
from gpudx.text import several

ID = "object-older-than-sources"
PROVEN = "The program that ran differs from its sources; the trace does not show that this caused the failure."
LACKS = "Its sources are newer, and it lacks a text from them; it is not shown that this caused the failure."


def examine(identity: Identity, run: Run) -> Iterator[Finding]:
    """One finding for each object."""
    for one in identity.objects:
        if one.own and one.built and one.built.stale:
            yield _finding(one, one.built, run, _lacks(one, identity))


def _lacks(one: LoadedObject, identity: Identity) -> list[Lack]:
    """Texts that it should have. One under a condition counts only if a build before it did nothing, or failed: else it may be of
    another way to build it."""
    steps = [step for step in identity.steps if before(step, one)]
    idle = bool(steps) and (bool(steps[-1].status) or not steps[-1].compiled)
    return [lack for lack in identity.lacks if lack.program == one.path and (idle or not lack.conditional)]


def _finding(one: LoadedObject, built: Making, run: Run, lacks: list[Lack]) -> Finding:
    name = name_of(one.path)
    proven = [source for source in built.stale if source.why == "content"]
    files = several([name_of(source.path) for source in proven or built.stale])
    late = span(built.stale[0].modified - one.modified)
    because = (
        f"{files} {'has' if len(proven) == 1 else 'have'} a different checksum than when it was compiled"
        if proven
        else f"{files} {'was' if len(built.stale) == 1 else 'were'} changed {late} after it was built"
    )
    return Finding(
        id=ID,
        severity="error" if proven and run.failed else "warning",
        message=f"{name}, which ran, was not built from its current sources: {because}{_told(lacks)}; build it again.",
        evidence=(
            *_evidence(one, built),
            *(Evidence(f"{i.place} has {i.text!r}, and nothing that ran has it") for i in lacks),
        ),
        causes=("stale-executable",),
        facts=(("object", name), *(("source", name_of(source.path)) for source in built.stale)),
        scope="program",
        certainty="recorded" if run.failed and (proven or lacks) else "inferred",
        because=PROVEN if proven else LACKS if lacks else OLDER,
    )


def _told(lacks: list[Lack]) -> str:
    return f", and it has no {lacks[0].text!r} ({name_of(lacks[0].place)})" if lacks else ""


def _evidence(one: LoadedObject, built: Making) -> Iterator[Evidence]:
    yield Evidence(f"{one.path} has the sha256 {one.sha256[:16]}... and the build id {one.build_id or '(none)'}")
    for source in built.stale:
        how = {
            "content": "its content differs from what was compiled (MD5 in the line table)",
            "edited": f"it was changed {span(source.modified - one.modified)} after the object was written, and is not committed",
            "committed": f"it was changed {span(source.modified - one.modified)} after the object was written, by a commit",
        }[source.why]
        yield Evidence(f"{source.path}: {how}")
