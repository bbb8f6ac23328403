"""A probe that the user put into the program is not in the program that ran.

That it did not fire then says nothing about the path of the program: the code that ran has no such mark. Do not conclude
anything from its silence.

Example:

    $ gpudx run --probe 'ENTER gemm' -- ./run.sh
    // the sources have it; the executable that the script ran was built before

Fix it by finding out which file ran (`gpudx show CASE identity`) and why it is not the one with the mark; then run again.

Reported if every loaded file, and the sources of interpreters, were searched completely without finding it. If something could
not be searched (a file that was replaced, stripped symbols, compressed device code, a text that is composed when it is
written), it is "not known", and not reported as absent.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.detectors import Run
from gpudx.detectors._ages import before, name_of, span
from gpudx.model import Cause, Evidence, Finding, Identity, LoadedObject, Probe
from gpudx.text import several

ID = "probe-absent"
CAUSE = Cause(
    id=ID,
    title="The probe is not in the program that ran",
    refutes_if="The text, symbol or line is in one of the files that were loaded.",
    fix=(
        "See which files ran with `gpudx show CASE identity`, and build or choose the one that has the mark.",
        "Check the spelling of the mark, and whether the compiler removed the code around it.",
    ),
    predicts=(("recorded", "the mark fires in no run"),),
    settled_by="a run of a program that has the mark",
)


def examine(identity: Identity, run: Run) -> Iterator[Finding]:
    """One finding for each mark."""
    for probe in identity.probes:
        if probe.state == "absent":
            yield _finding(identity, probe)


def _finding(identity: Identity, probe: Probe) -> Finding:
    programs = [one for one in identity.executables() if one.own]
    return Finding(
        id=ID,
        severity="error",
        message=_message(probe, programs),
        evidence=(*_evidence(identity, probe, programs), Evidence(probe.said)),
        causes=("stale-executable" if probe.sources else ID,),
        facts=(("probe", probe.text),),
        scope="program",
        certainty="observed",
        because=(
            "Everything that was loaded was searched. This run shows what the program that ran does, not what the one that was "
            "meant would do."
        ),
    )


def _message(probe: Probe, programs: list[LoadedObject]) -> str:
    if not probe.sources or not programs:
        return f"{probe.said.rstrip('.')}; that it did not fire proves nothing."
    ran, sources = name_of(programs[0].path), several([name_of(source) for source in probe.sources])
    return (
        f"{ran} was not built from its current sources: they contain the probe {probe.text!r} ({sources}), but nothing that ran does. "
        "That the probe did not fire proves nothing."
    )


def _evidence(identity: Identity, probe: Probe, programs: list[LoadedObject]) -> Iterator[Evidence]:
    yield from (Evidence(f"the probe is in {source}") for source in probe.sources)
    for one in programs:
        built = f"build id {one.build_id or '(none)'}, sha256 {one.sha256[:16]}..."
        yield Evidence(f"{one.path} ran ({built})")
        yield from (
            Evidence(f"{source.path} was changed {span(source.modified - one.modified)} after it was built")
            for source in (one.built.stale if one.built else ())
        )
        yield from (
            Evidence(
                f"{step.tool} ended with status {step.status} before it{'' if step.compiled else ' and compiled nothing'}"
            )
            for step in identity.steps
            if before(step, one) and step.status is not None
        )
