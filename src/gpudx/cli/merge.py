"""gpudx merge: the cases of one job as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from gpudx.cli.declare import Argument, Option
from gpudx.cli.options import CaseAsJson
from gpudx.errors import UserError


def command(
    cases: Annotated[list[Path], Argument(help="The cases, one from each host.")],
    case: Annotated[Path | None, Option(metavar="DIR", help="Write the merged case to DIR. [./gpudx-cases/...]")] = None,
    as_json: CaseAsJson = False,
) -> None:
    """Merge the cases of one job that was recorded on several hosts, and compare its ranks.

    Record each host's part with gpudx run, copy the cases to one place, and merge them: the report has one row for each rank, the
    first that failed, and collectives in which ranks disagree or are missing.

    \b
        gpudx run --case /shared/host0 -- torchrun ... train.py     # on each host
        gpudx merge /shared/host0 /shared/host1

    Exit status: 0 if the cases were merged, 2 if not.
    """
    from gpudx.cases.merging import merge_cases
    from gpudx.cli.cases import new_case
    from gpudx.cli.running import remember, tell

    if len(cases) < 2:
        raise UserError("Merging takes at least two cases: give the case of each host.")
    for one in cases:
        if not one.is_dir():
            raise UserError(f"There is no case at {one}: give the directory that `gpudx run` named.")
    with new_case(case, "merged") as directory:
        made = merge_cases([one.absolute() for one in cases], directory)
    remember(made, False)
    tell(made, as_json=as_json)
