"""gpudx run: run a program and say why it failed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpudx.cli import run_options
from gpudx.cli.options import CaseAsJson, NewCase, Program, Quiet, StopAfter
from gpudx.cli.probing import Probe, probes
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.model import Case
    from gpudx.model.how import Fence, Watch
    from gpudx.pipeline import Stated

Command = run_options.Command
SETTINGS = {"allow_interspersed_args": False}  # options after the command belong to the command


def option_values() -> dict[str, tuple[str, ...]]:
    """For the completion of shells."""
    return run_options.ALONE


def command(
    program: Program = None,
    timeout: StopAfter = None,
    case: NewCase = None,
    error_exitcode: run_options.ErrorExitcode = None,
    keep: run_options.Keep = "16M",
    dump: run_options.Dump = False,
    serialise: run_options.Serialise = False,
    stacks: run_options.Stacks = False,
    check_indices: run_options.CheckIndices = False,
    crumbs: run_options.CrumbsOption = None,
    sanitize: run_options.Sanitize = None,
    kernel: run_options.Kernel = None,
    like: run_options.Like = None,
    fence: run_options.Fence = None,
    fence_align: run_options.FenceAlign = None,
    poison: run_options.Poison = None,
    contracts: run_options.Contracts = None,
    hypotheses: run_options.Hypotheses = None,
    model: run_options.Model = None,
    watch: run_options.Watch = None,
    watch_limit: run_options.WatchLimit = None,
    capture: run_options.Capture = None,
    capture_limit: run_options.CaptureLimit = None,
    no_data: run_options.NoData = False,
    values: run_options.Values = False,
    nan: run_options.Nan = None,
    stall: run_options.Stall = 20.0,
    probe: Probe = None,
    quiet: Quiet = False,
    as_json: CaseAsJson = False,
) -> None:
    """Run a program, unmodified, and report why it failed.

    The program keeps its input, output, terminal and exit status; gpudx writes to stderr only, or to FILE with -o.

    \b
        gpudx run -- ./app args...
        gpudx run --timeout 30s -- python train.py
        gpudx run --error-exitcode 9 -- ./tests           # for CI
        gpudx run --fence --stacks -- ./app
        gpudx run --nan -- ./app
        gpudx run --capture 'blur#3' -- ./app             # then gpudx replay
        gpudx run --probe 'ENTER gemm' --probe kernels.cu:120 -- ./run.sh
        gpudx run --model llama.gguf -- ./server

    Exit status: that of the program, or its signal; N of --error-exitcode if it passed and has faults; 124 after --timeout; 126 or 127
    if it cannot be started; 2 if gpudx cannot do what was asked.
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
        poison=fill or ("zero" if search else None),  # a NaN that was in memory before the program wrote there is no input
        watch=watching,
        probes=probes(probe),
        sanitizer=checked.sanitizer,
        kernel_checks=checked.kernel_checks,
        capture=taken,
        nan=search,
        values=values,
    )
    stated = _stated(contracts, hypotheses, model or [])
    with new_case(case, *words) as directory:
        told = run_and_tell(words, directory, how, quiet, stated, stall, checked.second, as_json)
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
