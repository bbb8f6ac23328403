"""Private variables and local arrays that a kernel may read before it writes them, and text that gives them a value where they are
declared.

For numbers, clang's own analysis says which; whether the path on which one stays without a value is ever taken, it cannot say. Of arrays,
vectors, structs and variables whose address is taken it says nothing, so all that are declared without a value are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from gpudx.kernel_checks.cl_types import INTS, plain, qualifier
from gpudx.kernel_checks.suspects import Edit, Reading, Suspect, tree_of
from gpudx.kernel_checks.syntax import Node

WARNINGS = ("-Wuninitialized", "-Wsometimes-uninitialized", "-Wconditional-uninitialized")
PATTERN = "{}"  # in an edit: eight hexadecimal digits
WHOLE = ("CONSTANTARRAY", "VECTOR", "EXTVECTOR", "RECORD")
ITEM = "get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2))"
ITEMS = "get_local_size(0) * get_local_size(1) * get_local_size(2)"
FLOATING = {"FLOAT": "as_float(0x{})", "DOUBLE": "as_double(0x{0}{0}UL)"}


@cache
def unset(source: str, build_options: str) -> tuple[Suspect, ...]:
    tree = tree_of(source, build_options, *WARNINGS)
    if tree is None:
        return ()
    reading = Reading(source, tree)
    kernels, told, found = reading.kernels(), _told(reading), list[Suspect]()
    for function in reading.functions:
        nodes = function.walk()
        taken = {one.children[0].declared for one in nodes if one.kind == "UNARY_OPERATOR" and one.operator == "&"}
        for node in (one for one in nodes if one.kind == "VAR_DECL"):
            use = told.get(node.end)
            suspect = _suspect(reading, node, use) if use or node.type_kind in WHOLE or node.number in taken else None
            found += [replace(suspect, function=function.name, kernels=kernels[function.name])] if suspect else []
    return tuple(found)


Told = dict[int, tuple[int, bool]]  # by the end of a declaration: the line of the use, and whether no condition decides it


def _told(reading: Reading) -> Told:
    found: Told = {}
    for warning in reading.tree.warnings:
        if warning.option in WARNINGS:
            uses = [note.line for note in warning.notes if note.text.startswith("uninitialized use")]
            for note in (one for one in warning.notes if one.text.startswith("initialize the variable")):
                found[note.offset] = (uses[0] if uses else warning.line, warning.option == WARNINGS[0])
    return found


def _suspect(reading: Reading, node: Node, use: tuple[int, bool] | None) -> Suspect | None:
    above, space = node.parent, qualifier(node.type)
    value = _value(node) if space == "p" else _shared_value(node) if space == "l" else ""
    if above is None or not value or _has_value(reading, node):
        return None
    if not reading.is_written_out(above, [node.name]):
        return None
    line, certain = use or (0, False)
    return Suspect(
        reading.source, name=node.name, type=plain(node.type), line=reading.line(node.name_start),
        text=" ".join(reading.text(node).split()), edits=(Edit(above.end, above.end, value),), used=line, certain=certain,
        space="local" if space == "l" else "private",
    )  # fmt: skip


def _has_value(reading: Reading, node: Node) -> bool:
    return "=" in reading.text(node) or "extern" in reading.text(node) or "static" in reading.text(node)


def _value(node: Node) -> str:
    """The statement that gives a variable the pattern, "" for pointers, images and the like."""
    kind, name = node.type_kind, node.name
    if kind in FLOATING:
        return f" {name} = {FLOATING[kind]};"
    if kind in INTS and kind != "ENUM":
        return f" {name} = ({plain(node.type)})0x{PATTERN}{PATTERN}UL;".replace(PATTERN * 2, "{0}{0}")
    if kind in WHOLE and not _holds_pointers(node):
        part, step, size = ("uint", "0x{0}u", f"sizeof({name}) / 4") if _in_words(node) else ("uchar", "0x{0} & 0xff", f"sizeof({name})")
        return f" for (uint gdx_n = 0; gdx_n < {size}; gdx_n++) ((__private {part} *)&{name})[gdx_n] = {step};"
    return ""


def _shared_value(node: Node) -> str:
    """The statements in which the work-items of a group fill a local array, "" where not all of them may come there."""
    if node.type_kind != "CONSTANTARRAY" or _holds_pointers(node) or not _is_reached(node):
        return ""
    part, step = ("uint", "0x{0}u") if _in_words(node) else ("uchar", "0x{0} & 0xff")
    size = f"sizeof({node.name}) / sizeof({part})"
    fill = f"((__local {part} *)&{node.name})[gdx_n] = {step};"
    return f" for (uint gdx_n = {ITEM}; gdx_n < {size}; gdx_n += {ITEMS}) {fill} barrier(CLK_LOCAL_MEM_FENCE);"


def _is_reached(node: Node) -> bool:
    """Is it declared in the outermost block of its function, and has no work-item returned before?"""
    statement, above = node.parent, node.parent.parent if node.parent else None
    function = above.parent if above is not None else None
    if statement is None or function is None or function.kind != "FUNCTION_DECL":
        return False
    return not any(one.kind == "RETURN_STMT" and one.start < statement.end for one in function.walk())


def _in_words(node: Node) -> bool:
    canonical = node.type.get_canonical()
    return bool(canonical.get_align() >= 4 and canonical.get_size() % 4 == 0)


def _holds_pointers(node: Node) -> bool:
    return any("*" in kind.spelling or "image" in kind.spelling for kind in _parts(node.type.get_canonical()))


def _parts(kind: Any) -> Iterator[Any]:
    canonical = kind.get_canonical()
    while canonical.kind.name == "CONSTANTARRAY":
        canonical = canonical.element_type.get_canonical()
    yield canonical
    if canonical.kind.name == "RECORD":
        for field in canonical.get_fields():
            yield from _parts(field.type)


def filled(suspect: Suspect, pattern: str) -> list[Edit]:
    """The edits that give the variable this pattern: "3f3f3f3f"."""
    return [Edit(one.start, one.end, one.text.format(pattern)) for one in suspect.edits]
