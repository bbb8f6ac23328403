"""Local arrays whose size is a macro that does not fit the launch: -D options of another name or value than the host's own number.

A kernel that is written for tiles of TS x TS takes it that groups have TS x TS work-items. The host passes both numbers, one to the
compiler and one to the launch, and nothing compares them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.diagnose.access_numbers import Numbers, Why, bare
from gpudx.diagnose.build_options import DEFINED, WORD
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.kernel_checks import values
from gpudx.kernel_checks.formulas import Tree
from gpudx.text import plural

CAUSES = {"bounds": "undersized-buffer", "uninitialized": "read-before-write"}
OTHER_GROUPS = "built-for-other-groups"
DIMENSION = re.compile(r"\[\s*([^\[\]]+?)\s*\]")
PADDED = re.compile(r"\s*\+\s*\d+$")  # a column that keeps rows apart in banks
LEAST = 2


def why(f: Failure) -> Why | None:
    if f.kind not in CAUSES or f.thing is None:
        return None
    if f.thing.kind != "local":
        return _of_other_groups(f)
    n, kernels = Numbers(f), f.facts.kernels
    row = int(f.facts.launches.kernel_row[n.launch]) if n.launch is not None else -1
    born = int(f.facts.objects.table["born"][row]) if row >= 0 else -1  # a later program may have the same handle
    built = kernels.built_at(row, born)
    groups = [size for axis in range(3) if (size := n.world.ids.get(("get_local_size", axis), 0)) > 1]
    if built is None or not groups or len(set(groups)) > 1:
        return None
    options = {name: int(number) for name, number in DEFINED.findall(kernels.options(row, born))}
    macro = _macro(f, options)
    if macro is None:
        return None
    name, value, given = macro
    shape, count = " x ".join(f"{one:,}" for one in groups), groups[0]
    if value == count or value < LEAST:
        return None
    array, site = f"`{f.thing.name}`", f.facts.sites.at(built)
    unused = [one for one, number in options.items() if number == count and one not in WORD.findall(f.source)]
    if unused and not given:
        text = (
            f"The size of {array} is {name}, which is {value:,} by the source's own #define: the program was built with "
            f"-D{unused[0]}={count}, which the source never uses, and the groups are {shape}."
        )
        return Why(CAUSES[f.kind], text, (f"Pass -D{name}={count} instead of -D{unused[0]}={count}.",), site)
    by = f"by -D{name}={value}" if given else "by the source's own #define"
    text = f"The size of {array} is {name}, which is {value:,} {by}, but the groups are {shape}."
    step = f"Build with -D{name}={count}, or launch groups with {value:,} work-items in each dimension."
    return Why(CAUSES[f.kind], text, (step,), site)


def _of_other_groups(f: Failure) -> Why | None:
    """The groups lie a macro apart, `get_group_id(0) * TILE`; other launches of the function have groups of that size, this one has not."""
    n, kernels, launches = Numbers(f), f.facts.kernels, f.facts.launches
    if f.kind != "bounds" or n.tree is None or n.launch is None:
        return None
    row = int(launches.kernel_row[n.launch])
    born = int(f.facts.objects.table["born"][row]) if row >= 0 else -1
    built = kernels.built_at(row, born)
    used, defined = set(WORD.findall(f.body)), DEFINED.findall(kernels.options(row, born)) if built is not None else []
    options = {int(number): name for name, number in defined if name in used}
    for axis, apart in _distances(n.tree):
        size = n.world.ids.get(("get_local_size", axis), 0)
        alike = [one for one in _same_source(f, row) if launches.geometry(one)[1][axis] == apart]
        if apart not in options or size in (0, apart) or not alike or built is None:
            continue
        macro, kernel = options[apart], f.facts.sites.at(born)
        text = (
            f"The program was built with -D{macro}={apart}, and the groups of this launch have {size:,} work-items in dimension {axis}, "
            f"not {apart:,}."
        )
        others = plural(len(alike), "other launch", "other launches")
        has = "has" if len(alike) == 1 else "have"
        facts = (
            f"{others} of this function {has} groups of {apart:,} in dimension {axis}, as the build has it",
            f"{kernel.call} (call {kernel.number}) made the kernel of this launch from the program of call {built + 1}",
        )
        step = f"Use a program that is built with -D{macro}={size} for this launch; a cache of programs needs the options in its key."
        return Why(OTHER_GROUPS, text, (step,), kernel, facts)
    return None


def _distances(tree: Tree) -> Iterator[tuple[int, int]]:
    """(axis, distance of groups) for each `get_group_id(axis) * number` in an index."""
    for one in values.parts(tree):
        sides = [bare(side) for side in one[2:4]] if one[0] == "*" and len(one) == 4 else []
        ids = [side for side in sides if side[:2] == ["id", "get_group_id"]]
        numbers = [side for side in sides if side[0] == "number"]
        if len(ids) == len(numbers) == 1:
            yield int(ids[0][2]), int(numbers[0][1])


def _same_source(f: Failure, row: int) -> list[int]:
    """Launches of functions with the name and the source of this kernel's."""
    kernels, launches = f.facts.kernels, f.facts.launches
    name, mine = kernels.name(row), _text(f, row)
    rows = [int(one) for one in dict.fromkeys(launches.kernel_row.tolist()) if one >= 0 and kernels.name(int(one)) == name]
    same = {one for one in rows if _text(f, one) == mine}
    return [at for at, one in enumerate(launches.kernel_row.tolist()) if one in same]


def _text(f: Failure, row: int) -> str:
    info = f.facts.kernels.info(row)
    return f.facts.kernels.source(info.program, info.position) if info else ""


def _macro(f: Failure, options: dict[str, int]) -> tuple[str, int, bool] | None:
    """The macro that is the size of all dimensions of an array, but for a padding, its value, and whether an option gave it."""
    assert f.thing is not None
    declared = re.search(rf"\b{re.escape(f.thing.name)}\s*((?:\[[^\[\]]+\]\s*){{2,}})[;,=]", f.source)
    sizes = {PADDED.sub("", one) for one in DIMENSION.findall(declared[1])} if declared else set()
    if len(sizes) != 1:
        return None
    name = sizes.pop()
    if name in options:
        return name, options[name], True
    found = re.findall(rf"^[ \t]*#[ \t]*define[ \t]+{re.escape(name)}[ \t]+(\d+)[ \t]*$", f.source, re.MULTILINE)
    return (name, int(found[0]), False) if len(found) == 1 else None
