"""Options and arguments that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from gpudx.cli.declare import Argument, Option
from gpudx.cli.times import duration

RecordedPid = Annotated[int, Argument(metavar="PID", min=1, help="A process started by gpudx run, or a child of it.")]
CaseToWrite = Annotated[Path | None, Option(metavar="DIR", help="Write a case to DIR, for gpudx report.")]
ResultFormat = Annotated[str, Option("--format", "-f", help="terminal, markdown or json.")]
CapsuleFile = Annotated[Path, Argument(metavar="CAPSULE", help="A .gpucapsule file.")]
OnDevice = Annotated[str, Option(metavar="NAME", help="Run it on this device, as gpudx replay --device.")]
Trust = Annotated[bool, Option("--trust", help="Run device binaries, as gpudx replay --trust.")]
Program = Annotated[list[str] | None, Argument(metavar="CMD", help="The program and its arguments, after --.")]
NewCase = Annotated[Path | None, Option(metavar="DIR", help="Write the case to DIR. [./gpudx-cases/...]")]
ResultAsJson = Annotated[bool, Option("--json", help="Print the result as JSON.")]
CaseFolder = Annotated[Path, Argument(help="A case directory.")]
StopAfter = Annotated[
    float | None, Option(parser=duration, metavar="TIME", help="Stop the program after TIME: 30s, 2m.")
]
AsJson = Annotated[bool, Option("--json", help="Print JSON.")]
FormatJson = Annotated[bool, Option("--json", help="The same as --format json.")]
Output = Annotated[Path | None, Option("--output", "-o", metavar="FILE", help="Write the result to FILE.")]
Budget = Annotated[str, Option(metavar="TIME", help="Stop after this time: 90s, 10m, 2h.")]
HangAfter = Annotated[
    float | None,
    Option(
        parser=duration,
        metavar="TIME",
        help="A run that takes longer counts as a hang: 30s, 2m. [ten times the longest]",
    ),
]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Write the case, print nothing.")]
CaseAsJson = Annotated[bool, Option("--json", help="Print the case as JSON.")]
