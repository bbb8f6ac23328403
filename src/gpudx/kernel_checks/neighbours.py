"""Which accesses to the same memory no barrier separates: the other side of a race is one of them.

A checked kernel reports the later of two accesses and who made the earlier one, not where. The source says which places can be meant:
those from which the later one is reached without a barrier in between, over the back edge of a loop too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpudx.kernel_checks.builtins import BARRIERS, FENCES, global_only
from gpudx.kernel_checks.plan import Function, Site
from gpudx.kernel_checks.syntax import Node

if TYPE_CHECKING:
    from gpudx.kernel_checks.origins import Origins

LOOPS = ("FOR_STMT", "WHILE_STMT", "DO_STMT")
Open = frozenset[int]  # sites that were passed since the last barrier


class Neighbours:
    """Of one kernel. `places` has the sites of its accesses by node; a node can have several."""

    def __init__(self, shape: Origins, function: Function, places: dict[Node, list[int]], sites: list[Site]) -> None:
        self._shape, self._sites, self._places = shape, sites, places
        self._before: dict[int, set[int]] = {number: set() for some in places.values() for number in some}
        self._leaving: list[tuple[set[int], set[int]]] = []  # of each loop: what `break` and `continue` take along
        self._certain, self._passed = True, self._passed_on(function)
        self._walk(function.body, frozenset())

    def record(self) -> None:
        """Writes what was found into the sites, but not about memory that helper functions access too: they are not followed."""
        for number, before in self._before.items() if self._certain else ():
            own = self._sites[number - 1]
            mine = sorted(one for one in before if set(self._sites[one - 1].things) & set(own.things))
            if not self._passed & set(own.things):
                self._sites[number - 1] = replace(own, before=tuple(mine))

    def _passed_on(self, function: Function) -> set[int]:
        """Numbers of the arguments and arrays that helper functions are given."""
        calls = [one for one in function.body.walk() if one.kind == "CALL_EXPR" and one.name in self._shape.functions]
        given = [one for call in calls for one in call.children[1:]]
        pointers = [one for one in given if self._shape._is_pointer(one) or self._shape._is_array(self._shape._bare(one))]
        roots = {root for one in pointers for root in self._shape.roots(one)}
        return {self._shape._thing_numbers[root] for root in roots if root in self._shape._thing_numbers}

    def _walk(self, node: Node, now: Open) -> Open:
        if node.kind in LOOPS:
            return self._loop(node, now)
        if node.kind in ("IF_STMT", "CONDITIONAL_OPERATOR"):
            now = self._walk(node.children[0], now)
            ways = [self._walk(one, now) for one in node.children[1:]]
            return frozenset().union(*ways, now if len(ways) < 2 else ())
        if node.kind in ("BREAK_STMT", "CONTINUE_STMT", "RETURN_STMT"):
            if node.kind != "RETURN_STMT" and self._leaving:
                self._leaving[-1][node.kind == "CONTINUE_STMT"].update(now)
            return frozenset()
        for child in node.children:
            now = self._walk(child, now)
        if node.kind == "CALL_EXPR":
            now = self._call(node, now)
        for number in self._places.get(node, ()):
            self._before[number] |= now
            now |= {number}
        return now

    def _loop(self, node: Node, now: Open) -> Open:
        condition, bodies, others = self._shape._parts_of(node)
        head = [one for one in others if one.start < bodies[0].start and (condition is None or one.start < condition.start)]
        tail = [one for one in others if one not in head]
        for one in head[:1]:
            now = self._walk(one, now)
        tail = [*head[1:], *tail]
        out = now
        for _ in range(2):  # the second turn has what the first one left
            self._leaving.append((set(), set()))
            here = self._walk(condition, out) if condition is not None and node.kind != "DO_STMT" else out
            first = here
            for body in bodies:
                here = self._walk(body, here)
            broken, continued = self._leaving.pop()
            here |= continued
            for one in tail:
                here = self._walk(one, here)
            if condition is not None and node.kind == "DO_STMT":
                here = self._walk(condition, here)
            out = frozenset(here | first | broken)
        return out

    def _call(self, node: Node, now: Open) -> Open:
        callee = self._shape.functions.get(node.name)
        if node.name in FENCES:
            self._certain = False
        if callee is not None and callee.has_barrier:
            return frozenset()
        if node.name not in BARRIERS:
            return now
        if not global_only(self._shape.source(node)):
            return frozenset()
        return frozenset(one for one in now if self._sites[one - 1].is_local)
