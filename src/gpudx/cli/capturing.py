"""What `gpudx run --capture` and `gpudx capture` share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpudx.cli.speak import say
from gpudx.errors import UserError
from gpudx.text import plural
from gpudx.text.places import here

if TYPE_CHECKING:
    from gpudx.lab.captured_launch import Written
    from gpudx.lab.recorded import RunResult
    from gpudx.model.how import Capture


def wanted(text: str | None, limit: str | None, no_data: bool, sanitize: str | None) -> Capture | None:
    """What was asked for, if it makes sense."""
    from gpudx.lab import captured_launch

    if text is None and (limit is not None or no_data):
        option = "--no-data" if no_data else "--capture-limit"
        raise UserError(f"{option} works only with --capture: add --capture KERNEL.")
    if text is None:
        return None
    if sanitize is not None:
        raise UserError(
            "--capture and --sanitize exclude each other: capture first, then `gpudx replay CAPSULE --sanitize`."
        )
    return captured_launch.wanted(text, limit)


def collected(run: RunResult, directory: Path, no_data: bool) -> list[Written]:
    from gpudx.lab import captured_launch

    ending = f"the program crashed with {run.signal}" if run.signal else ""
    return captured_launch.collect(directory, ending, no_data)


def tell(found: list[Written], asked: Capture, quiet: bool) -> None:
    """One line for each launch, or why there is none."""
    if quiet:
        return
    name = f"launch {asked.launch} of {asked.kernel}"
    if not found:
        say(f"{name} was not captured: the program did not make it; `gpudx show CASE launches` lists those it made")
    for one in found:
        if one.capsule is None:
            say(f"{name} was not captured: {one.problem}")
        else:
            memory = f"{plural(len(one.capsule.buffers), 'buffer')} with {plural(one.capsule.bytes, 'byte')}"
            say(f"captured {name} ({memory}) in {one.size:,} bytes: gpudx replay {here(str(one.path))}")


def as_data(found: list[Written]) -> dict[str, Any]:
    """What `gpudx capture --json` prints of the capsules: their paths, and why there is none."""
    return {
        "capsules": [str(one.path) for one in found if one.path],
        "problems": [one.problem for one in found if not one.path],
    }
