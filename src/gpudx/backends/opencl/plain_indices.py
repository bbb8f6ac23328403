"""Parameters of a kernel that each work-item uses at its own global id only: `data[i]` with `int i = get_global_id(0)`; numbers
that it compares its id with; and the functions that it reads images with.

Read from words, without a grammar. Where a word could mean something else (a macro, a header, a variable that is assigned again),
the parameter is left out.
"""

from __future__ import annotations

import re

from gpudx.backends.opencl.halvings import local_halving as local_halving
from gpudx.backends.opencl.signatures import (
    DEFINE,
    DIRECTIVE,
    INCLUDE,
    KERNEL,
    MOST_BYTES,
    TOKEN,
    bare,
    signature_of,
)

OWN_ID = ["get_global_id", "(", "0", ")"]
NUMBER = re.compile(r"[\d.]+[uUlLfF]*\s*$")
NUMBERS = re.compile(r"-D\s*\w+=\d+(?=\s|$)")  # macros that stand for a number
BARRIERS = ("barrier", "work_group_barrier")
IMAGE_ACCESS = re.compile(r"(?:read|write)_image(?:f|i|ui)")
ASSIGNING = "+-*/%&|^<>"


def by_global_id(source: str, kernel: str, options: str = "") -> frozenset[str]:
    """Their names; none where the source is not understood."""
    declared, body = signature_of(source, kernel, options), _body_of(source, kernel, options)
    if declared is None or not body:
        return frozenset()
    own = {name for name in _names(body) if _is_own_id(body, name)}
    return frozenset(one.name for one in declared if _is_plain(body, one.name, own))


def guards(source: str, kernel: str, options: str = "") -> dict[int, frozenset[str]]:
    """By dimension: the parameters that a kernel compares its global id with, so that work-items from that number on do nothing."""
    declared, body = signature_of(source, kernel, options), _body_of(source, kernel, options)
    numbers = {one.name for one in declared or () if "*" not in one.type}
    found: dict[int, frozenset[str]] = {}
    for axis in range(3):
        own = {name for name in _names(body) if _is_own_id(body, name, axis)}
        compared = frozenset(_compared(body, own) & numbers)
        if compared:
            found[axis] = compared
    return found


def returns_before_barrier(source: str, kernel: str, options: str = "") -> dict[int, frozenset[str]]:
    """By dimension: the parameters of `if (id >= name) return;` before a barrier, also as a part of a condition with `||`."""
    body, compared = _body_of(source, kernel, options), guards(source, kernel, options)
    found: dict[int, set[str]] = {}
    last = max((at for at, token in enumerate(body) if token in BARRIERS), default=-1)
    for at in (at for at, token in enumerate(body[: max(last, 0)]) if token == "if"):
        closing = next((end for end in range(at + 1, last) if body[at + 1 : end + 1].count("(") == body[at + 1 : end + 1].count(")")), last)
        condition, then = body[at + 2 : closing], [token for token in body[closing + 1 : closing + 3] if token != "{"]
        if then[:1] != ["return"] or "&" in condition or "!" in condition:
            continue
        for axis, names in compared.items():
            own = {name for name in _names(body) if _is_own_id(body, name, axis)}
            found.setdefault(axis, set()).update(_compared(condition, own) & names)
    return {axis: frozenset(names) for axis, names in found.items() if names}


def only_written(source: str, kernel: str, options: str = "") -> frozenset[str]:
    """Pointers that a kernel only assigns elements of: `out[i] = ...`, and nothing else."""
    declared, body = signature_of(source, kernel, options), _body_of(source, kernel, options)
    found = {one.name for one in declared or () if "*" in one.type and one.name in body}
    for at, token in enumerate(body):
        if token in found and not _is_assigned(body, at):
            found.discard(token)
    return frozenset(found)


def _is_assigned(body: list[str], at: int) -> bool:
    depth = 0
    for end in range(at + 1, len(body)):
        depth += (body[end] == "[") - (body[end] == "]")
        if not depth:
            return body[at + 1] == "[" and body[end + 1 : end + 2] == ["="] and body[end + 2 : end + 3] != ["="]
    return False


