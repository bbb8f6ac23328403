"""gpudx bench: variants of a captured kernel, compared by results and time."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from gpudx.cli.declare import Option
from gpudx.cli.options import AsJson, CapsuleFile, OnDevice, Trust
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.capsule.bench import Timed
    from gpudx.capsule.model import Capsule

WRONG = 1
PER_TURN = 5  # runs of one variant before the next has its turn


def command(
    capsule: CapsuleFile,
    variant: Annotated[
        list[Path] | None, Option(metavar="FILE", help="Another source of the kernel. May be repeated.")
    ] = None,
    define: Annotated[
        list[str] | None, Option("--define", "-D", metavar="NAME=VALUE", help="The captured source with this macro.")
    ] = None,
    device: OnDevice = "",
    rounds: Annotated[int, Option(min=2, max=1000, metavar="N", help="Rounds: each variant runs once in a round.")] = 5,
    ulps: Annotated[int, Option(min=0, metavar="N", help="Accept results that differ by at most N ULP.")] = 0,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Compare a captured kernel with variants of it: are the results right, and how long does each take?

    Times are those of the device. Each ratio is the median of the rounds, with its 95% interval.

    \b
        gpudx bench blur-3.gpucapsule --variant faster.cl
        gpudx bench blur-3.gpucapsule -D TILE=16 -D TILE=32 --ulps 4

    Exit status: 0 if all variants give the captured results, 1 if one does not, 2 if the capsule cannot be replayed.
    """
    from gpudx.capsule import file

    held = file.read(capsule)
    ways: list[tuple[str, Path | None, str]] = [("captured", None, "")]
    for path in variant or []:
        if not path.is_file():
            raise UserError(f"There is no file {path}: give an OpenCL source to --variant.")
        ways.append((path.name, path, ""))
    ways += [(f"-D {one}", None, f"-D{one}") for one in define or []]
    found: dict[str, Timed] = {}
    for _ in range(rounds):
        for name, source, options in ways:
            earlier = found.get(name)
            if earlier is None or earlier.times_ns:
                found[name] = _turn(held, capsule, name, source, options, device, ulps, trust, earlier)
    first = found["captured"]
    if not first.times_ns:
        raise UserError(f"{capsule} cannot be replayed: {first.verdict}.")
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found.values()], indent=1))
    for line in () if as_json else table(list(found.values())):
        click.echo(line)
    raise click.exceptions.Exit(0 if all(one.correct for one in found.values()) else WRONG)


def _turn(
    held: Capsule,
    path: Path,
    name: str,
    source: Path | None,
    options: str,
    device: str,
    ulps: int,
    trust: bool,
    earlier: Timed | None,
) -> Timed:
    """One turn of a variant: the fastest of a few runs counts, the others were disturbed."""
    from gpudx.capsule.bench import Timed
    from gpudx.capsule.compare import sentence, within
    from gpudx.lab import replay

    done = replay.play(held, path, device, PER_TURN, trust, source, options)
    if done.how in ("cannot", "crashed", "hung", "refused", "failed") or not done.times_ns:
        why = done.problem or f"{done.how}{f' with {done.signal}' if done.signal else ''}"
        return Timed(name, why, False, ())
    differences = list(done.differences)
    correct = done.how in ("equal", "ran") or (done.how == "differs" and within(differences, ulps))
    verdict = "equal" if done.how == "equal" else "no captured results" if done.how == "ran" else f"within {ulps} ULP"
    if done.how == "unstable":
        verdict = "differs from run to run"
    elif not correct:
        verdict = f"differs: {sentence(held, differences[0])}"
    best = min(done.times_ns)
    times = (*(earlier.times_ns if earlier else ()), best)
    if earlier and not earlier.correct:
        return Timed(name, earlier.verdict, False, times)
    return Timed(name, verdict, correct, times)


def table(found: list[Timed]) -> list[str]:
    """One line for each variant; the first is what the others are compared with."""
    from gpudx.capsule.bench import ratio

    width = max(len(one.name) for one in found)
    lines = []
    for one in found:
        time = f"{one.median_ns / 1e6:10.4f} ms" if one.times_ns else " " * 13
        compared = ratio(found[0], one) if one is not found[0] else None
        said = f"  {compared[0]:.2f}x [{compared[1]:.2f}, {compared[2]:.2f}]" if compared else " " * 22
        lines.append(f"{one.name:<{width}}  {time}{said:<22}  {one.verdict}")
    return lines
