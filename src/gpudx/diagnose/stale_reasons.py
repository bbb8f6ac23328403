"""An index that follows from a number which was set for the first launch of the kernel only, while other kernels of the same iteration
were passed a new one under its name."""

from __future__ import annotations

import re

from gpudx.diagnose.access_numbers import Why
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.facts.kept_arguments import Behind, behind
from gpudx.text import plural

CAUSE = "stale-argument"
KINDS = ("bounds", "race", "uninitialized", "loop")
WORD = re.compile(r"\b[A-Za-z_]\w*")
ROUNDS = 3  # variables that are computed from variables


def why(f: Failure) -> Why | None:
    """None of the first launch, whose number is the right one."""
    launch = f.facts.launches.at_position(f.position)
    for one in behind(f.facts) if f.kind in KINDS and launch is not None else ():
        rows = one.kept.launches[: len(one.others)].tolist()
        if launch in rows[1:] and _uses(f, one.name):
            return _reason(f, one, rows.index(launch))
    return None


def _uses(f: Failure, name: str) -> bool:
    """Is the access, or a variable in it, computed from the argument?"""
    text = f"{f.site.text} {f.site.index}"
    for _ in range(ROUNDS):
        words = set(WORD.findall(text))
        if name in words:
            return True
        for word in words:
            text += " ".join(re.findall(rf"\b{word}\s*(?:\[[^\]]*\]\s*)?[-+*|^&]?=(?!=)([^;]*)", f.body))
    return False


def _reason(f: Failure, one: Behind, turn: int) -> Why:
    facts, (row, number) = f.facts, one.others[turn]
    kernel, setter = facts.sites.at(f.position).kernel, facts.sites.at(one.kept.setter, argument=one.kept.index)
    other = facts.sites.at(int(facts.launches.position[row]))
    where = f"{(setter.source or '').rpartition('/')[2]}" if setter.source else f"call {setter.number}"
    label = f"argument {one.kept.index} `{one.name}`"
    text = (
        f"A{label[1:]} is still {one.number:,}, which {where} set before the first launch of {kernel}, and nothing set it again:"
        f" kernel {one.other}, which works on the same buffer, was passed `{one.name}` = {number:,} (launch {other.launch})."
    )
    passed = ", ".join(f"{each:,}" for _, each in one.others[:4]) + (", ..." if len(one.others) > 4 else "")
    fact = f"{one.other} was passed `{one.name}` = {passed} in turn with {plural(len(one.kept.launches), 'launch', 'launches')} of {kernel}"
    step = f"Set {label} of {kernel} before each launch, as the program does with argument {one.other_argument} of {one.other}."
    return Why(CAUSE, text, (step,), setter, (fact,))
