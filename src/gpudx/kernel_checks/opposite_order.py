"""Macros that renumber the work-items of a kernel, so that they and their groups run in the opposite order.

A driver starts work-items in the order of their ids, mostly. Global id g becomes 2 * offset + size - 1 - g, group n becomes
count - 1 - n, and local id l becomes size of the group - 1 - l: the work-item that runs first is the last one then, and each still has a
group of the same shape around it. A macro is not expanded inside of itself, so these have the names of the functions that they call.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache

from gpudx.kernel_checks import options
from gpudx.kernel_checks.errors import Unsupported
from gpudx.kernel_checks.suspects import Edit, Reading, Suspect, edited, tree_of

RENUMBERED = {
    "get_global_id(d)": "(2 * get_global_offset(d) + get_global_size(d) - 1 - get_global_id(d))",
    "get_group_id(d)": "(get_num_groups(d) - 1 - get_group_id(d))",
    "get_local_id(d)": "(get_local_size(d) - 1 - get_local_id(d))",
}
LINEAR = {
    "get_global_linear_id()": "(get_global_size(0) * get_global_size(1) * get_global_size(2) - 1 - get_global_linear_id())",
    "get_local_linear_id()": "(get_local_size(0) * get_local_size(1) * get_local_size(2) - 1 - get_local_linear_id())",
}
LINEAR_SINCE = UNEVEN_SINCE = 200  # OpenCL C 2.0: before, the global size is a multiple of that of a group
NAMES = "|".join(one.partition("(")[0] for one in (*RENUMBERED, *LINEAR))
DEFINES = re.compile(rf"^\s*#\s*(?:define|undef)\s+({NAMES})\b", re.MULTILINE)
# What the device numbers by itself, or what is given a local id or ordered by it.
UNMOVED = re.compile(r"\w*sub_group\w*|work_group_(?:broadcast|scan_\w+)|enqueue_kernel")
BY_GROUP = re.compile(r"\b(?:get_local_|get_group_|barrier\b|work_group_|(?:__)?local\b)")  # makes the shape of a group matter
IN_ANY_ORDER = re.compile(r"atom(?:ic)?_\w+|printf")  # with these, correct kernels may print or sum up in another order


@dataclass(frozen=True)
class Launched:
    """A kernel that was launched. `even`: in every launch, the program gave the size of a group, of which the global size is a multiple."""

    kernel: str
    source: str
    options: str
    even: bool


def opposite(source: str, build_options: str, kernels: Collection[str], *, even: bool) -> Suspect | str:
    """The edit, or why there is none, without a full stop. `kernels`: those that the program launches; `even`: is the global size a
    multiple of the group's in each of these launches?"""
    calls, version = _calls_of(source, build_options, kernels), _version(build_options)
    if calls is None:
        return "the source of its kernel cannot be read"
    if unmoved := next((one for one in sorted(calls) if UNMOVED.fullmatch(one)), ""):
        return f"its kernel calls {unmoved}(), which would not change with the order"
    if defined := DEFINES.search(source):
        return f"the source of its kernel defines {defined[1]} itself"
    if not even and version >= UNEVEN_SINCE and BY_GROUP.search(source):
        return "its groups are not known to have the same size in each launch"
    macros = RENUMBERED | (LINEAR if version >= LINEAR_SINCE else {})
    text = "".join(f"#define {name} {body}\n" for name, body in macros.items())
    edit = Edit(0, 0, f"{text}#line 1\n")
    if tree_of(edited(source, [edit]), build_options) is None:
        return f"the source of its kernel declares one of {', '.join(NAMES.split('|'))} itself"
    return Suspect(source, edits=(edit,))


def may_print_otherwise(source: str, build_options: str, kernels: Collection[str]) -> bool:
    """May these kernels, though they are correct, give other results or print in another order, if their work-items run in another one?"""
    calls = _calls_of(source, build_options, kernels)
    return calls is None or any(IN_ANY_ORDER.fullmatch(one) for one in calls)


def _version(build_options: str) -> int:
    try:
        return options.read(build_options).version
    except Unsupported:
        return 0


def _calls_of(source: str, build_options: str, kernels: Collection[str]) -> frozenset[str] | None:
    """Names of the functions that kernels call, directly or not; None where the source cannot be read."""
    calls = _calls(source, build_options)
    return None if calls is None else frozenset().union(*(calls.get(one, frozenset()) for one in kernels))


@cache
def _calls(source: str, build_options: str) -> Mapping[str, frozenset[str]] | None:
    tree = tree_of(source, build_options)
    if tree is None:
        return None
    reading, found = Reading(source, tree), dict[str, frozenset[str]]()
    kernels = reading.kernels()
    for function in reading.functions:
        called = frozenset(node.name for node in function.walk() if node.kind == "CALL_EXPR")
        for kernel in kernels[function.name]:
            found[kernel] = found.get(kernel, frozenset()) | called
    return found
