"""gpudx doctor: what is on this machine, and how to get what is not."""

from __future__ import annotations

import json
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import click

from gpudx.cli.declare import Option
from gpudx.cli.options import AsJson
from gpudx.errors import UserError

NAME_WIDTH = 18
STATE_WIDTH = 10
TO_INSTALL = "to install: "
# What the demos of a backend run on; those of HIP bring a simulated runtime.
DEVICES = {"opencl": ("OpenCL devices",), "cuda": ("NVIDIA driver",)}


@dataclass(frozen=True)
class Entry:
    """One line of the table; `lines` after the first are indented below it."""

    name: str
    state: str
    lines: tuple[str, ...]


def command(
    verbose: Annotated[bool, Option("--verbose", "-v", help="List every API call: recorded or not.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what works on this machine, and how to install what is missing.

    \b
        gpudx doctor
        gpudx doctor -v | grep 'not recorded'

    Exit status: 0 if the recorder works, else 1.
    """
    entries: list[Entry] = []
    for entry in _everything():
        if not as_json:
            _show(entry)
        entries.append(entry)
    states = {entry.name: entry.state for entry in entries}
    entries.append(_demos(states))
    if as_json:
        calls = {"calls": _schema()["calls"]} if verbose else {}
        click.echo(json.dumps({"found": [asdict(entry) for entry in entries]} | calls, indent=1))
    else:
        _show(entries[-1])
        for line in coverage_lines() if verbose else ():
            click.echo(line)
    raise click.exceptions.Exit(0 if states["recorder"] == "found" else 1)


def _everything() -> Iterator[Entry]:
    yield Entry("Python", "found", (f"{platform.python_version()} {sys.executable}",))
    yield _recorder()
    yield _compiler()
    yield from _tools()


def _demos(states: dict[str, str]) -> Entry:
    """Which demos can be built and run here, by what was found above."""
    from importlib.util import find_spec

    from gpudx import backends
    from gpudx.demos import incidents

    lacking: dict[str, str] = {}
    for one in incidents.every().values():
        linking = backends.linking(one.backend)
        any_driver = not one.compiles and linking is not None and linking.runs_without_kernels()
        needs = [*([] if one.python else [one.compiler or "C compiler"]), *(() if any_driver else DEVICES.get(one.backend, ()))]
        missing = [need for need in needs if states.get(need) != "found"]
        missing += [f"{name} (pip install 'gpudx[demo]')" for name in one.modules if find_spec(name) is None]
        missing += [f"{name} (apt install binutils)" for name in one.tools if shutil.which(name) is None]
        lacking[one.name] = ", ".join(missing)
    good = [name for name, lack in lacking.items() if not lack]
    bad = [f"{name} lacks: {lack}" for name, lack in lacking.items() if lack]
    return Entry("demos", "found" if good else "none", (*([f"run here: {', '.join(good)}"] if good else []), *bad))


def _show(entry: Entry) -> None:
    from gpudx.report.safe import clean

    head = f"{entry.name:<{NAME_WIDTH}}  {entry.state:<{STATE_WIDTH}}  "
    for line in entry.lines or ("",):
        click.echo("\n".join(_wrapped(head, clean(line))).rstrip())
        head = " " * len(head)


def _wrapped(head: str, text: str) -> list[str]:
    """As wide as the terminal, where paths lose the folders that do not fit; for a pipe, one line."""
    from gpudx.cli.page import page_here
    from gpudx.report.layout import shortened, wrapped

    if not text or not sys.stdout.isatty():
        return [head + text]
    width, command = page_here().width, text.partition(TO_INSTALL)[2]
    return wrapped(shortened(text, width - len(head)), width, head, whole=(command,))


def _recorder() -> Entry:
    from gpudx import __version__, native
    from gpudx.lab.probe import self_test

    try:
        lib = native.library()
    except UserError as error:
        return Entry("recorder", "not found", (str(error),))
    problem = self_test(lib)
    if problem:
        return Entry("recorder", "broken", (str(lib), f"self-test: {problem}"))
    return Entry("recorder", "found", (f"{__version__} {lib}", "self-test: loaded into a test process"))


def _compiler() -> Entry:
    from gpudx.lab import build
    from gpudx.lab.probe import ask

    try:
        words = build.compiler()
    except UserError as error:
        return Entry("C compiler", "not found", (str(error),))
    answer = ask([*words, "--version"])
    first = answer.out.splitlines()[:1] or [answer.problem]
    return Entry("C compiler", "broken" if answer.problem else "found", (f"{first[0]} {words[0]}",))


def _tools() -> Iterator[Entry]:
    from gpudx import backends
    from gpudx.lab.probe import look_for

    for tools in backends.tools().values():
        for tool in tools:
            found = look_for(tool)
            hint = () if found.state == "found" else (f"{tool.use}; {TO_INSTALL}{tool.install}",)
            yield Entry(tool.name, found.state, (*found.lines, *hint))


def coverage_lines() -> Iterator[str]:
    """Every call of every API that the recorder knows: recorded, or why not."""
    calls = [call for call in _schema()["calls"] if call["api"] != "note"]
    recorded = [call for call in calls if "skip" not in call]
    yield ""
    yield f"{len(recorded)} of {len(calls)} API calls are recorded"
    for call in calls:
        what = f"not recorded: {call['skip']}" if "skip" in call else f"recorded ({call['does']})"
        yield f"  {call['name']:<44}  {what}"


def _schema() -> dict[str, Any]:
    from gpudx import native

    path = native.data("schema.json")
    if path is None:
        raise UserError("The list of recorded calls (schema.json) is missing: reinstall gpudx.")
    return _parse(path)


def _parse(path: Path) -> dict[str, Any]:
    try:
        schema = json.loads(path.read_text())
        return {"calls": [dict(call) for call in schema["calls"]]}
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"{path} cannot be read as the list of recorded calls: reinstall gpudx.") from None
