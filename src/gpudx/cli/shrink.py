"""gpudx shrink: a smaller capsule that fails in the same way, and a reproducer for a bug report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from gpudx.cli.declare import Argument, Option
from gpudx.cli.options import OnDevice, ResultAsJson, Trust
from gpudx.cli.times import duration
from gpudx.errors import UserError
from gpudx.text import plural

if TYPE_CHECKING:
    from gpudx.capsule.model import Capsule
    from gpudx.cli.failing import Failure

NO_FAILURE = 1


def command(
    capsule: Annotated[Path, Argument(metavar="CAPSULE", help="A .gpucapsule file of a launch that fails.")],
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE", help="Write the result to FILE. [CAPSULE.min.gpucapsule]")
    ] = None,
    device: OnDevice = "",
    against: Annotated[
        str, Option(metavar="NAME", help="The failure is that this device gives other results than --device.")
    ] = "",
    budget: Annotated[
        float, Option(parser=duration, metavar="TIME", help="Stop after this time: 90s, 10m, 2h.")
    ] = 120.0,
    attempts: Annotated[int, Option(min=1, metavar="N", help="Try at most N smaller launches.")] = 100_000,
    issue: Annotated[
        Path | None, Option(metavar="FILE", help="Also write the text of a bug report (Markdown) to FILE.")
    ] = None,
    trust: Trust = False,
    as_json: ResultAsJson = False,
) -> None:
    """Make a captured launch smaller while it fails in the same way, and write it as a C program.

    The failure is what a replay shows: a fault found by the checks inside the kernel, a crash, an error, a NaN, or, with --against,
    different results on two devices. Work-items, buffers, data and source are removed as long as it still fails in that way.

    \b
        gpudx shrink blur-3.gpucapsule
        gpudx shrink blur-3.gpucapsule --issue report.md --budget 5m
        gpudx shrink blur-3.gpucapsule --device pocl --against intel

    Exit status: 0 if it was written, 1 if the replay does not fail, 2 if it cannot be replayed.
    """
    from gpudx.capsule import file
    from gpudx.capsule.shrink import shrink
    from gpudx.cli.failing import Observer
    from gpudx.cli.speak import say

    held = file.read(capsule)
    if not held.has_data:
        raise UserError(f"{capsule} holds no contents of buffers (--no-data): capture it with them.")
    observer = Observer(device, against, trust)
    known = observer.failure(held)
    if known is None:
        without = (
            f"{held.kernel} does not fail in a replay: the checks inside the kernel report nothing, it ends without an error, and it"
            " makes no NaN. To compare two devices, add --against NAME."
        )
        click.echo(json.dumps({"capsule": None, "problem": without}, indent=1) if as_json else without)
        raise click.exceptions.Exit(NO_FAILURE)
    say(f"the failure to keep: {known.says[0]}")
    small, log = shrink(held, lambda one: observer.fails_so(one, known), budget, attempts)
    target = output or capsule.with_suffix(f".min{file.SUFFIX}")
    size = file.write(small, target)
    final = observer.failure(small) or known
    source = _reproducer(small, target, final)
    if issue:
        issue.write_text(issue_text(small, final, source))
    if as_json:
        numbers = {"work_items": small.geometry.items, "memory_bytes": small.bytes, "file_bytes": size, "attempts": log.tried}
        files = {"capsule": str(target), "source": str(source) if source else None, "issue": str(issue) if issue else None}
        click.echo(json.dumps({**files, "failure": final.says[0], **numbers}, indent=1))
        return
    click.echo(
        f"{target}: {plural(small.geometry.items, 'work-item')} (of {held.geometry.items:,}), {small.bytes:,} bytes of memory (of"
        f" {held.bytes:,}), {size:,} bytes on disk (of {capsule.stat().st_size:,}); {log.tried:,} attempts"
    )
    if source:
        click.echo(f"{source}: a C program; build it with: {build_command(small, source)}")
    if issue:
        click.echo(f"{issue}: the text of a bug report")


def _reproducer(small: Capsule, target: Path, failure: Failure) -> Path | None:
    from gpudx.backends.cuda import reproducer as cuda
    from gpudx.backends.opencl import reproducer as opencl
    from gpudx.cli.speak import complain

    path = target.with_suffix(".c")
    try:
        if small.api == "hip":
            raise UserError(f"There is no C program of a HIP launch: {target} is the whole result.")
        maker = opencl if small.api == "opencl" else cuda
        path.write_text(maker.c_source(small, path.name, failure.says))
    except UserError as error:
        complain(error)
        return None
    return path


def build_command(small: Capsule, source: Path | str) -> str:
    return f"cc {source} -o repro {'-lOpenCL' if small.api == 'opencl' else '-ldl'} -lm"


def issue_text(small: Capsule, failure: Failure, source: Path | None) -> str:
    """A bug report: what happens, where, and how to see it."""
    code = small.code("source", "ptx")
    lines = [
        f"# {failure.says[0]}",
        "",
        f"- Device: {small.device.title}",
        f"- OpenCL version: {small.device.version}" if small.api == "opencl" else f"- Driver: {small.device.driver}",
        f"- Launch: {' x '.join(map(str, small.geometry.global_))} work-items"
        + (f" in groups of {' x '.join(map(str, small.geometry.local))}" if small.geometry.local else ""),
        f"- Build options: `{small.options}`" if small.options else "- Build options: none",
        "",
        "## What happens",
        *(f"- {one}" for one in failure.says),
        "",
    ]
    if source:
        lines += ["## How to see it", "", "```", f"{build_command(small, source.name)} && ./repro", "```", ""]
    if code:
        lines += ["## The kernel", "", "```c", code.data.decode(errors="replace").strip(), "```", ""]
    if source:
        lines += [
            f"<details><summary>{source.name}</summary>",
            "",
            "```c",
            source.read_text().strip(),
            "```",
            "</details>",
            "",
        ]
    return "\n".join(lines)
