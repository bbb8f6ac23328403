"""The numbers of one work-item, put into the tree of an index (formulas.py): with the wrapping of the kernel's types, and without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import TypeVar

from gpudx.kernel_checks.formulas import APART, SIZES, Tree

MOST_TRIED = 200_000  # combinations of loop counters
OPEN = ("open", "counter", "load")
WIDE = "i128"  # a type that cuts nothing
Key = TypeVar("Key")


class Unknown(Exception):
    """A value that nothing fixes."""


@dataclass(frozen=True)
class World:
    """What a work-item and its launch say. `open` holds values that were found, by their text."""

    ids: Mapping[tuple[str, int], int]  # ("get_global_id", 0): 531
    arguments: Mapping[int, int]
    open: Mapping[str, int] = field(default_factory=dict)
    structs: Mapping[int, bytes] = field(default_factory=dict)  # arguments that are structs


def fit(value: int, kind: str) -> int:
    """What a type makes of a number."""
    bits = int(kind[1:])
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if kind[0] == "i" and low >> (bits - 1) else low


def value(tree: Tree, world: World) -> int:
    """As the kernel computes it."""
    return fit(*_raw(tree, world))


def _raw(tree: Tree, world: World) -> tuple[int, str]:
    """The value of the last operation before its type cuts it, and the type. Parts are as the kernel computes them."""
    head = tree[0]
    if head == "number":
        return tree[1], WIDE
    if head == "id":
        return _known(world.ids, (tree[1], tree[2])), "u64"
    if head == "argument":
        return _known(world.arguments, tree[1]), tree[3]
    if head == "field":
        return _field(world.structs.get(tree[1], b""), tree[4], tree[3]), tree[3]
    if head in OPEN:
        return _known(world.open, tree[1]), tree[2]
    if head == "named":
        return (world.open[tree[1]] if tree[1] in world.open else value(tree[2], world)), WIDE
    if head == "to":
        return value(tree[2], world), tree[1]
    if head == "?":
        return value(tree[3 if value(tree[2], world) else 4], world), tree[1]
    if head == "call":
        return _call(tree[1], [value(one, world) for one in tree[3:]]), tree[2]
    return _operation(head, *(fit(value(one, world), _operand(tree)) for one in tree[2:])), tree[1]


def _field(data: bytes, offset: int, kind: str) -> int:
    piece = data[offset : offset + int(kind[1:]) // 8]
    if len(piece) * 8 != int(kind[1:]):
        raise Unknown
    return int.from_bytes(piece, "little", signed=kind[0] == "i")


def _operand(tree: Tree) -> str:
    """Operands of arithmetic have the result's type; those of comparisons and shifts have their own."""
    return tree[1] if tree[0] in ("+", "-", "*", "/", "%", "&", "|", "^") else WIDE


def _known(table: Mapping[Key, int], key: Key) -> int:
    if key not in table:
        raise Unknown
    return table[key]


def _operation(operator: str, left: int, right: int) -> int:
    if operator in ("/", "%"):
        if not right:
            raise Unknown
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if operator == "/" else left - quotient * right
    if operator in ("<<", ">>"):
        if not 0 <= right < 64:
            raise Unknown
        return left << right if operator == "<<" else left >> right
    simple = {
        "+": left + right, "-": left - right, "&": left & right, "|": left | right, "^": left ^ right, "<": int(left < right),
        ">": int(left > right), "<=": int(left <= right), ">=": int(left >= right), "==": int(left == right),
        "!=": int(left != right), "&&": int(bool(left and right)), "||": int(bool(left or right)),
    }  # fmt: skip
    return left * right if operator == "*" else simple[operator]


def _call(name: str, given: list[int]) -> int:
    try:
        if name in ("max", "min"):
            return max(given) if name == "max" else min(given)
        if name == "clamp":
            return min(max(given[0], given[1]), given[2])
        if name == "abs":
            return abs(given[0])
        return given[0] * given[1] + (given[2] if name == "mad24" else 0)
    except IndexError:
        raise Unknown from None


# ---- what the source leaves open ----


