"""What `gpudx run --nan` does after the first run: narrow down, capture the launch, find the line in it."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudx.cli.speak import say
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.capsule.model import Capsule
    from gpudx.capsule.nan import Origin, Seen
    from gpudx.lab.captured_launch import Written
    from gpudx.model.how import How, Nan

FOLDER = "first-nan"  # in the case: further runs
RESULT = "first-nan.json"


def wanted(text: str | None, sanitize: str | None, capture: str | None) -> Nan | None:
    """What was asked for, if it makes sense."""
    from gpudx.model.how import Nan

    if text is None:
        return None
    if sanitize is not None or capture is not None:
        other = "--sanitize" if sanitize is not None else "--capture"
        raise UserError(f"--nan and {other} exclude each other: leave one out.")
    if not text.isdigit() or not 1 <= int(text) <= 1_000_000:
        raise UserError(
            f"--nan={text} is not a number of launches: write --nan, or --nan=64 to look at every 64th launch."
        )
    return Nan(every=int(text))


def search(command: list[str], case_dir: Path, how: How, quiet: bool) -> None:
    """Say where the first NaN or infinity came from; the first run is over."""
    seen = _take(case_dir)
    origin = seen.first()
    assert how.nan is not None
    if origin is not None and not origin.exact:
        origin = _narrowed(command, case_dir, how, origin, quiet) or origin
    if quiet and origin is None:
        return
    if origin is None:
        say(_nothing(seen, how.nan))
        return
    written = _captured(command, case_dir, how, origin) if origin.exact and not origin.before else None
    capsule = written.capsule if written else None
    lines = told(origin, capsule, _line_of(written) if written and written.path else "")
    (case_dir / RESULT).write_text(json.dumps({**asdict(origin), "says": lines}, indent=1) + "\n")
    if not quiet:
        for line in lines:
            say(line)
        if written and written.path:
            say(f"  capsule of this launch: gpudx replay {written.path}")


def _take(case_dir: Path) -> Seen:
    from gpudx.capsule import nan
    from gpudx.lab.captured_launch import NAME

    found = nan.seen(case_dir / NAME)
    shutil.rmtree(case_dir / NAME, ignore_errors=True)
    return found


def _run(command: list[str], folder: Path, how: How) -> None:
    """One more run; its output goes to a file."""
    from gpudx.lab.recorded import run_recorded

    folder.mkdir(parents=True, exist_ok=True)
    run_recorded(command, folder, replace(how, output=folder / "output.txt"))


def _narrowed(command: list[str], case_dir: Path, how: How, origin: Origin, quiet: bool) -> Origin | None:
    """Every launch between the last clean look and this one; if it is not there, every launch up to this one."""
    from gpudx.model.how import Nan

    assert how.nan is not None
    if not quiet:
        say(f"{origin.kind} seen after launch {origin.launch:,}: running again to find the launch that made it")
    for first in sorted({max(1, origin.launch - how.nan.every + 1), 1}, reverse=True):
        folder = case_dir / FOLDER / f"from-{first}"
        _run(command, folder, replace(how, nan=Nan(1, first, origin.launch)))
        found = _take(folder).first(origin.kind)
        if found is not None:
            return found
    return None


def _captured(command: list[str], case_dir: Path, how: How, origin: Origin) -> Written | None:
    from gpudx.lab import captured_launch
    from gpudx.model.how import Capture

    folder = case_dir / FOLDER / "capture"
    _run(command, folder, replace(how, nan=None, capture=Capture(origin.kernel, origin.of_kernel)))
    found = [one for one in captured_launch.collect(folder) if one.path and one.capsule]
    if not found or not found[0].path:
        return None
    target = case_dir / found[0].path.name
    shutil.move(found[0].path, target)
    return replace(found[0], path=target)


def _line_of(written: Written) -> str:
    """The line, from the checks inside the kernel in a replay of the capsule."""
    from gpudx.kernel_checks import syntax
    from gpudx.lab import kernel_checked, replay
    from gpudx.lab.recorded import run_recorded
    from gpudx.model.how import How
    from gpudx.pipeline import diagnose_run

    assert written.path is not None and written.capsule is not None
    api = written.capsule.api
    if api == "opencl" and not syntax.available():
        return ""
    with replay.workplace() as folder:
        words = replay.words(written.path.absolute(), api, folder)
        case_dir = written.path.parent / FOLDER / "checked"
        case_dir.mkdir(parents=True, exist_ok=True)
        checks = kernel_checked.wanted("nan" if api == "opencl" else "ptx:nan", written.kernel)
        how = How(kernel_checks=checks, output=case_dir / "output.txt", extra_env={"PYTHONPATH": ":".join(sys.path)})
        try:
            case = diagnose_run(run_recorded(words, case_dir, how), words, case_dir).case
        except UserError:
            return ""
    found = next((one.message for one in case.findings if one.id == "kernel-check-nan"), "")
    first = next((one.message for one in case.findings if one.id.startswith("kernel-check-") and one.severity == "error"), "")
    said = found or (f"the checks inside the kernel report a fault that comes first: {first}" if first else "")
    return said.replace(" (launch 1)", "")  # of the replay


def told(origin: Origin, capsule: Capsule | None, line: str) -> list[str]:
    """The sentences."""
    from gpudx.capsule.nan import inputs

    argument = capsule.arguments[origin.argument].title if capsule else f"argument {origin.argument}"
    many = f" ({origin.count:,} of {origin.elements:,} elements)" if origin.count > 1 else ""
    what = f"FIRST {origin.kind.upper() if origin.kind != 'NaN' else 'NaN'}:"
    if not origin.exact:
        return [
            f"{what} after launch {origin.launch:,} ({origin.kernel}), element {origin.element:,} of {argument}{many}"
        ]
    if origin.before:
        return [
            f"FIRST {origin.kind} THAT A LAUNCH WROTE: launch {origin.of_kernel:,} of {origin.kernel} (launch {origin.launch:,} of the"
            f" program), element {origin.element:,} of {argument}{many}",
            f"  {origin.before:,} were in the memory of its arguments before it: the host, a copy, or a launch that was not looked at"
            " put them there",
        ]
    lines = [
        f"{what} launch {origin.of_kernel:,} of {origin.kernel} (launch {origin.launch:,} of the program) writes it to element"
        f" {origin.element:,} of {argument}{many}"
    ]
    if capsule and (found := inputs(capsule)):
        lines.append(f"  its inputs had none: {'; '.join(found)}")
    if line:
        lines.append(f"  {line}")
    return lines


def _nothing(seen: Seen, nan: Nan) -> str:
    if not seen.launches:
        return "no NaN search: no launch was seen"
    blind = f"; {seen.unknown:,} arguments of unknown type were not looked at" if seen.unknown else ""
    every = "" if nan.every == 1 else f" (every {nan.every}th)"
    return (
        f"no launch made a NaN or an infinity: {seen.scanned:,} of {seen.launches:,} launches looked at{every}{blind}; fresh memory"
        " held zeros"
    )
