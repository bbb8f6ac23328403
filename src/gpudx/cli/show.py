"""gpudx show: the recorded calls, launches, allocations and errors of a case as a table, and who ran with what.

Needs `gpudx.facts.tables.table(facts, name)`, which gives column names and rows of plain values. The filters look
at the columns "call", "kernel", "thread", "pid" and "status"; asking for a column that a table does not have is an
error of the user's. A status that is empty or ends in "success" is no failure; a call that never returned is one.
"""

from __future__ import annotations

import csv
import fnmatch
import itertools
import json
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from gpudx.cli.declare import Argument, Option
from gpudx.cli.options import CaseFolder
from gpudx.errors import UserError

MOST_WITHOUT_ASKING = 100

Row = Sequence[Any]
Test = Callable[[Row], bool]


class What(StrEnum):
    """The tables."""

    calls = "calls"
    launches = "launches"
    allocations = "allocations"
    errors = "errors"
    identity = "identity"
    builds = "builds"


def command(
    case: CaseFolder,
    what: Annotated[What, Argument(help="The table to print.")],
    kernel: Annotated[str | None, Option(metavar="GLOB", help="Only rows of this kernel.")] = None,
    call: Annotated[str | None, Option(metavar="GLOB", help="Only these calls.")] = None,
    thread: Annotated[int | None, Option(metavar="TID", help="Only this thread.")] = None,
    pid: Annotated[int | None, Option(metavar="PID", help="Only this process.")] = None,
    status: Annotated[str | None, Option(metavar="NAME", help="Only calls that returned NAME.")] = None,
    failed: Annotated[bool, Option("--failed", help="Only calls that failed.")] = False,
    first: Annotated[int | None, Option(min=1, metavar="N", help="Only the first N rows.")] = None,
    last: Annotated[int | None, Option(min=1, metavar="N", help="Only the last N rows.")] = None,
    as_csv: Annotated[bool, Option("--csv", help="Print all rows as CSV.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print all rows as JSON.")] = False,
) -> None:
    """Show recorded tables: calls, launches, allocations, errors, identity (binaries and libraries), or builds (compiler output
    about kernels).

    \b
        gpudx show CASE launches --kernel 'gemm*' --last 20
        gpudx show CASE calls --failed --csv
        gpudx show CASE identity --csv
        gpudx show built builds

    Exit status: 0 if it was shown, 2 if there is no such case, table or column.
    """
    if first and last:
        raise UserError("--first and --last exclude each other: give one of them.")
    columns, rows = who_ran(case) if what is What.identity else load(case, what.value)
    wanted = {"kernel": kernel, "call": call, "thread": thread, "pid": pid, "status": status}
    kept = keep(columns, rows, wanted, failed)
    if as_csv:
        write_csv(columns, cut(kept, first, last))
    elif as_json:
        write_json(columns, cut(kept, first, last))
    else:
        write_table(columns, cut(kept, first, last), None if first or last else MOST_WITHOUT_ASKING)


def load(case: Path, what: str) -> tuple[list[str], Iterator[Row]]:
    """The table of all processes of a case, one after the other; a "pid" column is put in front where there is none."""
    from gpudx.facts import derive
    from gpudx.facts.tables import table
    from gpudx.trace import open_case

    if what == What.builds:
        return _builds(case)
    if not case.is_dir():
        raise UserError(f"There is no case at {case}: give the directory that `gpudx run` named.")
    traces = open_case(_recorded(case))
    if not traces:
        raise UserError(f"Nothing was recorded in {case}: no GPU API call was seen, so there is nothing to show.")
    tables = [(trace.pid, *table(derive(trace), what)) for trace in traces]
    columns = list(tables[0][1])
    if "pid" in columns:
        return columns, itertools.chain.from_iterable(rows for _, _, rows in tables)
    return ["pid", *columns], ((number, *row) for number, _, rows in tables for row in rows)


def _recorded(case: Path) -> Path:
    """Where the traces are; of an investigation, in its first run."""
    from gpudx.cli.stating import recorded_runs

    first, *others = recorded_runs(case)
    if others:
        print(f"gpudx: this is run {first.name}, the first of {1 + len(others)}; for another: gpudx show {others[-1]} ...", file=sys.stderr)
    return first


def who_ran(case: Path) -> tuple[list[str], Iterator[Row]]:
    """What the case knows of who ran, with what; it needs no trace."""
    from gpudx import casefile
    from gpudx.identity.listing import COLUMNS, rows

    known = casefile.read(case).identity
    if known is None:
        raise UserError(
            f"The case {case} was made by an older gpudx, which did not record binaries: run the program again."
        )
    return COLUMNS, rows(known)


def _builds(case: Path) -> tuple[list[str], Iterator[Row]]:
    """Every number that a compiler told of a kernel; empty where it told none."""
    from gpudx import casefile
    from gpudx.report.builds import COLUMNS, row

    kernels = casefile.read(case).kernels
    if not kernels:
        raise UserError(
            f"No compiler output about kernels in {case}: make a case with `gpudx build -- make` or of a build log."
        )
    return list(COLUMNS), (row(one) for one in kernels)


def keep(columns: list[str], rows: Iterable[Row], wanted: dict[str, str | int | None], failed: bool) -> Iterator[Row]:
    """The rows that pass every filter. Text is compared as a pattern, in upper or lower case alike."""
    tests = [_test(columns, name, value) for name, value in wanted.items() if value is not None]
    if failed:
        place = _place(columns, "status", "failed")
        tests.append(lambda row: not str(row[place] or "success").lower().endswith("success"))
    return (row for row in rows if all(test(row) for test in tests))


def _test(columns: list[str], name: str, value: str | int) -> Test:
    place = _place(columns, name)
    if isinstance(value, int):
        return lambda row: bool(row[place] == value)
    pattern = value.lower()
    return lambda row: fnmatch.fnmatchcase(str(row[place] or "").lower(), pattern)


def _place(columns: list[str], name: str, option: str = "") -> int:
    if name not in columns:
        raise UserError(f"This table has no {name}: leave --{option or name} out; it has {', '.join(columns)}.")
    return columns.index(name)


def cut(rows: Iterable[Row], first: int | None, last: int | None) -> Iterable[Row]:
    """The first or the last N rows."""
    if last:
        return deque(rows, maxlen=last)
    return itertools.islice(rows, first) if first else rows


def write_csv(columns: list[str], rows: Iterable[Row]) -> None:
    """CSV on stdout. Control characters are written as \\xNN; nothing is shortened."""
    from gpudx.report.safe import full

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([full(_text(value)) for value in row] for row in rows)


def write_json(columns: list[str], rows: Iterable[Row]) -> None:
    """A list of objects on stdout, one line for each; nothing is shortened."""
    lines = (json.dumps(dict(zip(columns, row, strict=True)), default=str) for row in rows)
    sys.stdout.write("[" + ",\n ".join(lines) + "]\n")


def write_table(columns: list[str], rows: Iterable[Row], limit: int | None) -> None:
    """Aligned columns on stdout; at most `limit` rows, and then that there are more."""
    from gpudx.report.safe import clean

    remaining = iter(rows)
    shown = [[clean(_text(value)) for value in row] for row in itertools.islice(remaining, limit)]
    widths = [max(map(len, column)) for column in zip(columns, *shown, strict=True)]
    for line in [columns, *shown]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    if next(remaining, None) is not None:  # not counted: there may be millions
        print("gpudx: more rows follow: use --first N, --last N, a filter, --csv or --json.", file=sys.stderr)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