def parts(tree: Tree) -> Iterator[Tree]:
    """The tree and all trees in it, from the outside."""
    yield tree
    for one in tree[1:]:
        if isinstance(one, list):
            yield from parts(one)


def _left_open(tree: Tree, world: World) -> list[Tree]:
    """What has no value yet, each once. The index of a load is found by itself, and the head of a counter's loop is no part of it."""
    found: dict[str, Tree] = {}
    stack = [tree]
    while stack:
        one = stack.pop()
        if one[0] in OPEN:
            if one[1] not in world.open:
                found[one[1]] = one
        elif one[0] != "named" or one[1] not in world.open:
            stack += [part for part in one[1:] if isinstance(part, list)]
    return list(found.values())


def with_hint(tree: Tree, hint: str, number: int, world: World) -> World:
    """The world with a number that the kernel reported. Where that is a parameter of a helper function, what the caller computed it
    from is found, if one set of values gives it."""
    named = next((one for one in parts(tree) if one[0] == "named" and one[1] == hint), None)
    below = solved(named[2], number, world) if named is not None else None
    return below or replace(world, open={**world.open, hint: number})


def impossible(tree: Tree, index: int, world: World) -> bool:
    """Is everything known, and the value another one?"""
    found = _or_none(tree, world) if not _left_open(tree, world) else None
    return found is not None and not _is_same_place(found, index)


def solved(tree: Tree, index: int, world: World) -> World | None:
    """The world in which the tree has this value; None where no values, or more than one set of them, give it."""
    missing = _left_open(tree, world)
    if not missing:
        found = _or_none(tree, world)
        return world if found is not None and _is_same_place(found, index) else None
    ranges = [turns(one, world) for one in missing]
    if len(missing) == 1 and ranges[0] is None:
        return _by_line(tree, index, world, missing[0])
    return _by_trying(tree, index, world, missing, ranges)


def _is_same_place(found: int, index: int) -> bool:
    """Addresses have 64 bits: an unsigned index that went below zero is one before the start."""
    return fit(found, "u64") == fit(index, "u64")


def _or_none(tree: Tree, world: World) -> int | None:
    try:
        return value(tree, world)
    except Unknown:
        return None


def _by_line(tree: Tree, index: int, world: World, missing: Tree) -> World | None:
    """One number is missing, and the index grows with it in equal steps."""

    def at(number: int) -> int | None:
        return _or_none(tree, replace(world, open={**world.open, missing[1]: number}))

    zero, one, two = at(0), at(1), at(2)
    if zero is None or one is None or two is None or one == zero or two - one != one - zero:
        return None
    number, rest = divmod(index - zero, one - zero)
    return replace(world, open={**world.open, missing[1]: number}) if not rest and at(number) == index else None


def turns(missing: Tree, world: World) -> range | None:
    """The values of a loop's counter."""
    if missing[0] != "counter":
        return None
    first, limit, step = (_or_none(one, world) for one in (missing[3], missing[4], missing[6]))
    if first is None or limit is None or not step or (step > 0) != (missing[5][0] == "<"):
        return None
    last = limit if "=" not in missing[5] else limit + (1 if step > 0 else -1)
    return range(first, last, step)


def _by_trying(tree: Tree, index: int, world: World, missing: list[Tree], ranges: list[range | None]) -> World | None:
    """Counters of loops have few values; one set of them must give the index."""
    known = [one for one in ranges if one is not None]
    total = 1
    for one in known:
        total *= len(one)
    if len(known) != len(missing) or not 0 < total <= MOST_TRIED:
        return None
    found = None
    for numbers in product(*known):
        tried = replace(world, open={**world.open, **{one[1]: n for one, n in zip(missing, numbers, strict=True)}})
        if _or_none(tree, tried) == index:
            if found is not None:
                return None
            found = tried
    return found


MONOTONE = ("number", "id", "argument", "field", "counter", "named", "to", "+", "-", "*", "call")
MOST_CORNERS = 10  # ids and counters; each has two ends


def largest(tree: Tree, world: World, extents: Mapping[tuple[str, int], int]) -> int | None:
    """The largest value over all work-items and iterations of loops; None where the source leaves that open."""
    found = span(tree, world, extents)
    return found[1] if found else None


