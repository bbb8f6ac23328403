"""gpudx from Python and notebooks: run a program or load a case, and look at its tables.

    import gpudx
    case = gpudx.run(["./app", "--rows", "4096"])
    print(case)                      # the first screen
    case.diagnosis[0].cause
    case.launches["kernel"]          # a numpy array for each column
    case.frame("calls")              # a pandas DataFrame

In a notebook, `%load_ext gpudx` adds the cell magic `%%gpudx`, which runs a cell in a fresh Python under gpudx.
"""

from __future__ import annotations

import html
import os
import sys
import tempfile
import weakref
import zipfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx import casefile, native
from gpudx.cases.bundle import unpack
from gpudx.errors import UserError
from gpudx.facts import Facts, derive, tables
from gpudx.figures import kernel_text
from gpudx.lab.recorded import run_recorded
from gpudx.model import Case, Diagnosis, Finding, Outcome
from gpudx.model.how import Fence, How
from gpudx.pipeline import diagnose_run
from gpudx.report import Page, render
from gpudx.report.screen import render as first_screen
from gpudx.trace import open_traces

TABLES = ("calls", "launches", "allocations", "errors")
CELL_OPTIONS = ("--stacks", "--serialise", "--serialize", "--fence")
Columns = dict[str, NDArray[Any]]


class LoadedCase:
    """A case and what was recorded for it."""

    def __init__(self, case: Case, path: Path, output: str = "") -> None:
        self.case, self.path = case, path
        self.output = output  # what the program printed, if gpudx.run started it

    @property
    def diagnosis(self) -> tuple[Diagnosis, ...]:
        """Causes, the best first."""
        return self.case.diagnosis

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.case.findings

    @property
    def outcome(self) -> Outcome:
        return self.case.outcome

    @property
    def calls(self) -> Columns:
        return self.table("calls")

    @property
    def launches(self) -> Columns:
        return self.table("launches")

    @property
    def allocations(self) -> Columns:
        return self.table("allocations")

    @property
    def errors(self) -> Columns:
        return self.table("errors")

    @cached_property
    def _facts(self) -> tuple[Facts, ...]:
        traces, _ = open_traces(self.path / "traces")
        return tuple(derive(trace) for trace in traces)

    def table(self, name: str) -> Columns:
        """A recorded table as one numpy array for each column; of several processes one after the other."""
        if name not in TABLES:
            raise UserError(f"There is no table {name!r}: choose one of {', '.join(TABLES)}.")
        columns: list[str] = []
        rows: list[Sequence[Any]] = []
        for one in self._facts:
            columns, more = tables.table(one, name)
            rows += [(one.trace.pid, *row) for row in more]
        return {title: _column([row[at] for row in rows]) for at, title in enumerate(["pid", *columns])}

    def frame(self, name: str = "calls") -> Any:
        """A table as a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise UserError(f"DataFrames need pandas: pip install pandas, or use case.{name}.") from None
        return pandas.DataFrame(self.table(name))

    def report(self, format: str = "terminal") -> str:
        """The full report in any format of `gpudx report` that is text."""
        return render(self.case, format)

    def __str__(self) -> str:
        return first_screen(self.case, Page(100), kernel_text=kernel_text.of)

    def __repr__(self) -> str:
        verdict = self.diagnosis[0] if self.diagnosis else None
        said = f"{verdict.status} {verdict.cause}" if verdict else self.outcome.word
        return f"<gpudx case {str(self.path)!r}: {said}>"

    def _repr_html_(self) -> str:
        """For notebooks."""
        return f'<pre style="line-height:1.3">{html.escape(str(self))}</pre>'


def _column(values: list[Any]) -> NDArray[Any]:
    """Numbers and texts get their own type; what is mixed stays objects."""
    kinds = {type(one) for one in values}
    return np.array(values) if len(kinds) == 1 and kinds <= {int, float, str, bool} else np.array(values, dtype=object)


def load(path: str | os.PathLike[str]) -> LoadedCase:
    """A case directory, the case.json in it, or a bundle. UserError if it is none of them."""
    place = Path(path)
    if place.is_file() and zipfile.is_zipfile(place):
        return _unpacked(place)
    return LoadedCase(casefile.read(place), (place if place.is_dir() else place.parent).absolute())


def _unpacked(bundle: Path) -> LoadedCase:
    """The files of a bundle stay on disk for as long as the case is used: its tables are read when they are asked for."""
    folder = tempfile.TemporaryDirectory(prefix="gpudx-")
    case = LoadedCase(unpack(bundle, Path(folder.name)), Path(folder.name))
    weakref.finalize(case, folder.cleanup)
    return case


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    case: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    stacks: bool = False,
    serialise: bool = False,
    fence: str | None = None,
    poison: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> LoadedCase:
    """Run a program under the recorder and diagnose it, as `gpudx run` does. What it prints is in `output`."""
    if isinstance(command, str | bytes):
        raise UserError(f"Give the command as a list of words: gpudx.run({str(command).split()}).")
    native.library()
    place = Path(case) if case else Path(tempfile.mkdtemp(prefix="gpudx-case-"))
    place.mkdir(parents=True, exist_ok=True)
    printed = place / "output.txt"
    how = How(
        timeout=timeout,
        stacks=stacks,
        serialise=serialise,
        fence=Fence(fence) if fence else None,
        poison=poison,
        extra_env=dict(environment or {}),
        output=printed,
    )
    words = [os.fspath(word) for word in command]
    made = diagnose_run(run_recorded(words, place, how), words, place)
    return LoadedCase(made.case, place.absolute(), printed.read_text(errors="replace") if printed.exists() else "")


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext gpudx`."""

    def cell_magic(line: str, cell: str) -> LoadedCase:
        """Run the cell in a fresh Python under gpudx; options: --stacks --serialise --fence."""
        options = line.split()
        unknown = [one for one in options if one not in CELL_OPTIONS]
        if unknown:
            raise UserError(f"%%gpudx has no option {unknown[0]}: use {', '.join(CELL_OPTIONS)}.")
        folder = Path(tempfile.mkdtemp(prefix="gpudx-cell-"))
        script = folder / "cell.py"  # stays with the case: the report shows its lines
        script.write_text(cell)
        done = run(
            [sys.executable, script],
            case=folder / "case",
            stacks="--stacks" in options,
            serialise="--serialise" in options or "--serialize" in options,
            fence="high" if "--fence" in options else None,
        )
        print(done.output, end="")
        return done

    shell.register_magic_function(cell_magic, "cell", "gpudx")
