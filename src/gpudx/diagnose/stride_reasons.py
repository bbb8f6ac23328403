"""An index that multiplies a row by the wrong number. A bounds check would only hide that.

Either the launch has as many work-items as the memory has elements, and with another number for one id each work-item would have its own
element: `out[c * cols + r]` of a launch of cols x rows work-items needs `c * rows + r`. Or the number is an argument (a leading dimension,
a pitch), and the memory has rows of another length: the product of two other arguments, as many elements as the pitch has bytes, or rows
as another kernel uses them in the same buffer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from math import prod

from gpudx.diagnose.access_numbers import Numbers, Scalar, Why, bare, extent_of, summands
from gpudx.kernel_checks import values
from gpudx.kernel_checks.formulas import Tree
from gpudx.model import Site

LEAST = 2  # a dimension of one work-item fits every stride
MOST_USES = 200  # of a buffer, by other launches


@dataclass(frozen=True)
class Term:
    """An id in a sum, how many values it has, and what the source multiplies it by."""

    id: Tree
    extent: int
    stride: int
    factors: tuple[Tree, ...]


def why(n: Numbers) -> Why | None:
    """The one number with which the launch covers the memory exactly; None where there is none, or more than one."""
    terms = _terms(n)
    if terms is None or len(terms) < LEAST or prod(one.extent for one in terms) != n.held:
        return None
    found = list(_exact(terms))
    if len(found) != 1:
        return None
    term, stride = found[0]
    counted = " x ".join(f"{one.extent:,}" for one in terms)
    name, by, used = values.text(term.id), n.named(stride), " * ".join(map(values.text, term.factors))
    text = (
        f"{n.name} has {n.held:,} elements, one for each of {counted} work-items, if `{name}` is multiplied by {stride:,}"
        f"{f' ({by.label})' if by else ''}; the index multiplies it by {term.stride:,}{f' ({used})' if used else ''}."
    )
    instead = f" instead of `{used}`" if used else ""
    return Why("out-of-bounds-access", text, (f"Multiply `{name}` by `{by.label}`{instead}.",) if by else ())


@dataclass(frozen=True)
class Pitch:
    """`row * pitch + column`, with the pitch an argument."""

    scalar: Scalar
    row: int
    column: int


def wrong_pitch(n: Numbers) -> Why | None:
    """The argument that a row is multiplied by does not fit the memory, and another number does."""
    for pitch in _pitches(n):
        elsewhere = _other_pitch(n, pitch)
        found = _of_product(n, pitch) or _of_bytes(n, pitch) or (_of_launch(pitch, elsewhere) if elsewhere else None)
        if found is None:
            continue
        setter = n.passed_at(pitch.scalar.argument)
        line = f", set at {_short(setter)}" if setter is not None and setter.source else ""
        given = f"argument {pitch.scalar.argument} `{pitch.scalar.label}` is {pitch.scalar.value:,}{line}"
        facts = (given, elsewhere.text) if elsewhere else (given,)
        return Why("out-of-bounds-access", found.text, found.steps, setter, facts)
    return None


def _short(site: Site) -> str:
    return (site.source or "").rpartition("/")[2]


def _pitches(n: Numbers) -> Iterator[Pitch]:
    if n.tree is None or n.solved is None or n.is_local or n.index < n.held:
        return
    for sign, term in summands(n.tree):
        core = bare(term)
        for row, by in ((core[2], core[3]), (core[3], core[2])) if core[0] == "*" and sign > 0 else ():
            scalar = _scalar(n, by)
            if scalar is not None and scalar.value > 1 and not values.uniform(row):
                number = values.value(row, n.solved)
                if 0 <= n.index - number * scalar.value < scalar.value:
                    yield Pitch(scalar, number, n.index - number * scalar.value)


def _scalar(n: Numbers, tree: Tree) -> Scalar | None:
    core = bare(tree)
    return next((one for one in n.scalars if core[0] == "argument" and one.argument == core[1] and not one.is_field), None)


def _of_product(n: Numbers, pitch: Pitch) -> Why | None:
    """The memory has rows x columns of two other arguments, and the access is inside of those."""
    fitting: dict[int, tuple[Scalar, Scalar]] = {}
    for rows, columns in permutations([one for one in n.scalars if one != pitch.scalar], 2):
        fits = rows.value * columns.value == n.held and pitch.row < rows.value and pitch.column < columns.value
        if fits and columns.value > 1 and columns.value < pitch.scalar.value:
            fitting.setdefault(columns.value, (rows, columns))
    if len(fitting) != 1:
        return None
    rows, columns = next(iter(fitting.values()))
    name = pitch.scalar.label
    text = (
        f"{n.name} has {n.held:,} elements, {rows.label} x {columns.label} = {rows.value:,} x {columns.value:,}, and the index multiplies a"
        f" row by {name} = {pitch.scalar.value:,}."
    )
    return Why("", text, (f"Pass {columns.value:,} ({columns.label}) for argument {pitch.scalar.argument} `{name}`.",))


def _of_bytes(n: Numbers, pitch: Pitch) -> Why | None:
    """The memory has as many rows as the kernel is told, of as many elements as the pitch has bytes."""
    length, rest = divmod(pitch.scalar.value, n.element)
    if rest or n.element < LEAST or pitch.column >= length:
        return None
    several = [one for one in n.scalars if one != pitch.scalar and one.value >= LEAST and one.value * length == n.held]
    rows = next((one for one in several if pitch.row < one.value), None)
    if rows is None:
        return None
    name = pitch.scalar.label
    text = f"{name} is {pitch.scalar.value:,}, and {n.name} has {rows.value:,} rows ({rows.label}) of {length:,} elements."
    return Why("", text, (f"Pass {name} in elements ({length:,}): {pitch.scalar.value:,} is the length of a row in bytes.",))


@dataclass(frozen=True)
class Elsewhere:
    """Another launch that uses the same buffer with another pitch, with which this access fits."""

    text: str
    value: int
    who: str


def _of_launch(pitch: Pitch, other: Elsewhere) -> Why:
    name = pitch.scalar.label
    text = (
        f"The index multiplies a row by {name} = {pitch.scalar.value:,}, and {other.who} uses rows of {other.value:,} elements in the same"
        " buffer."
    )
    step = (
        f"Pass the same length of a row to both: {other.value:,} fits the buffer, {pitch.scalar.value:,} for argument"
        f" {pitch.scalar.argument} `{name}` does not."
    )
    return Why("", text, (step,))


def _other_pitch(n: Numbers, pitch: Pitch) -> Elsewhere | None:
    facts, row = n.f.facts, n.memory
    table = facts.accesses
    mine = table[(table["object"] == row) & (table["argument"] >= 0) & (table["position"] != n.f.position)] if row >= 0 else table[:0]
    seen: set[tuple[str, int]] = set()
    for use in sorted(mine, key=lambda one: abs(int(one["position"]) - n.f.position))[:MOST_USES]:
        launch = facts.launches.at_position(int(use["position"]))
        kernel = facts.launches.name(launch) if launch is not None else ""
        given = {int(one["index"]): one for one in facts.launches.values(launch)} if launch is not None else {}
        for site in n.f.sites:
            if site.kernel != kernel or site.argument != use["argument"] or not site.index:
                continue
            for index, name in _multipliers(json.loads(site.index)):
                value = int.from_bytes(given[index]["bytes"], "little") if index in given else 0
                at = pitch.row * value + pitch.column
                if (kernel, value) in seen or not pitch.column < value < pitch.scalar.value or n.held % value or at >= n.held:
                    continue
                seen.add((kernel, value))
                launched = facts.sites.at(int(use["position"]))
                who = f"kernel {kernel} (launch {launched.launch})"
                return Elsewhere(f"{who} uses `{site.text}` on the same buffer with {name} = {value:,}, which fits", value, who)
    return None


def _multipliers(tree: Tree) -> Iterator[tuple[int, str]]:
    """Arguments that a row is multiplied by."""
    for sign, term in summands(tree):
        core = bare(term)
        for row, by in ((core[2], core[3]), (core[3], core[2])) if core[0] == "*" and sign > 0 else ():
            if bare(by)[0] == "argument" and not values.uniform(row):
                yield int(bare(by)[1]), values.text(bare(by))


def _terms(n: Numbers) -> list[Term] | None:
    """The summands of an index that is made of ids and of numbers that all work-items share."""
    if n.tree is None or n.solved is None:
        return None
    found = [_term(n, tree) if sign > 0 else None for sign, tree in summands(n.tree)]
    terms = [one for one in found if one is not None]
    ids = {tuple(bare(one.id)[1:3]) for one in terms}
    return terms if len(terms) == len(found) == len(ids) and all(one.extent >= LEAST for one in terms) else None


def _term(n: Numbers, tree: Tree) -> Term | None:
    factors = list(_factors(tree))
    ids = [one for one in factors if not values.uniform(one)]
    extent = extent_of(n, ids[0]) if len(ids) == 1 else None
    if extent is None or n.solved is None:
        return None
    shared = tuple(one for one in factors if one is not ids[0])
    return Term(ids[0], extent[0], prod(values.value(one, n.solved) for one in shared), shared)


def _factors(tree: Tree) -> Iterator[Tree]:
    core = bare(tree)
    if core[0] == "*":
        yield from _factors(core[2])
        yield from _factors(core[3])
    else:
        yield tree


def _exact(terms: list[Term]) -> Iterator[tuple[Term, int]]:
    """A term and its stride, where every other one has the stride of an order in which elements follow each other."""
    for order in permutations(terms):
        wanted = [prod(one.extent for one in order[:at]) for at in range(len(order))]
        wrong = [(term, stride) for term, stride in zip(order, wanted, strict=True) if term.stride != stride]
        if len(wrong) == 1 and wrong[0][0].stride > wrong[0][1]:
            yield wrong[0]