def row_strides(source: str, kernel: str, options: str = "") -> dict[str, str]:
    """By pointer: the number that a kernel multiplies the id of the second dimension with, where it does so in each use of the pointer:
    `image[y * pitch + x]`."""
    declared, body = signature_of(source, kernel, options), _body_of(source, kernel, options)
    numbers = {one.name for one in declared or () if "*" not in one.type}
    rows = {name for name in _names(body) if _is_own_id(body, name, 1)}
    found: dict[str, str] = {}
    for name in (one.name for one in declared or () if "*" in one.type):
        strides = {_stride(_subscript(body, at), rows) for at, token in enumerate(body) if token == name}
        if len(strides) == 1 and (stride := strides.pop()) in numbers and not any(_is_changed(body, i) for i in _places(body, stride)):
            found[name] = stride
    return found


def _places(body: list[str], name: str) -> list[int]:
    return [at for at, token in enumerate(body) if token == name]


def _subscript(body: list[str], at: int) -> list[str]:
    """What is between the brackets behind a name; nothing where there are none."""
    if body[at + 1 : at + 2] != ["["]:
        return []
    end = next((end for end in range(at + 2, len(body)) if body[end] == "]"), at)
    return body[at + 2 : end]


def _stride(index: list[str], rows: set[str]) -> str:
    """Of `y * pitch + x`, without another product, division or element of memory; "" of others."""
    first = index[:3]
    if index[1:2] != ["*"] or index[3:4] != ["+"] or set(index[4:]) & {"*", "/", "%", "[", "("} or not index[4:]:
        return ""
    return first[2] if first[0] in rows else first[0] if first[2] in rows else ""


def useless_clamps(source: str, kernel: str, options: str = "") -> dict[str, tuple[int, str]]:
    """`max(y - r, 0u)` with an unsigned id and a parameter: its text, with the dimension and the parameter. Nothing where the kernel
    compares the two before."""
    declared, body = signature_of(source, kernel, options), _body_of(source, kernel, options)
    numbers = {one.name for one in declared or () if "*" not in one.type}
    own = {name: axis for axis in range(3) for name in _names(body) if _is_own_id(body, name, axis)}
    found = {}
    for at in range(len(body) - 7):
        call = body[at : at + 8]
        clamps = call[:2] == ["max", "("] and call[3] == "-" and call[5:] == [",", "0u", ")"] and call[2] in own and call[4] in numbers
        if clamps and call[4] not in _compared(body, {call[2]}) and call[2] not in _compared(body, {call[4]}):
            found[f"max({call[2]} - {call[4]}, 0u)"] = (own[call[2]], call[4])
    return found


def images(source: str, kernel: str, options: str = "") -> dict[str, frozenset[str]]:
    """By parameter: the functions that a kernel reads and writes an image with."""
    body, found = _body_of(source, kernel, options), dict[str, frozenset[str]]()
    for function, bracket, name in zip(body, body[1:], body[2:], strict=False):
        if bracket == "(" and IMAGE_ACCESS.fullmatch(function):
            found[name] = found.get(name, frozenset()) | {function}
    return found


def _compared(body: list[str], own: set[str]) -> set[str]:
    """`own < name`, `own >= name`, and the same the other way round."""
    found = set()
    for at, token in enumerate(body):
        if token in own:
            after, before = [*body[at + 1 : at + 4], "", "", ""][:3], ["", "", "", *body[max(at - 3, 0) : at]][-3:]
            found |= {after[1]} if after[0] == "<" and after[1] not in ("=", "<") else set()
            found |= {after[2]} if after[:2] == [">", "="] else set()
            found |= {before[1]} if before[2] == ">" and before[1] not in ("-", ">") else set()
            found |= {before[0]} if before[1:] == ["<", "="] else set()
    return found


