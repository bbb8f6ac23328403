"""Sums and products that do not fit in their type: does a program that fails every time pass with them in 64 bits?

A number that wraps is no fault by itself: hashes and random generators are made of such numbers. So nothing is said of a program that
passes.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from gpudx.causes import every as every_cause
from gpudx.diagnose.kernel_check_runs import OWN_TEXT
from gpudx.facts import Facts
from gpudx.investigate import exchanged
from gpudx.investigate.observed import PLAIN, Observed, observed
from gpudx.investigate.ordered import Wanted
from gpudx.kernel_checks.suspects import Suspect
from gpudx.kernel_checks.wide_arithmetic import Wrap, wraps
from gpudx.lab.experiments import VARIANT, Context, base
from gpudx.lab.experiments.widened import ALL, ID, TOLD, suspects
from gpudx.lab.trials import OUTPUT
from gpudx.model import Access, Diagnosis, Evidence, Guilty, Trial

CAUSE = "arithmetic-wrap"
WHY_TOLD = "what outgrows its type"
MOST_OUTPUT = 1 << 20
SHOWN = 3
INT_MAX = (1 << 31) - 1


def next_run(trials: Sequence[Trial], runnable: Collection[str]) -> Wanted | None:
    """All at once; if that passes, one by one until one passes; then what decides about that one."""
    seen, every = observed(trials), f"{ID}{VARIANT}{ALL}"
    if every not in runnable:
        return None
    if every not in seen or not _passes(seen[every]):
        return exchanged.next_run(trials, [every], ID) if every not in seen else None
    singles = [one for one in runnable if base(one) == ID and one.partition(VARIANT)[2].isdigit() and one != every]
    for name in singles if len(singles) > 1 else ():
        if name not in seen:
            return exchanged.next_run(trials, [name], ID)
        if _passes(seen[name]):
            break
    else:
        name = every
    told = f"{ID}{VARIANT}{TOLD}{name.partition(VARIANT)[2]}" if name != every else f"{ID}{VARIANT}{TOLD}1" if len(singles) == 1 else ""
    if told in runnable and told not in seen:
        return Wanted(told, 1, WHY_TOLD)
    return exchanged.next_run(trials, [name], ID)


def _passes(one: Observed) -> bool:
    return all(trial.outcome == "passed" for trial in one.trials)


def entry(trials: Sequence[Trial], context: Context, processes: Sequence[Facts], folder: Path) -> Diagnosis | None:
    """Once it is decided. `processes` are of the plain run that completed the decision."""
    seen = observed(trials)
    for name, one in seen.items():
        variant = name.partition(VARIANT)[2]
        if base(name) != ID or variant.startswith(TOLD) or not exchanged.decided(one, seen[PLAIN]):
            continue
        every = suspects(context)
        chosen = every if variant == ALL else every[int(variant) - 1 : int(variant)]
        outgrown = next((wrap for trial in trials for wrap in _wraps(trial, folder) if variant in (ALL, str(wrap.number))), None)
        found = (_diagnosis(facts, chosen, one, seen[PLAIN], outgrown) for facts in processes)
        return next(filter(None, found), None)
    return None


def _wraps(trial: Trial, folder: Path) -> list[Wrap]:
    if not trial.experiment.startswith(f"{ID}{VARIANT}{TOLD}"):
        return []
    try:
        with (folder / trial.folder / OUTPUT).open("rb") as file:
            return wraps(file.read(MOST_OUTPUT).decode("utf-8", "replace"))
    except OSError:
        return []


def _diagnosis(facts: Facts, chosen: Sequence[Suspect], one: Observed, plain: Observed, wrap: Wrap | None) -> Diagnosis | None:
    if not chosen:
        return None
    launches, first = facts.launches, chosen[0]
    rows = [n for n in range(len(launches)) if launches.name(n) in first.kernels and launches.status[n] == 0]
    if not rows:
        return None
    cause, site = every_cause()[CAUSE], facts.sites.at(int(launches.position[rows[0]]))
    several = len(chosen) > 1
    likely = several or wrap is None  # with another timing, a race may come to another end
    what = "one of several sums and products" if several else f"`{first.text}`"
    fit = f"does not fit in {_article(first.type)}" if not several else "does not fit in its type"
    return Diagnosis(
        cause=CAUSE,
        status="likely" if likely else "confirmed",
        summary=(
            f"Kernel {site.kernel} (launch {site.launch}) computes {what}, which {fit}. The program fails every time, and passes "
            f"when it is computed in 64 bits."
        ),
        guilty=Guilty.at(site, None),
        victim=None,
        evidence=(
            *(_outgrown(first, wrap) if wrap else (_computed(facts, other) for other in chosen[:SHOWN])),
            Evidence(f"computed in 64 bits: {one.failed}"),
            Evidence(f"as it is: {plain.failed}"),
        ),
        refutes_if=cause.refutes_if,
        fix=_steps(first, wrap, _declared(facts, first)) if not several else cause.fix,
        reason="The failure is gone in every run in which it is computed in 64 bits, and comes back otherwise.",
        observed=True,
        access=Access(by="kernel", kernel=site.kernel or "", source=_source(facts, first), space="private"),
    )


def _outgrown(first: Suspect, wrap: Wrap) -> list[Evidence]:
    x, y, z = wrap.item
    goes = f"`{first.name}` goes from {wrap.before:,} to {wrap.after:,}" if first.certain else f"the exact result is {wrap.after:,}"
    left = f"{_article(first.type)} keeps {_cut(wrap.after, first.type):,} of it"
    return [Evidence(f"in work-item ({x}, {y}, {z}), {goes} at `{first.text}`; {left}")]


def _computed(facts: Facts, one: Suspect) -> Evidence:
    return Evidence(f"`{one.text}` at {_source(facts, one)} is computed in {one.type}")


SIZES = {"char": 8, "short": 16, "int": 32}


def _cut(number: int, kind: str) -> int:
    """What is left of a number in a narrow type."""
    unsigned = kind.startswith("u")
    bits = next((size for word, size in SIZES.items() if kind.endswith(word)), 32)
    kept = number & ((1 << bits) - 1)
    return kept if unsigned or kept < 1 << (bits - 1) else kept - (1 << bits)


def _article(kind: str) -> str:
    return f"an {kind}" if kind.startswith("i") else f"a {kind}"


def _declared(facts: Facts, one: Suspect) -> str:
    """ " (sum.c:38)": where the variable is declared, if that is another line than the one that is shown."""
    place = facts.kernel_files.place(one.source, one.line) if one.used and one.used != one.line else None
    return f" ({os.path.basename(place[0])}:{place[1]})" if place else ""


def _steps(one: Suspect, wrap: Wrap | None, declared: str = "") -> tuple[str, ...]:
    """What is narrower than an int is computed as one, so only a larger number needs more."""
    unsigned, narrow = one.type.startswith("u"), one.type.endswith(("char", "short"))
    wider = "ulong" if unsigned else "long"
    if one.name and narrow and wrap is not None and abs(wrap.after) < INT_MAX // 2:
        return (f"Declare `{one.name}`{declared} as {'uint' if unsigned else 'int'}.",)
    if one.name:
        products = f", and convert one operand of the product: `({wider})a * b`" if "*" in one.text else ""
        return (f"Declare `{one.name}`{declared} as {wider}{products}.",)
    return (f"Convert one operand of `{one.text}` to {wider} before it is computed.",)


def _source(facts: Facts, one: Suspect) -> str:
    found = facts.kernel_files.place(one.source, one.used or one.line)
    return f"{found[0]}:{found[1]}" if found else f"{OWN_TEXT}:{one.used or one.line}"