def span(tree: Tree, world: World, extents: Mapping[tuple[str, int], int]) -> tuple[int, int, int] | None:
    """The smallest and the largest value over all work-items and iterations of loops, and how many of these there are; None where the
    source leaves that open. `extents` has how many values each id has. Sums and products have their ends where each part is at one."""
    tree = _folded(tree, world)
    if not all(map(_is_monotone, _computed(tree))):
        return None
    ids = {(one[1], one[2]) for one in _computed(tree) if one[0] == "id" and one[1] not in SIZES}
    counters = _left_open(tree, replace(world, open={}))
    ranges = [turns(one, world) for one in counters]
    if not ids <= set(extents) or len(ids) + len(counters) > MOST_CORNERS or not all(ranges):
        return None
    found = []
    for corner in product(*([(0, extents[one] - 1) for one in ids] + [(one[0], one[-1]) for one in ranges if one])):
        at = dict(zip(ids, corner, strict=False))
        opened = dict(zip((one[1] for one in counters), corner[len(ids) :], strict=True))
        found.append(_or_none(tree, replace(world, ids={**world.ids, **at}, open=opened)))
    known = [one for one in found if one is not None]
    count = prod(extents[one] for one in ids) * prod(len(one) for one in ranges if one)
    return (min(known), max(known), count) if len(known) == len(found) else None


