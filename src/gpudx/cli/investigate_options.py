"""The options that only `gpudx investigate` has."""

from __future__ import annotations

from typing import Annotated

from gpudx.cli.declare import Argument, Option

ProgramOrCase = Annotated[
    list[str] | None,
    Argument(metavar="CMD | CASE", help="The program and its arguments, after --; or a case to continue."),
]
Runs = Annotated[int | None, Option(min=1, metavar="N", help="Stop after N runs.")]
Only = Annotated[list[str] | None, Option(metavar="EXPERIMENT", help="Run only EXPERIMENT. May be repeated.")]
Without = Annotated[list[str] | None, Option(metavar="EXPERIMENT", help="Skip EXPERIMENT. May be repeated.")]
Confidence = Annotated[float, Option(min=50, max=99.999, metavar="PERCENT", help="Confidence of the verdicts.")]
Vary = Annotated[
    str,
    Option(
        metavar="NAME=V1,V2",
        help="Also run with each value of the variable NAME, or of {NAME} in CMD; the last value must fail.",
    ),
]
Rebuild = Annotated[
    str, Option(metavar="CMD", help="Also run another build of the program, made by this shell command.")
]
Revision = Annotated[str, Option(metavar="REV", help="Also run the program built from this git revision.")]
Build = Annotated[str, Option(metavar="CMD", help="With --revision: the shell command that builds it.")]
WaitAt = Annotated[
    str,
    Option(metavar="KERNEL", help="Also run with a wait only before, and only after, launches of KERNEL."),
]
Check = Annotated[
    str,
    Option(
        metavar="CMD", help="A run is wrong if this shell command fails; $GPUDX_OUTPUT names the file with its output."
    ),
]
Compare = Annotated[
    str,
    Option(metavar="[FILE=]GOOD", help="A run is wrong if its output, or FILE, differs from the file GOOD."),
]
Expect = Annotated[str, Option(metavar="REGEX", help="A run is wrong if no line that it prints matches REGEX.")]
Perturb = Annotated[
    bool,
    Option(
        "--perturb",
        help="Only test the two calls of a race: delay one, or make it wait for the other.",
    ),
]
