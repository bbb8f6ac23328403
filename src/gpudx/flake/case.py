"""The case of a study of flaky tests: its result, and the diagnoses of the runs that showed a cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gpudx import __version__, casefile
from gpudx.errors import UserError
from gpudx.flake.runners import every
from gpudx.flake.suites import NUMBER
from gpudx.model import Case, Diagnosis, Instrument, Outcome
from gpudx.model.flake import Batch, Flake, Suite
from gpudx.text import plural

COMPANY = "company "  # how the purposes of runs begin that look for the smallest company


def write_case(place: Path, suite: Suite, flake: Flake, batches: Sequence[Batch]) -> Case:
    """Written to `place`."""
    flake = replace(flake, mitigations=tuple(dict.fromkeys(_mitigations(suite, flake))))
    case = Case(
        command=suite.command,
        directory=str(place),
        created=casefile.now(),
        version=__version__,
        outcome=_outcome(flake),
        instruments=(_recorder(batches),),
        diagnosis=tuple(_diagnoses(place, flake, batches)),
        not_checked=("What tests did without GPU calls: recording sees calls of GPU APIs only.",),
        flake=flake,
    )
    casefile.write(case, place)
    return case


def _outcome(flake: Flake) -> Outcome:
    if not flake.results:
        return Outcome("passed", flake.quiet, 0, duration_s=flake.seconds)
    text = f"Tests failed in {plural(sum(c.failures for c in flake.conditions), 'run')} of {flake.runs}."
    return Outcome("exit", text, 1, duration_s=flake.seconds)


def _recorder(batches: Sequence[Batch]) -> Instrument:
    looks = [batch.look for batch in batches if batch.look]
    calls = sum(look.calls for look in looks)
    if not looks:
        return Instrument(
            "recorder", "not live", "It was not in the tests' processes: nothing is known of what they touch."
        )
    return Instrument("recorder", "live", f"{calls:,} calls in {plural(len(looks), 'run')} that were read.")


def _diagnoses(place: Path, flake: Flake, batches: Sequence[Batch]) -> Iterator[Diagnosis]:
    """As the run that showed a cause tells it, with its call, kernel and stack; each cause once."""
    wanted = {(blame.cause, blame.kernel) for blame in flake.blames}
    for batch in sorted(batches, key=lambda one: not one.purpose.startswith(COMPANY)):
        if not batch.look or not any((one.cause, one.kernel) in wanted for one in batch.look.accused):
            continue
        try:
            entries = casefile.read(place / batch.folder).diagnosis
        except UserError:
            continue
        for entry in entries:
            name = (entry.cause, entry.guilty.kernel if entry.guilty else None)
            if name in wanted:
                wanted.discard(name)
                yield entry


def _mitigations(suite: Suite, flake: Flake) -> Iterator[str]:
    """The runner's own lines; where the user said how threads are told, one thread in these words."""
    runner = every()[suite.runner]
    for kind in dict.fromkeys(test.kind for test in flake.results):
        names = [test.name for test in flake.results if test.kind == kind]
        if kind == "concurrency-dependent" and suite.parallel_option:
            yield f"{' '.join(suite.command)} {suite.parallel_option.replace(NUMBER, '1')}"
        else:
            yield from runner.mitigations(suite.command, kind, names)
