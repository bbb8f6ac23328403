"""A build option defines a macro that no source uses, and the source has a default for one of nearly the same name.

Compilers say nothing about a macro that nobody uses. The kernel is built with its default, and computes with another number than the host.

Example:

    #ifndef RADIUS
    #define RADIUS 3
    #endif

    clBuildProgram(program, 1, &device, "-DRADUIS=5", NULL, NULL);       // kernels are built with RADIUS 3

Fix it by writing the name as the source has it.

Reported where no source that the program builds, nor a header of one, has the name of the option, and where a condition of the source
(`#ifndef`, `#ifdef`, `#if`) asks for the near name, which no option defines. Names are near if two letters are exchanged in one of their
words, one is missing or added, they differ in case or underscores, or in a last word like SIZE or COUNT. An option that is only unused is
not reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpudx.detectors import Run
from gpudx.facts import Facts
from gpudx.facts.build_macros import Build, Builds
from gpudx.facts.near_names import are_near
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED

ID = "option-misspelled"
CAUSE = Cause(
    id=ID,
    title="A build option defines a macro that the source spells differently",
    refutes_if="The source is meant to be built with its own default, and the option is left over.",
    fix=("Write the name in the build option as the source has it.",),
    predicts=(("recorded", "results are those of the default, although no call fails"),),
    settled_by="a run with the other name in the build options",
    kind=FIXED,
)


@dataclass(frozen=True)
class Meant:
    """An option that nobody uses, and the macro that it may be meant for."""

    build: Build
    name: str
    value: str
    near: str

    @property
    def left(self) -> str:
        """What the macro of the source is instead."""
        default = self.build.defaults.get(self.near)
        return (f"is {default}, its default" if default else "is empty") if default is not None else "stays undefined"

    @property
    def step(self) -> str:
        return f"Write -D{self.near}={self.value} in the build options, or remove -D{self.name} if the default is meant."


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per option; builds after the first are counted."""
    found: dict[str, list[Meant]] = {}
    for meant in misspelled(facts):
        found.setdefault(meant.name, []).append(meant)
    for several in found.values():
        yield _finding(facts, several[0], len(several))


def misspelled(facts: Facts) -> Iterator[Meant]:
    """Build by build: options that no source uses, with the macro that each is meant for."""
    builds = Builds(facts).all() if any(map(len, facts.kernels.sources.values())) else []
    used = frozenset().union(*(one.words for one in builds))
    for build in builds:
        for name, value in build.given.items():
            meant = _meant(build, name, value) if name not in used else None
            if meant:
                yield meant


def _meant(build: Build, name: str, value: str) -> Meant | None:
    """The only macro of a near name that the source asks for and no option defines; another value than the default."""
    near = [one for one in build.tested if one not in build.given and are_near(name, one)]
    differs = len(near) == 1 and build.defaults.get(near[0]) != value
    return Meant(build, name, value, near[0]) if differs else None


def _finding(facts: Facts, meant: Meant, count: int) -> Finding:
    site, near = facts.sites.outside_headers(meant.build.position), meant.near
    default = meant.build.defaults.get(near)
    left = f"its default `#define {near} {default}`".rstrip() if default is not None else f"no `{near}`"
    short = default or "its default"
    instead = f"built with {near} {short}" if default is not None else f"built as if {near} was never defined"
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"The build option -D{meant.name}={meant.value} defines a macro that no source uses. The source asks for `{near}`, "
            f"which no option defines, so it is {instead}."
        ),
        evidence=(
            Evidence(f"the options of {site.call} are `{meant.build.options.strip()[:200]}`", (site.number,)),
            Evidence(f"line {meant.build.tested[near]} of the source asks for `{near}`, and the source has {left}"),
        ),
        site=site,
        count=count,
        causes=(ID,),
        certainty="observed",
        attribution="probable",
        because="The option changes nothing as it is written; that the other name is meant is not shown.",
        steps=(meant.step,),
        facts=(("option", meant.name), ("macro", near)),
    )
