"""Two arguments in each other's place, as another kernel of the program shows: its parameter of the same name and type was passed the
buffer that this launch passes as the other one."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from gpudx.diagnose.access_numbers import Numbers, Why
from gpudx.facts import Facts
from gpudx.kernel_checks.formulas import Tree

MOST_LAUNCHES = 500  # that are read
# Names that say what a kernel does with memory, not what is in it: a program passes one buffer under several of them.
ROLES = frozenset("in out input output src dst source dest destination a b c d x y z from to old new prev next cur data buf buffer".split())


def why(n: Numbers, load: Tree) -> Why | None:
    """Of an index that came from memory (`load`): is the buffer that it came from one that other kernels get under another name?"""
    if n.launch is None:
        return None
    facts, mine = n.f.facts, n.f.facts.launches.values(n.launch)
    given = {one["declared"].name: one for one in mine if one["object"] >= 0 and one["declared"] is not None and _is_telling(one)}
    elsewhere = _elsewhere(facts, n.launch)
    for name, other in permutations(given, 2):
        a, b = given[name], given[other]
        if load[3] not in (int(a["index"]), int(b["index"])) or not _alike(a, b) or a["object"] == b["object"]:
            continue
        seen, crossed = elsewhere.get((name, a["declared"].type), {}), elsewhere.get((other, b["declared"].type), {})
        if set(seen) == {int(b["object"])} and int(b["object"]) not in crossed:
            return _told(n, a, b, seen[int(b["object"])])
    return None


def _told(n: Numbers, a: dict[str, Any], b: dict[str, Any], launch: int) -> Why:
    facts, index, other = n.f.facts, int(a["index"]), int(b["index"])
    label, names = facts.objects.label(int(b["object"])), (f"`{a['declared'].name}`", f"`{b['declared'].name}`")
    first = min(index, other)
    text = (
        f"Arguments {first} and {max(index, other)} look swapped: {label} is passed as {names[1]} here, and was {names[0]} of kernel"
        f" {facts.launches.name(launch)} (launch {launch + 1:,})."
    )
    step = f"Swap arguments {index} ({names[0]}) and {other} ({names[1]}) where they are set."
    return Why("argument-order", text, (step,), n.passed_at(first))


def _elsewhere(facts: Facts, row: int) -> dict[tuple[str, str], dict[int, int]]:
    """By name and type of a parameter, what other kernels were passed: objects, each with a launch (a row)."""
    launches, found = facts.launches, dict[tuple[str, str], dict[int, int]]()
    functions = facts.kernels.functions(launches.kernel_row)
    for other in range(min(len(launches), MOST_LAUNCHES)):
        if functions[other] == functions[row] or launches.status[other]:
            continue
        for one in launches.values(other):
            if one["object"] >= 0 and one["declared"] is not None:
                key = one["declared"].name, one["declared"].type
                found.setdefault(key, {}).setdefault(int(one["object"]), other)
    return found


def _is_telling(one: dict[str, Any]) -> bool:
    name = one["declared"].name.lower().strip("_0123456789")
    return bool(name) and name not in ROLES


def _alike(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """The same type, and memory that the kernel only reads: who passes a result on gives it another name."""
    first, second = a["declared"], b["declared"]
    return (first.type, first.space) == (second.type, second.space) and bool(first.read_only and second.read_only)