def _body_of(source: str, kernel: str, options: str) -> list[str]:
    """The words of a kernel's body; none where some of them may mean something else than they seem to."""
    if len(source) > MOST_BYTES or INCLUDE.search(source) or "-D" in NUMBERS.sub("", options):
        return []
    text = bare(source)
    body = _body(TOKEN.findall(DIRECTIVE.sub(" \x00 ", text)), kernel)
    defined = [(name, value) for name, _, value in DEFINE.findall(text) if not NUMBER.match(value)]
    macros = {word for name, value in defined for word in (name, *TOKEN.findall(value))}
    return [] if "\x00" in body or macros & _names(body) else body


def _body(tokens: list[str], kernel: str) -> list[str]:
    """What is between the braces of a kernel; nothing where it is not defined exactly once."""
    found = [
        i for i, token in enumerate(tokens[:-1]) if token == kernel and tokens[i + 1] == "(" and _is_kernel(tokens, i)
    ]
    opened = next((i for i in range(found[0], len(tokens)) if tokens[i] in "{;"), None) if len(found) == 1 else None
    if opened is None or tokens[opened] != "{":
        return []
    depth = 0
    for end in range(opened, len(tokens)):
        depth += (tokens[end] == "{") - (tokens[end] == "}")
        if not depth:
            return tokens[opened + 1 : end]
    return []


def _is_kernel(tokens: list[str], at: int) -> bool:
    start = at
    while start and tokens[start - 1] not in (";", "}", "{", "\x00"):
        start -= 1
    return any(token in KERNEL for token in tokens[start:at])


def _names(body: list[str]) -> set[str]:
    return {token for token in body if token[0].isalpha() or token[0] == "_"}


def _is_own_id(body: list[str], name: str, axis: int = 0) -> bool:
    """Is a variable given the work-item's id where it is declared, and never anything else?"""
    at = [i for i, token in enumerate(body) if token == name]
    first, rest = at[0], at[1:]
    given = body[first + 1 : first + 7]
    begins = first > 0 and (body[first - 1] in _TYPES or (body[first - 1] == "," and _declares(body, first)))
    declared = begins and given[:5] == ["=", *OWN_ID[:2], str(axis), *OWN_ID[3:]] and given[5:] in ([";"], [","])
    return declared and not any(_is_changed(body, i) for i in rest)


def _declares(body: list[str], at: int) -> bool:
    """Is it a further variable of a declaration, `int x = get_global_id(0), y = ...`?"""
    start = at
    while start and body[start - 1] not in (";", "{", "}"):
        start -= 1
    return body[start] in (*_TYPES, "const")


_TYPES = ("int", "uint", "unsigned", "size_t", "long", "ulong")


def _is_changed(body: list[str], at: int) -> bool:
    after, before = [*body[at + 1 : at + 4], "", "", ""], ["", "", *body[max(at - 2, 0) : at]]
    assigned = after[0] == "=" and after[1] != "="
    compound = (
        after[0] in tuple(ASSIGNING)
        and (after[1] == "=" or (after[1] == after[0] and after[2] == "="))
        and not (after[0] in "<>" and after[1] == "=")
    )
    stepped = after[:2] in (["+", "+"], ["-", "-"]) or before[-2:] in (["+", "+"], ["-", "-"])
    pointed = before[-1] == "&" and before[-2] != "&"
    declared_again = before[-1] in _TYPES
    return assigned or compound or stepped or pointed or declared_again


def _is_plain(body: list[str], name: str, own: set[str]) -> bool:
    """Is every use of a parameter `name[own id]`?"""
    at = [i for i, token in enumerate(body) if token == name]
    return bool(at) and all(_has_own_index(body[i + 1 : i + 7], own) for i in at)


def _has_own_index(after: list[str], own: set[str]) -> bool:
    if after[:1] != ["["]:
        return False
    return (after[1] in own and after[2] == "]") if len(after) > 2 and after[1] in own else after[1:] == [*OWN_ID, "]"]
