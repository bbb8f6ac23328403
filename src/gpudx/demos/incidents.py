"""Real failures that come with gpudx: one folder each, with a program and what is expected of its diagnosis."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpudx.errors import UserError
from gpudx.model import Case

PACKAGED = Path(__file__).resolve().parents[1] / "_incidents"
IN_SOURCE_TREE = Path(__file__).resolve().parents[3] / "incidents"
DESCRIPTION = "incident.toml"
GUILTY_FIELDS = ("call", "kernel", "argument", "argument_name", "value", "launch")


@dataclass(frozen=True)
class Incident:
    """One incident. The twin is the same program without the fault, built with `twin_flags`, or run with `twin_run`.

    With a `script`, this is run, and the program that was built is an old one: three days older than its sources.
    With a `python` program, nothing is built.
    """

    name: str
    title: str
    story: str
    backend: str
    folder: Path
    sources: tuple[str, ...]
    flags: tuple[str, ...] = ()
    libs: tuple[str, ...] = ()
    twin_flags: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    twin_run: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()
    script: str = ""
    python: str = ""  # a program in Python, instead of one to build
    modules: tuple[str, ...] = ()  # what that program imports beside the standard library
    tools: tuple[str, ...] = ()  # programs that have to be in PATH
    compiles: bool = True  # the driver compiles a kernel
    compiler: str = ""
    kernels: tuple[str, ...] = ()  # sources with kernels, for a simulated device
    environment: dict[str, str] = field(default_factory=dict)  # what the program needs to run here
    dump: bool = False  # told by the device's own record
    serialise: bool = False  # told by a wait after each launch
    fence: bool = False  # told by inaccessible memory around each buffer
    expect: dict[str, Any] = field(default_factory=dict)


def every(folder: Path | None = None) -> dict[str, Incident]:
    """All incidents by name: those in the package, else those of the source tree."""
    place = folder or (PACKAGED if PACKAGED.is_dir() else IN_SOURCE_TREE)
    found = [_read(path) for path in sorted(place.glob(f"*/{DESCRIPTION}"))]
    if not found:
        raise UserError("No incidents are installed: reinstall gpudx.")
    return {incident.name: incident for incident in found}


def _read(path: Path) -> Incident:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        names = ("flags", "libs", "twin_flags", "run", "twin_run", "probes", "kernels", "modules", "tools")
        lists = {key: tuple(data.get(key, ())) for key in names}
        return Incident(
            name=data["name"],
            title=data["title"],
            story=" ".join(data["story"].split()),
            backend=data["backend"],
            folder=path.parent,
            sources=tuple(data["sources"]),
            compiles=bool(data.get("compiles", True)),
            compiler=data.get("compiler", ""),
            script=data.get("script", ""),
            python=data.get("python", ""),
            environment=dict(data.get("environment", {})),
            dump=bool(data.get("dump", False)),
            serialise=bool(data.get("serialise", False)),
            fence=bool(data.get("fence", False)),
            expect=dict(data.get("expect", {})),
            **lists,
        )
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} does not describe an incident ({error}): reinstall gpudx.") from None


def differences(incident: Incident, case: Case, twin: bool) -> list[str]:
    """Where a case is not what the incident expects; empty when it is as expected."""
    return _twin_differences(case) if twin else _fault_differences(incident.expect, case)


def _twin_differences(case: Case) -> list[str]:
    accused = [entry for entry in case.diagnosis if entry.status in ("confirmed", "likely")]
    found = [f"expected no cause, found {entry.cause}" for entry in accused]
    return found + ([] if case.outcome.passed else [f"expected a pass: {case.outcome.summary}"])


def _fault_differences(expect: dict[str, Any], case: Case) -> list[str]:
    ended = case.outcome.word
    found = []
    if expect.get("outcomes") and ended not in expect["outcomes"]:
        wanted = " or ".join(expect["outcomes"])
        found.append(f"expected the program to end with {wanted}, it ended with {ended}")
    if not case.diagnosis:
        return [*found, f"expected {expect.get('cause')}, found no cause"]
    best = case.diagnosis[0]
    seen = {"cause": best.cause, **{name: getattr(best.guilty, name, None) for name in GUILTY_FIELDS}}
    memory = best.guilty.allocation if best.guilty else None
    seen["allocation_size"] = memory.size if memory else None
    wrong = [name for name in seen if name in expect and expect[name] != seen[name]]
    return found + [f"expected {name} {expect[name]}, found {seen[name]}" for name in wrong]
