"""An index that multiplies an id by the wrong number: the launch has as many work-items as the memory has elements, and with another
number for one id each work-item would have its own element.

`out[c * cols + r]` of a launch of cols x rows work-items needs `c * rows + r`. A bounds check would only hide that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from math import prod

from gpudx.diagnose.access_numbers import Numbers, Why, bare, extent_of, summands
from gpudx.kernel_checks import values
from gpudx.kernel_checks.formulas import Tree

LEAST = 2  # a dimension of one work-item fits every stride


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