def reached(tree: Tree, index: int, world: World, extents: Mapping[tuple[str, int], int]) -> bool | None:
    """Does some work-item have this value, or some iteration? None where the source leaves that open. All ids but the one with the most
    values are tried; the tree has to grow in equal steps with that one."""
    tree = _folded(tree, world)
    if not all(map(_is_monotone, _computed(tree))) or _left_open(tree, replace(world, open={})):
        return None
    used = {(one[1], one[2]) for one in _computed(tree) if one[0] == "id" and one[1] not in SIZES}
    ids = sorted(used, key=lambda one: extents.get(one, 0))
    if not ids or not used <= set(extents) or prod(extents[one] for one in ids[:-1]) > MOST_TRIED // 10:
        return None
    last, count = ids[-1], extents[ids[-1]]
    for rest in product(*(range(extents[one]) for one in ids[:-1])):
        known = {**world.ids, **dict(zip(ids[:-1], rest, strict=True))}
        ends = (0, min(1, count - 1), count - 1)
        first, second, end = (_or_none(tree, replace(world, ids={**known, last: one})) for one in ends)
        if first is None or second is None or end is None or end - first != (second - first) * (count - 1):
            return None
        step = second - first
        if index == first or (step and not (index - first) % step and 0 <= (index - first) // step < count):
            return True
    return False


def _is_monotone(tree: Tree) -> bool:
    """Does it grow, or fall, with each of its parts?"""
    if tree[0] in ("/", ">>"):
        return bool(tree[3][0] == "number" and tree[3][1] > 0)
    return tree[0] in MONOTONE and (tree[0] != "call" or tree[1] in ("max", "min", "clamp"))


def _folded(tree: Tree, world: World) -> Tree:
    """With numbers in place of parts that are the same for all work-items: `n / 2`."""
    if tree[0] == "number":
        return tree
    if tree[0] not in OPEN and uniform(tree) and (known := _or_none(tree, world)) is not None:
        return ["number", known]
    return [_folded(one, world) if isinstance(one, list) else one for one in tree]


def _computed(tree: Tree) -> Iterator[Tree]:
    """The tree and the trees in it that its value is made of: not the head of a counter's loop."""
    yield tree
    if tree[0] not in OPEN:
        for one in tree[1:]:
            if isinstance(one, list):
                yield from _computed(one)


# ---- what a reader wants of it ----


def wraps(tree: Tree, world: World) -> tuple[Tree, int, int] | None:
    """The first operation whose result does not fit in its type: the tree, the result without and with the wrapping."""
    for one, reduced in reversed(list(_taken(tree, world))):
        hashed = reduced and one[0] in ("+", "-", "*", "<<") and one[1][0] == "u"
        if one[0] in ("+", "-", "*", "<<", "to") and not hashed:
            try:
                raw, kind = _raw(one, world)
            except Unknown:
                continue
            if fit(raw, kind) != raw:
                return one, raw, fit(raw, kind)
    return None


REDUCING = ("%", "&", ">>", "^")


def _taken(tree: Tree, world: World, reduced: bool = False) -> Iterator[tuple[Tree, bool]]:
    """The parts that the kernel computed: of a choice, the branch that was taken. With whether an operation above keeps only some of the
    bits, so that a program may well want the wrapping of an unsigned number."""
    yield tree, reduced
    inner = [one for one in tree[1:] if isinstance(one, list)]
    if tree[0] == "?":
        decided = _or_none(tree[2], world)
        inner = inner if decided is None else [tree[2], tree[3 if decided else 4]]
    for one in inner:
        yield from _taken(one, world, reduced or tree[0] in REDUCING)


def label(tree: Tree) -> str:
    """The name of a part as the source has it."""
    return str(tree[1]).partition(APART)[0]


def helper_of(tree: Tree, inner: Tree) -> str:
    """The helper function that computes a part of the tree; "" where that is the function with the access."""
    return next((str(one[3]) for one in reversed(_around(tree, inner)) if one[3]), "")


def line_of(tree: Tree, inner: Tree) -> int:
    """The line that computes a part of the tree; 0 where that is the line of the access."""
    return next((int(one[4]) for one in reversed(_around(tree, inner))), 0)


def _around(tree: Tree, inner: Tree) -> list[Tree]:
    """The variables and calls with a line that a part is in, from the outside."""
    named = [one for one in parts(tree) if one[0] == "named" and len(one) > 3]
    return [one for one in named if any(part is inner for part in parts(one))]


def limit(counter: Tree, world: World) -> int | None:
    """What the head of a counter's loop compares it with, where that is known."""
    return _or_none(counter[4], world)


def uniform(tree: Tree) -> bool:
    """The same for all work-items of the launch?"""
    return all(one[0] not in OPEN and (one[0] != "id" or one[1] in SIZES) for one in parts(tree))


def text(tree: Tree) -> str:
    """As in the source, with the names that it gives."""
    return _shown(tree, None)


def with_values(tree: Tree, world: World) -> str:
    """ "120 * 64 + 3": the numbers in place of the names."""
    return _shown(tree, world)


def _shown(tree: Tree, world: World | None) -> str:
    head = tree[0]
    if world is not None and head in ("named", "id", "argument", "field", *OPEN):
        number = _or_none(tree, world)
        return f"{number:,}" if number is not None else _shown(tree, None)
    if head == "number":
        return f"{tree[1]:,}" if world is not None else str(tree[1])
    if head == "id":
        return f"{tree[1]}({tree[2]})"
    if head in ("named", *OPEN):
        return label(tree)
    if head in ("argument", "field"):
        return str(tree[2]).partition(APART)[0]
    if head == "to":
        return _shown(tree[2], world)
    if head == "?":
        return f"{_inner(tree[2], world)} ? {_inner(tree[3], world)} : {_inner(tree[4], world)}"
    if head == "call":
        return f"{tree[1]}({', '.join(_shown(one, world) for one in tree[3:])})"
    if head == "-" and tree[2] == ["number", 0]:
        return f"-{_inner(tree[3], world)}"
    return f"{_inner(tree[2], world, head)} {head} {_inner(tree[3], world, head, right=True)}"


RANK = {"*": 2, "/": 2, "%": 2, "+": 1, "-": 1}


def _inner(tree: Tree, world: World | None, above: str = "", right: bool = False) -> str:
    shown = _shown(tree, world)
    core = tree
    while core[0] == "to":
        core = core[2]
    own, outer = RANK.get(core[0], 0), RANK.get(above, 0)
    if core[0] not in (
        "?",
        "+",
        "-",
        "*",
        "/",
        "%",
        "<<",
        ">>",
        "&",
        "|",
        "^",
        "<",
        ">",
        "<=",
        ">=",
        "==",
        "!=",
        "&&",
        "||",
    ):
        return shown
    return shown if own > outer > 0 or (own == outer > 0 and not right) else f"({shown})"
