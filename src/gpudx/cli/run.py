"""gpudx run: run a program and say why it failed."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpudx.cli import declare
from gpudx.cli.declare import Argument, Option
from gpudx.cli.probing import Probe, probes
from gpudx.cli.times import duration, duration_or_zero
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.model import Case
    from gpudx.model.how import Fence, Watch
    from gpudx.pipeline import Stated

SETTINGS = {"allow_interspersed_args": False}  # options after the command belong to the command
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


def option_values() -> dict[str, tuple[str, ...]]:
    """For the completion of shells."""
    return ALONE


class Crumbs(StrEnum):
    all = "all"
    off = "off"


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


def command(
    program: Annotated[
        list[str] | None, Argument(metavar="CMD", help="The program and its arguments, after --.")
    ] = None,
    timeout: Annotated[
        float | None, Option(parser=duration, metavar="TIME", help="Stop the program after TIME: 30s, 2m.")
    ] = None,
    case: Annotated[Path | None, Option(metavar="DIR", help="Write the case to DIR. [./gpudx-cases/...]")] = None,
    error_exitcode: Annotated[
        int | None, Option(min=0, max=255, metavar="N", help="Exit with N if a passing program has faults.")
    ] = None,
    keep: Annotated[str, Option(metavar="SIZE", help='Calls kept per thread, or "all".')] = "16M",
    dump: Annotated[
        bool, Option("--dump", help="Make the driver write a GPU core dump. May change how the program ends.")
    ] = False,
    serialise: Annotated[
        bool,
        Option("--serialise", "--serialize", help="Wait after each launch, so that a fault names its launch."),
    ] = False,
    stacks: Annotated[
        bool, Option("--stacks", help="Record the host and Python stack of each launch, copy and allocation (slower).")
    ] = False,
    check_indices: Annotated[
        bool,
        Option("--check-indices", help="PyTorch: check index arguments before each operator that uses them (waits each time)."),
    ] = False,
    crumbs: Annotated[
        Crumbs | None,
        Option(
            metavar="all|off",
            help="Breadcrumbs behind every launch, or none. [as many as cost a few percent; all with --fence or --poison]",
        ),
    ] = None,
    sanitize: Annotated[
        str | None,
        Option(
            SANITIZE,
            metavar="[=CHECK]",
            help="Check inside kernels. OpenCL: opencl, bounds,races,... or oclgrind. CUDA: memcheck, racecheck, ... or ptx. [automatic]",
        ),
    ] = None,
    kernel: Annotated[
        str | None, Option(metavar="NAME", help="With --sanitize: check only this kernel, or regex:EXPRESSION.")
    ] = None,
    like: Annotated[
        Path | None,
        Option(
            metavar="CASE",
            help="With --sanitize: check the guilty kernel of CASE. With --watch: the memory that changed. Run its CMD if none.",
        ),
    ] = None,
    fence: Annotated[
        str | None,
        Option(
            FENCE,
            metavar="[=EDGE]",
            help="Put inaccessible pages next to buffers, at the high or low EDGE; red: only a known pattern. [high]",
        ),
    ] = None,
    fence_align: Annotated[
        int | None,
        Option(metavar="N", help="With --fence: memory begins at multiples of N bytes. [what the API promises]"),
    ] = None,
    poison: Annotated[
        str | None,
        Option(
            POISON,
            metavar="[=PATTERN]",
            help="Fill new memory with a PATTERN: bytes 0xCB or 0x4B (cb, 4b), zero, or nan in every type. [cb]",
        ),
    ] = None,
    contracts: Annotated[
        Path | None, Option(metavar="FILE", help="Check each launch against FILE; see gpudx check --help.")
    ] = None,
    hypotheses: Annotated[
        Path | None, Option(metavar="FILE", help="Check the hypotheses in FILE against this run; see gpudx hypotheses --help.")
    ] = None,
    model: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE",
            help="The program's model (.gguf, .safetensors, config.json): compare its dimensions with buffers. [models that CMD opens]",
        ),
    ] = None,
    watch: Annotated[
        str | None,
        Option(
            WATCH,
            metavar="[=once]",
            help="Find launches that change memory they were not passed. Runs CMD a second time if it finds one, unless =once.",
        ),
    ] = None,
    watch_limit: Annotated[
        str | None,
        Option(
            metavar="SIZE", help="With --watch: watch at most SIZE bytes; uses the same amount of host memory. [1G]"
        ),
    ] = None,
    capture: Annotated[
        str | None,
        Option(metavar="KERNEL[#N]", help="Write the Nth launch of KERNEL to a .gpucapsule file in the case. [the first]"),
    ] = None,
    capture_limit: Annotated[
        str | None,
        Option(metavar="SIZE", help="With --capture: only if the launch reaches at most SIZE bytes of memory. [1G]"),
    ] = None,
    no_data: Annotated[
        bool, Option("--no-data", help="With --capture: leave the contents of buffers out of the capsule.")
    ] = False,
    values: Annotated[
        bool, Option("--values", help="Keep hashes of what launches get and leave, for gpudx diff --values (OpenCL).")
    ] = False,
    nan: Annotated[
        str | None,
        Option(
            NAN,
            metavar="[=N]",
            help="Find the first launch that makes a NaN or an infinity (OpenCL). =N: look at every Nth launch, then run CMD again.",
        ),
    ] = None,
    stall: Annotated[
        float,
        Option(parser=duration_or_zero, metavar="TIME", help="Report once if no stream moves for TIME; 0: never."),
    ] = 20.0,
    probe: Probe = None,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Write the case, print nothing.")] = False,
) -> None:
    """Run a program, unmodified, and report why it failed.

    The program keeps its input, output, terminal and exit status; gpudx writes to stderr only.

    \b
        gpudx run -- ./app args...
        gpudx run --timeout 30s -- python train.py
        gpudx run --error-exitcode 9 -- ./tests           # for CI
        gpudx run --fence --stacks -- ./app
        gpudx run --nan -- ./app
        gpudx run --capture 'blur#3' -- ./app             # then: gpudx replay CASE/blur-3.gpucapsule
        gpudx run --probe 'ENTER gemm' --probe sym:launch_gemm --probe kernels.cu:120 -- ./run.sh
        gpudx run --model llama.gguf -- ./server          # what it opens or is given is found without --model

    Exit status: that of the program, or its signal; N of --error-exitcode if it passed and has faults; 124 after
    --timeout; 126 or 127 if it cannot be started; 2 if gpudx cannot do what was asked.
    """
    from gpudx.cli import capturing, first_nan, sanitizing
    from gpudx.cli.cases import new_case
    from gpudx.cli.running import remember, run_and_tell
    from gpudx.lab import program as programs
    from gpudx.lab.recorded import end_like
    from gpudx.model.how import How

    earlier = _earlier(like, sanitize, watch)
    words = program or list(earlier.command if earlier else ())
    file = programs.find(words)
    narrowed = kernel or (guilty_kernel(earlier) if earlier and sanitize else None)
    # Options that exclude each other come before tools that are not installed.
    fences, fill = _fence(fence, fence_align, sanitize), _poison(poison, sanitize)
    watching = _watch(watch, watch_limit, sanitize, earlier)
    taken = capturing.wanted(capture, capture_limit, no_data, sanitize)
    search = first_nan.wanted(nan, sanitize, capture)
    if values and (search or taken or sanitize is not None):
        raise UserError("--values excludes --nan, --capture and --sanitize: leave one out.")
    checked = sanitizing.choose(sanitize, narrowed, dump, file)
    how = How(
        timeout=timeout,
        keep=keep,
        dump=dump,
        serialise=serialise,
        stacks=stacks,
        indices=check_indices,
        crumbs=crumbs.value if crumbs else "",
        fence=fences,
        poison=fill,
        watch=watching,
        probes=probes(probe),
        sanitizer=checked.sanitizer,
        kernel_checks=checked.kernel_checks,
        capture=taken,
        nan=search,
        values=values,
    )
    stated = _stated(contracts, hypotheses, model or [])
    with new_case(case, words[0]) as directory:
        told = run_and_tell(words, directory, how, quiet, stated, stall, checked.second)
        if taken:
            capturing.tell(capturing.collected(told.run, directory, no_data), taken, quiet)
        if search:
            first_nan.search(words, directory, how, quiet)
    remember(told.case, quiet)
    end_like(told.run, error_exitcode if told.case and has_faults(told.case) else None)


def _stated(contracts: Path | None, hypotheses: Path | None, models: list[Path]) -> Stated | None:
    """What the user states, read before anything is run."""
    from gpudx.lab.project_file import suppressions

    suppressed = suppressions()
    if contracts is None and hypotheses is None and not models and not suppressed:
        return None
    from gpudx.contracts.contracts import read as read_contracts
    from gpudx.contracts.hypotheses import read as read_hypotheses
    from gpudx.evidence.models import read as read_model
    from gpudx.pipeline import Stated

    return Stated(
        read_contracts(contracts) if contracts else (),
        read_hypotheses(hypotheses) if hypotheses else (),
        tuple(read_model(path) for path in models),
        suppressed,
    )


def _earlier(like: Path | None, sanitize: str | None, watch: str | None) -> Case | None:
    from gpudx import casefile

    if like is None:
        return None
    if sanitize is None and watch is None:
        raise UserError("--like works only with --sanitize or --watch: add --sanitize or --watch.")
    return casefile.read(like)


def guilty_kernel(case: Case) -> str:
    """The first kernel that a case holds guilty."""
    names = [entry.guilty.kernel for entry in case.diagnosis if entry.guilty and entry.guilty.kernel]
    if not names:
        raise UserError(f"The case {case.directory} names no guilty kernel: leave --like out, or give --kernel NAME.")
    return names[0]


def _fence(edge: str | None, align: int | None, sanitize: str | None) -> Fence | None:
    from gpudx.lab import fenced

    if edge is None and align is not None:
        raise UserError("--fence-align works only with --fence: add --fence.")
    if edge is None:
        return None
    if sanitize is not None:
        raise UserError("--fence and --sanitize exclude each other: leave one out.")
    return fenced.wanted(edge, align)


def _poison(pattern: str | None, sanitize: str | None) -> str | None:
    from gpudx.lab import poisoned

    if pattern is not None and sanitize == "initcheck":
        raise UserError(
            "--poison and --sanitize=initcheck exclude each other: the tool would take the fill for a write."
        )
    return None if pattern is None else poisoned.wanted(pattern)


def _watch(how: str | None, limit: str | None, sanitize: str | None, earlier: Case | None) -> Watch | None:
    from gpudx.lab import watched

    if how is None and limit is not None:
        raise UserError("--watch-limit works only with --watch: add --watch.")
    if how is None:
        return None
    if sanitize is not None:
        raise UserError("--watch and --sanitize exclude each other: leave one out.")
    return watched.wanted(how, limit, _sizes(earlier) if earlier else ())


def _sizes(earlier: Case) -> tuple[int, ...]:
    """Of the memory that changed in an earlier run under work that was not passed it."""
    memory = (finding.allocation for finding in earlier.findings)
    sizes = tuple(sorted({one.whole for one in memory if one and one.whole}))
    if not sizes:
        raise UserError(f"The case {earlier.directory} names no memory that changed so: leave --like out.")
    return sizes


def has_faults(case: Case) -> bool:
    """Is there something that should fail a passing run? Not having watched it counts: that is not clean."""
    severe = any(finding.severity == "error" for finding in case.findings)
    blind = any(one.failed for one in case.instruments)
    return severe or blind or any(entry.status != "refuted" for entry in case.diagnosis)
