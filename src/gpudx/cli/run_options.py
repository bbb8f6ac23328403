"""The options of `gpudx run`, and how those that may stand alone get their values."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from gpudx.cli import declare
from gpudx.cli.declare import Option
from gpudx.cli.times import duration_or_zero

SANITIZE = "--sanitize"
FENCE = "--fence"
POISON = "--poison"
WATCH = "--watch"
NAN = "--nan"
# Options that may stand alone, and the values they take, the default first. Written here because the modules that use them
# are slow to import; a test compares them.
ALONE = {
    SANITIZE: ("what-fits", "opencl", "oclgrind", "memcheck", "racecheck", "initcheck", "synccheck"),
    FENCE: ("high", "low", "red"),
    POISON: ("cb", "nan", "4b", "zero"),
    WATCH: ("again", "once"),
    NAN: ("1",),
}
KERNEL_CHECKS = ("bounds", "align", "uninit", "races", "barriers", "overflow", "div", "loops", "nan")


class Crumbs(StrEnum):
    all = "all"
    off = "off"


ErrorExitcode = Annotated[
    int | None, Option(min=0, max=255, metavar="N", help="Exit with N if a passing program has faults.")
]
Keep = Annotated[str, Option(metavar="SIZE", help='Keep the last SIZE of each thread\'s calls, or "all".')]
Dump = Annotated[bool, Option("--dump", help="Make the driver write a GPU core dump. May change how the program ends.")]
Serialise = Annotated[
    bool,
    Option("--serialise", "--serialize", help="Wait after each launch, so that a fault names its launch."),
]
Stacks = Annotated[
    bool, Option("--stacks", help="Record the host and Python stack of each launch, copy and allocation (slower).")
]
CheckIndices = Annotated[
    bool,
    Option(
        "--check-indices", help="PyTorch: check index arguments before each operator that uses them (waits each time)."
    ),
]
CrumbsOption = Annotated[
    Crumbs | None,
    Option(
        metavar="all|off",
        help="Mark the end of every launch, or of none, to see which have completed. "
        "[as many as cost a few percent; all with --fence or --poison]",
    ),
]
Sanitize = Annotated[
    str | None,
    Option(
        SANITIZE,
        metavar="[=CHECK]",
        help="Check inside kernels. OpenCL: opencl, bounds,races,... or oclgrind. CUDA: memcheck, racecheck, ... or ptx. [automatic]",
    ),
]
Kernel = Annotated[
    str | None, Option(metavar="NAME", help="With --sanitize: check only this kernel, or regex:EXPRESSION.")
]
Like = Annotated[
    Path | None,
    Option(
        metavar="CASE",
        help="With --sanitize: check the guilty kernel of CASE. With --watch: watch the memory that changed in CASE. "
        "Runs the CMD of CASE if none is given.",
    ),
]
Fence = Annotated[
    str | None,
    Option(
        FENCE,
        metavar="[=EDGE]",
        help="Put inaccessible pages next to buffers, at the high or low EDGE; red: only a known pattern. [high]",
    ),
]
FenceAlign = Annotated[
    int | None,
    Option(metavar="N", help="With --fence: align memory to N bytes. [what the API promises]"),
]
Poison = Annotated[
    str | None,
    Option(
        POISON,
        metavar="[=PATTERN]",
        help="Fill new memory with a PATTERN: bytes 0xCB or 0x4B (cb, 4b), zero, or nan in every type. [cb]",
    ),
]
Contracts = Annotated[
    Path | None, Option(metavar="FILE", help="Check each launch against FILE; see gpudx check --help.")
]
Hypotheses = Annotated[
    Path | None,
    Option(metavar="FILE", help="Check the hypotheses in FILE against this run; see gpudx hypotheses --help."),
]
Model = Annotated[
    list[Path] | None,
    Option(
        metavar="FILE",
        help="The program's model (.gguf, .safetensors, config.json): compare its dimensions with buffers. [models that CMD opens]",
    ),
]
Watch = Annotated[
    str | None,
    Option(
        WATCH,
        metavar="[=once]",
        help="Find launches that change memory they were not passed. Runs CMD a second time if it finds one, unless =once.",
    ),
]
WatchLimit = Annotated[
    str | None,
    Option(metavar="SIZE", help="With --watch: watch at most SIZE bytes; uses the same amount of host memory. [1G]"),
]
Capture = Annotated[
    str | None,
    Option(metavar="KERNEL[#N]", help="Write the Nth launch of KERNEL to a .gpucapsule file in the case. [the first]"),
]
CaptureLimit = Annotated[
    str | None,
    Option(metavar="SIZE", help="With --capture: only if the launch reaches at most SIZE bytes of memory. [1G]"),
]
NoData = Annotated[bool, Option("--no-data", help="With --capture: leave the contents of buffers out of the capsule.")]
Values = Annotated[
    bool, Option("--values", help="Hash the inputs and outputs of launches, for gpudx diff --values (OpenCL).")
]
Nan = Annotated[
    str | None,
    Option(
        NAN,
        metavar="[=N]",
        help="Find the first launch that makes a NaN or an infinity (OpenCL). "
        "=N: check every Nth launch, then run CMD again to find the first.",
    ),
]
Stall = Annotated[
    float,
    Option(parser=duration_or_zero, metavar="TIME", help="Report once if no stream makes progress for TIME; 0: never."),
]


class Command(declare.Command):
    """Some options may stand alone; the word that follows is their value only if it is one of those they take."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        valued = {name for one in self.params if not getattr(one, "is_flag", True) for name in one.opts}
        for option, values in ALONE.items():
            args = with_value(args, option, values, valued - set(ALONE))
        return super().parse_args(ctx, args)


def with_value(words: list[str], option: str, values: Sequence[str], valued: set[str]) -> list[str]:
    """The words with a value given to an `option` that stands alone; the command and its own arguments stay.

    The value is the next word if it is one of `values`, else the first of these. `valued` are the options whose value is the
    next word.
    """
    out, at = list(words), 0
    while at < len(out) and out[at].startswith("-") and out[at] != "--":
        step = 2 if out[at] in valued else 1
        if out[at] == option:
            value = out.pop(at + 1) if out[at + 1 : at + 2] and _is_value(option, out[at + 1], values) else values[0]
            out[at] = f"{option}={value}"
        at += step
    return out


def _is_value(option: str, word: str, values: Sequence[str]) -> bool:
    """Checks inside kernels may be joined by commas."""
    return word in values or (option == SANITIZE and all(one in KERNEL_CHECKS for one in word.split(",")))
