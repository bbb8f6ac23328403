"""Local arrays whose size is a macro that does not fit the launch: -D options of another name or value than the host's own number.

A kernel that is written for tiles of TS x TS takes it that groups have TS x TS work-items. The host passes both numbers, one to the
compiler and one to the launch, and nothing compares them.
"""

from __future__ import annotations

import re

from gpudx.diagnose.access_numbers import Numbers, Why
from gpudx.diagnose.build_options import DEFINED, WORD
from gpudx.diagnose.kernel_check_reports import Failure

CAUSES = {"bounds": "undersized-buffer", "uninitialized": "read-before-write"}
DIMENSION = re.compile(r"\[\s*([^\[\]]+?)\s*\]")
PADDED = re.compile(r"\s*\+\s*\d+$")  # a column that keeps rows apart in banks
LEAST = 2


def why(f: Failure) -> Why | None:
    if f.kind not in CAUSES or f.thing is None or f.thing.kind != "local":
        return None
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
