"""gpudx replay: run a captured launch alone, and compare its results."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from gpudx.cli import declare
from gpudx.cli.declare import Option
from gpudx.cli.options import AsJson, CapsuleFile
from gpudx.cli.run_options import ALONE, FENCE, POISON, SANITIZE, with_value
from gpudx.errors import UserError
from gpudx.text import plural

if TYPE_CHECKING:
    from gpudx.capsule.model import Capsule
    from gpudx.lab.replay import Replayed

DIFFERENT, CANNOT = 1, 2
NEXT = {"hip": FENCE}  # nothing checks inside HIP kernels


class Command(declare.Command):
    """--sanitize, --fence and --poison may stand alone, as with gpudx run."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for option in (SANITIZE, FENCE, POISON):
            at = next((i for i, word in enumerate(args) if word == option), None)
            if at is not None:
                args = args[:at] + with_value(args[at:], option, ALONE[option], set())
        return super().parse_args(ctx, args)


def command(
    capsule: CapsuleFile,
    device: Annotated[
        str, Option(metavar="NAME", help="Run it on this device: a part of its name, or its number. [the captured one]")
    ] = "",
    times: Annotated[int, Option(min=1, max=100000, metavar="N", help="Run it N times.")] = 1,
    ulps: Annotated[
        int, Option(min=0, metavar="N", help="Floating-point results that differ by at most N ULP count as equal.")
    ] = 0,
    trust: Annotated[
        bool, Option("--trust", help="Run device binaries of the capsule: on a processor device they can do anything.")
    ] = False,
    info: Annotated[bool, Option("--info", help="Only show what the capsule holds.")] = False,
    sanitize: Annotated[
        str | None, Option(SANITIZE, metavar="[=CHECK]", help="Check inside the kernel, as gpudx run --sanitize does.")
    ] = None,
    fence: Annotated[
        str | None,
        Option(FENCE, metavar="[=EDGE]", help="Put inaccessible pages next to buffers, as gpudx run --fence."),
    ] = None,
    poison: Annotated[
        str | None, Option(POISON, metavar="[=PATTERN]", help="Fill new memory with a pattern, as gpudx run --poison.")
    ] = None,
    case: Annotated[Path | None, Option(metavar="DIR", help="With --sanitize, --fence or --poison: write the case to DIR.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run a captured launch alone and compare its results with the captured ones.

    Buffers begin with the captured contents. The launch runs in a process of its own, so it may crash again.

    \b
        gpudx replay saxpy-1.gpucapsule
        gpudx replay saxpy-1.gpucapsule --device intel --times 100
        gpudx replay saxpy-1.gpucapsule --sanitize
        gpudx replay saxpy-1.gpucapsule --info

    Exit status: 0 if the results, or the failure, are those that were captured, 1 if not, 2 if it cannot be replayed here. With
    --sanitize, --fence or --poison: as gpudx run.
    """
    from gpudx.capsule import file
    from gpudx.lab import replay

    held = file.read(capsule)
    if info:
        click.echo("\n".join(describe(held, capsule)))
        return
    if sanitize or fence or poison:
        _instrumented(held, capsule, device, trust, sanitize, fence, poison, case)
        return
    done = replay.play(held, capsule, device, times, trust)
    if done.how == "cannot":
        raise UserError(f"{capsule} cannot be replayed: {done.problem}.", CANNOT)
    click.echo(_json(held, capsule, done, ulps) if as_json else "\n".join(told(held, capsule, done, ulps)))
    raise click.exceptions.Exit(0 if as_captured(held, done, ulps) else DIFFERENT)


def _json(held: Capsule, path: Path, done: Replayed, ulps: int) -> str:
    """The result without the contents of buffers."""
    import json
    from dataclasses import asdict, replace

    kept = asdict(replace(done, outputs={}))
    del kept["outputs"]
    return json.dumps({**kept, "as_captured": as_captured(held, done, ulps), "sentences": told(held, path, done, ulps)}, indent=1)


def describe(held: Capsule, path: Path) -> list[str]:
    """What a capsule holds."""
    from gpudx.capsule.compare import value_text

    shape, size = held.geometry, path.stat().st_size
    group = f" in groups of {shown(shape.local)}" if shape.local else ""
    code = ", ".join(f"{one.kind} ({len(one.data):,} bytes)" for one in held.codes)
    contents = "included" if held.has_data else "left out (--no-data)"
    lines = [
        f"{held.kernel}, launch {held.launch} of this kernel ({held.api}), {path.name}: {size:,} bytes",
        f"captured on {held.device.title}",
        f"{shown(shape.global_)} work-items{group}",
        f"code: {code}" + (f"; build options: {held.options}" if held.options else ""),
        f"memory: {plural(len(held.buffers), 'buffer')}, {held.bytes:,} bytes; contents: {contents}",
        f"the launch {ending(held)}",
    ]
    for one in held.arguments:
        what = f" = {value_text(one)}" if one.kind == "value" and len(one.value) <= 16 else ""
        what = f", {held.buffers[one.buffer].size:,} bytes" if one.buffer is not None else what
        lines.append(f"  {one.title}: {one.kind}{what}{f', {one.size:,} bytes' if one.kind == 'local' else ''}")
    return lines


def shown(sizes: tuple[int, ...]) -> str:
    return " x ".join(f"{one:,}" for one in sizes)


def ending(held: Capsule) -> str:
    """How the captured launch ended."""
    said = {
        "completed": "completed",
        "failed": f"failed with status {held.outcome.status}",
        "refused": f"was refused with status {held.outcome.status}",
        "crashed": "did not end",
        "unknown": "was not waited for",
    }[held.outcome.ending]
    return said + (f": {held.outcome.note}" if held.outcome.note else "")


def as_captured(held: Capsule, done: Replayed, ulps: int) -> bool:
    """The same results, or the same failure?"""
    from gpudx.capsule.compare import within

    ending_ = held.outcome.ending
    if done.how in ("equal", "ran"):
        return ending_ in ("completed", "unknown")
    if done.how == "differs":
        return within(list(done.differences), ulps)
    if done.how == "crashed":
        return ending_ == "crashed"
    if done.how in ("refused", "failed"):
        return ending_ == done.how and held.outcome.status == done.status
    return False


def told(held: Capsule, path: Path, done: Replayed, ulps: int) -> list[str]:
    """The result, for people: what happened first, then the details."""
    from gpudx.capsule.compare import sentence, within

    same = "as captured" if as_captured(held, done, ulps) else f"but the captured launch {ending(held)}"
    compared = "and there are no captured results to compare with" if same == "as captured" else same
    where = f"on {done.device}"
    count = f" in {done.runs:,} runs" if done.runs > 1 else ""
    head = {
        "equal": f"EQUAL: {held.kernel} gives the captured results{count} {where}",
        "ran": f"RAN: {held.kernel} completed{count} {where}, {compared}",
        "unstable": f"UNSTABLE: {done.unlike:,} of {done.runs:,} runs of {held.kernel} gave other results than the first {where}",
        "differs": f"DIFFERS: {held.kernel} gives other results than captured{count} {where}",
        "crashed": f"CRASHED with {done.signal} while {done.stage} {where}, {same}",
        "hung": f"DID NOT END: {held.kernel} was stopped while {done.stage} {where}",
        "refused": f"REFUSED with status {done.status} {where}, {same}",
        "failed": f"FAILED with status {done.status} {where}, {same}",
        "cannot": done.problem,
    }[done.how]
    if done.how == "differs" and within(list(done.differences), ulps):
        head = f"EQUAL within {ulps:,} ULP: {held.kernel}{count} {where}"
    lines = [head, *(f"  {sentence(held, one)}" for one in done.differences), *(f"  note: {one}" for one in done.notes)]
    between = between_devices(held, done) if not as_captured(held, done, ulps) else ""
    lines += [f"  {between}"] if between else []
    if between or (done.how in ("crashed", "failed", "differs", "unstable") and not as_captured(held, done, ulps)):
        lines.append(f"  next: gpudx replay {shlex.quote(str(path))} {NEXT.get(held.api, SANITIZE)}")
    return lines


def between_devices(held: Capsule, done: Replayed) -> str:
    """What it means that another device does not do the same; "" on the same device."""
    there, here = held.device.title, done.device
    if there == here or done.how == "cannot":
        return ""
    if done.how == "differs":
        return (
            f"captured on {there}: a difference between devices points to a driver fault, undefined behaviour in the kernel, or another"
            " order of floating-point operations"
        )
    failed_there = held.outcome.ending in ("crashed", "failed", "refused")
    fails_here = done.how in ("crashed", "failed", "refused", "hung")
    if failed_there == fails_here or held.outcome.ending == "unknown":
        return ""
    bad, good = (there, here) if failed_there else (here, there)
    return (
        f"the same launch with the same data fails on {bad} and completes on {good}: this points to undefined behaviour in the kernel,"
        " or to a driver fault if the checks inside the kernel report nothing"
    )


def _instrumented(
    held: Capsule,
    path: Path,
    device: str,
    trust: bool,
    sanitize: str | None,
    fence: str | None,
    poison: str | None,
    case: Path | None,
) -> None:
    """The player, run as gpudx run would run it."""
    import sys

    from gpudx.cli import sanitizing
    from gpudx.cli.cases import new_case
    from gpudx.cli.running import remember, run_and_tell
    from gpudx.lab import fenced, poisoned, replay
    from gpudx.lab.recorded import end_like
    from gpudx.model.how import How

    if fence and sanitize:
        raise UserError("--fence and --sanitize exclude each other: leave one out.")
    if sanitize and held.api == "hip":
        raise UserError("--sanitize checks OpenCL and CUDA launches: use --fence for this HIP launch.")
    chosen = sanitize
    if sanitize == sanitizing.AUTOMATIC and held.api == "opencl":
        chosen = "opencl"
    only = held.kernel if held.api == "opencl" else None
    checked = sanitizing.choose(chosen, only, False, Path(sys.executable)) if chosen else sanitizing.Chosen()
    how = How(
        fence=fenced.wanted(fence, None) if fence else None,
        poison=poisoned.wanted(poison) if poison else None,
        sanitizer=checked.sanitizer,
        kernel_checks=checked.kernel_checks,
    )
    more = [*(["--device", device] if device else []), *(["--trust"] if trust else [])]
    with replay.workplace() as folder, new_case(case, f"replay-{held.kernel}") as directory:
        words = replay.words(path.absolute(), held.api, folder, more)
        told_ = run_and_tell(words, directory, how, typed=["gpudx", "replay", str(path), *more])
        done = replay.understood(held, folder, told_.run.returncode)
    if done.how == "cannot":
        raise UserError(f"{path} cannot be replayed: {done.problem}.", CANNOT)
    remember(told_.case, False)
    end_like(told_.run)
