"""gpudx gate: hold cases against the limits of gpudx.toml, for CI."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from gpudx.cli.declare import Argument, Option
from gpudx.cli.options import AsJson
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.model import Case
    from gpudx.model.suppression import Suppression

LIMITS = Path("gpudx.toml")
FAILED = 1


def command(
    cases: Annotated[list[Path], Argument(metavar="CASE", help="Case directories; their evidence is combined.")],
    limits: Annotated[Path, Option(metavar="FILE", help="The file with the limits.")] = LIMITS,
    write_baseline: Annotated[
        bool, Option("--write-baseline", help="Accept the current findings as the baseline.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check cases against limits: one line for each gate. Missing evidence fails a gate.

    Example of gpudx.toml:

    \b
        [gate]
        spills = 0
        stack = { most = 0, kernel = "gemm*" }
        sanitizer-errors = 0
        new-findings = "gpudx-baseline.json"
        tensor-cores = [{ kernel = "score_*", least = 1 }]

    Known findings are accepted by [[suppress]] tables in the same file, which gpudx run and pytest --gpudx honour too:

    \b
        [[suppress]]
        rule = "pageable-copy"
        reason = "only at start"
        kernel = "warmup_*"           # optional, as path = "third_party/*"
        expires = 2027-01-31          # optional

    \b
        gpudx build --ask --case built -- make -B
        gpudx run --sanitize --case checked -- ./app
        gpudx gate built checked --write-baseline     # once
        gpudx gate built checked

    `gpudx rule` lists all gates. Exit status: 0 if every gate has passed, else 1.
    """
    from gpudx import casefile, gates
    from gpudx.gates import new_findings
    from gpudx.lab import project_file
    from gpudx.report.safe import clean
    from gpudx.text import plural

    wanted, place = gates.read(limits), limits.absolute().parent
    accepted = project_file.suppressions(limits)
    found = [_unsuppressed(casefile.read(case), accepted) for case in cases]
    read = [case for case, _ in found]
    if write_baseline:
        if new_findings.KEY not in wanted:
            raise UserError(
                f"{limits} names no baseline: write {new_findings.KEY} = {new_findings.EXAMPLE} into [gate]."
            )
        path, count = new_findings.write(read, wanted[new_findings.KEY], place)
        click.echo(f"gpudx: {path} accepts {plural(count, 'finding')}.", err=True)
    for note in dict.fromkeys(note for _, notes in found for note in notes):
        click.echo(f"gpudx: {clean(note)}", err=True)
    judged = gates.judge(wanted, read, place)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in judged], indent=1))
    for one in () if as_json else judged:
        click.echo(clean(one.line))
    if not all(one.passed for one in judged):
        raise click.exceptions.Exit(FAILED)


def _unsuppressed(case: Case, accepted: Sequence[Suppression]) -> tuple[Case, list[str]]:
    """The case without findings that gpudx.toml suppresses and causes that they alone suggest; and a sentence for each suppression."""
    from gpudx.model.suppression import unsuppressed

    left, notes = unsuppressed(case.findings, accepted, date.today())
    gone = {one.fingerprint for one in case.findings} - {one.fingerprint for one in left}
    causes = (one for one in case.diagnosis if not one.findings or set(one.findings) - gone)
    return (replace(case, findings=tuple(left), diagnosis=tuple(causes)) if gone else case), notes
