"""A race between two regions of one buffer, each of which begins at an offset that the program passes: the regions overlap.

A pool of memory that the host divides needs no barrier and no atomic function, but offsets that leave each region its size.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from gpudx.diagnose import race_reasons
from gpudx.diagnose.access_numbers import Scalar, Why, bare, summands
from gpudx.diagnose.aliased_arguments import OVERLAP
from gpudx.diagnose.index_reasons import extents
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.diagnose.race_reasons import Race
from gpudx.kernel_checks import values
from gpudx.kernel_checks.formulas import Tree
from gpudx.text import plural


@dataclass(frozen=True)
class Region:
    """All elements that one access of the kernel goes to, without gaps; `offset` is the argument that it begins at."""

    deed: str
    first: int
    last: int
    offset: Scalar

    @property
    def count(self) -> int:
        return self.last - self.first + 1


def why(f: Failure) -> Why | None:
    """The two regions, where each access has an offset argument of its own, and each covers all elements from its first to its last."""
    race = race_reasons.of(f)
    both = _regions(race) if race is not None else None
    if race is None or both is None:
        return None
    mine, its = both
    first, last = max(mine.first, its.first), min(mine.last, its.last)
    if not first <= race.n.index <= last or (mine.first, mine.last) == (its.first, its.last):
        return None
    lower, upper = sorted(both, key=lambda one: one.offset.value)
    deeds = " and ".join(dict.fromkeys((mine.deed, its.deed)))
    text = f"The two regions that it {deeds} share {plural(last - first + 1, 'element')}."
    apart = upper.offset.value - lower.offset.value
    step = (
        f"Compute the offsets from the sizes of both regions: `{upper.offset.name}` ({upper.offset.value:,}) is {plural(apart, 'element')} "
        f"after `{lower.offset.name}` ({lower.offset.value:,}), and the region there has {lower.count:,}."
    )
    facts = tuple(_words(race, one) for one in (mine, its))
    return Why(OVERLAP, text, (step,), race.n.passed_at(upper.offset.argument), facts)


def _regions(race: Race) -> tuple[Region, Region] | None:
    f, other = race.f, race.one_other
    if other is None or race.is_same_place or race.n.is_local or not f.site.index or not other.index or f.width != race.n.element:
        return None
    own, its = json.loads(f.site.index), json.loads(other.index)
    first = _region(race, own, its, "writes" if f.writes else "reads")
    second = _region(race, its, own, "writes" if race.wrote else "reads")
    return (first, second) if first and second and first.offset.value != second.offset.value else None


def _region(race: Race, tree: Tree, other: Tree, deed: str) -> Region | None:
    offsets = _added(tree) - _added(other)
    found = [one for one in race.n.scalars if one.argument in offsets and not one.is_field]
    reach = values.span(tree, race.n.world, extents(race.n)) if len(found) == len(offsets) == 1 else None
    if reach is None or any(race.n.global_offset(axis) for axis in range(3)):
        return None
    first, last, count = reach
    whole = count >= last - first + 1 and first >= found[0].value
    return Region(deed, first, last, found[0]) if whole else None


def _added(tree: Tree) -> set[int]:
    """Arguments that are added to the index as they are."""
    return {int(bare(term)[1]) for sign, term in summands(tree) if sign > 0 and bare(term)[0] == "argument"}


def _words(race: Race, region: Region) -> str:
    """ "it writes elements 0 to 2,559 of `act`, from argument 2 (`out_off`) on, which is 0 (app.c:21)"."""
    given, name = region.offset, race.f.thing.name if race.f.thing else ""
    site = race.n.setter(given.argument)
    line = f" (set at {os.path.basename(site.source)})" if site and site.source else ""
    return (
        f"it {region.deed} elements {region.first:,} to {region.last:,} of `{name}`: argument {given.argument} (`{given.name}`) is "
        f"{given.value:,}{line}"
    )
