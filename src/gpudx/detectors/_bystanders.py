"""Changes of memory that no work of their time was given, and who may have made them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from gpudx.facts import Facts
from gpudx.facts.objects import KINDS
from gpudx.facts.watch import Change
from gpudx.facts.writers import NEAR, Span, Work, holds

FAR = 1 << 16  # memory that is farther away says nothing
BESIDE = 4096  # memory of a launch that ends so near before what changed is what it ran out of
MOST = 1000  # that are told
WATCHED = [KINDS.index(kind) for kind in ("buffer", "memory")]


@dataclass(frozen=True)
class Neighbour:
    """Memory that a launch was given to write, and how far it is from what changed."""

    argument: int
    object: int
    distance: int
    behind: bool  # it begins after what changed


@dataclass(frozen=True)
class Bystander:
    """Bytes of `root`, from `first` to `last`, that nobody was given.

    part, begin    the sub-object that they lie in, or the root itself; and where in the root that begins
    between_parts  the root is used in parts, and they lie in none
    suspects       launches that may have done it, the nearest first
    doubts         what else may have done it
    """

    change: Change
    root: int
    first: int
    last: int
    part: int
    begin: int
    between_parts: bool
    suspects: tuple[int, ...]
    near: dict[int, Neighbour] = field(default_factory=dict)
    read_only: bool = False
    by_address: bool = False
    doubts: tuple[str, ...] = ()
    whole: bool = True  # no call that may matter is missing from the record

    @property
    def only(self) -> int | None:
        return self.suspects[0] if len(self.suspects) == 1 else None

    @property
    def nearest(self) -> Neighbour | None:
        return self.near.get(self.suspects[0]) if self.suspects else None

    @property
    def certain(self) -> bool:
        """Did this launch do it, and nothing else? Where launches know memory by address, only if its own is right beside."""
        near = self.nearest
        beside = near is not None and near.distance <= BESIDE
        sure = self.only is not None and self.change.each and not self.doubts and self.whole
        return sure and (beside or not self.by_address)


def bystanders(facts: Facts) -> Iterator[Bystander]:
    """In order of time. Changes of a time whose calls are not all in the record are not judged."""
    told = 0
    for change in facts.watch.changes:
        if change.since < facts.trace.whole_since or told >= MOST:
            continue
        root, _ = facts.writers.root(change.object)
        if facts.objects.table["kind"][root] not in WATCHED or facts.writers.mapped(root, change.since, change.position):
            continue
        work = facts.writers.between(change.since, change.position)
        for span in _not_given(facts, work, root, change):
            told += 1
            yield _bystander(facts, work, root, change, span)


# ---- what was given ----


def _spans(facts: Facts, work: Work, root: int) -> list[Span]:
    """What was given for writing, in bytes of the root."""
    found = list(work.spans.get(root, ()))
    if _by_address(facts, root):
        begin, size = _place(facts, root)
        found += [(first - begin, end - begin) for first, end in work.addresses if first < begin + size and end > begin]
        if holds(work.words, begin - NEAR, begin + size):
            found.append((0, size))
    return sorted(found)


def _not_given(facts: Facts, work: Work, root: int, change: Change) -> list[Span]:
    """The beginning and the end of what changed, as far as they were not given; only these are known to have changed."""
    spans = _spans(facts, work, root)
    first_is_in = any(begin <= change.first < end for begin, end in spans)
    last_is_in = any(begin <= change.last < end for begin, end in spans)
    if not spans or not (first_is_in or last_is_in or any(change.first < begin <= change.last for begin, _ in spans)):
        return [(change.first, change.last)]
    found = []
    if not first_is_in:
        behind = min((begin for begin, _ in spans if change.first < begin <= change.last), default=change.last + 1)
        found.append((change.first, behind - 1))
    if not last_is_in:
        before = max((end for _, end in spans if change.first < end <= change.last), default=change.first)
        found.append((before, change.last))
    return found


def _by_address(facts: Facts, root: int) -> bool:
    return facts.objects.kind(root) == "memory"


def _place(facts: Facts, row: int) -> tuple[int, int]:
    return int(facts.objects.table["handle"][row]), int(facts.objects.table["size"][row])


# ---- who may have been it ----


def _bystander(facts: Facts, work: Work, root: int, change: Change, span: Span) -> Bystander:
    first, last = span
    part, begin, between = _part(facts, root, first, change.position)
    by_address = _by_address(facts, root)
    near = {p: n for p in work.launches if (n := _nearest(facts, work, root, p, span)) is not None}
    ranked = sorted(work.launches, key=lambda p: (near[p].distance if p in near else 1 << 62, -p))
    read_only = _read_only(facts, work, root, span)
    return Bystander(
        change=change,
        root=root,
        first=first,
        last=last,
        part=part,
        begin=begin,
        between_parts=between,
        suspects=tuple(ranked),
        near=near,
        read_only=read_only,
        by_address=by_address,
        doubts=tuple(_doubts(facts, work, root, change, read_only and by_address)),
        whole=not int(facts.trace.header["dropped"]),
    )


def _part(facts: Facts, root: int, at: int, position: int) -> tuple[int, int, bool]:
    """The smallest live object inside the root that holds a byte of it; whether there are others, but none holds it."""
    table, found, others = facts.objects.table, [], False
    for row in np.flatnonzero(table["parent"] >= 0).tolist():
        if facts.writers.root(row)[0] != root or not int(table["since"][row]) <= position <= int(table["gone"][row]):
            continue
        _, (begin, end) = facts.writers.span(row)
        others = True
        if begin <= at < end and int(table["size"][row]):
            found.append((end - begin, row, begin))
    if not found:
        return root, 0, others
    _, row, begin = min(found)
    return row, begin, False


def _read_only(facts: Facts, work: Work, root: int, span: Span) -> bool:
    """Was a launch given these bytes, but only to read?"""
    if _by_address(facts, root):
        begin, size = _place(facts, root)
        return holds(work.read_words, begin, begin + size)
    return any(not one.writes and one.span[0] <= span[0] < one.span[1] for one in work.given.get(root, ()))


def _nearest(facts: Facts, work: Work, root: int, position: int, span: Span) -> Neighbour | None:
    """The memory that a launch was given for writing and that lies least far from what changed, where that is known."""
    found = []
    for argument, obj, begin, end in _writable(facts, work, root, position):
        if end <= span[0]:
            found.append(Neighbour(argument, obj, span[0] - end, False))
        elif begin > span[1]:
            found.append(Neighbour(argument, obj, begin - span[1] - 1, True))
    return min((one for one in found if one.distance <= FAR), key=lambda one: (one.distance, one.behind), default=None)


def _writable(facts: Facts, work: Work, root: int, position: int) -> Iterator[tuple[int, int, int, int]]:
    """(argument, object, first byte, byte behind its last), counted from the start of the root."""
    launch = facts.launches.at_position(position)
    if launch is None:
        return
    if facts.launches.by_address[launch]:
        pointers, base = facts.launches.pointers, _place(facts, root)[0]
        for row in pointers.of(launch):
            obj = int(pointers.object[row])
            if obj >= 0 and pointers.live[row] and _by_address(facts, root):
                begin, size = _place(facts, obj)
                yield int(pointers.index[row]), obj, begin - base, begin + size - base
        return
    addresses = facts.watch.addresses
    for its_root, all_given in work.given.items():
        shift = 0 if its_root == root else None
        if shift is None and its_root in addresses and root in addresses:
            shift = addresses[its_root] - addresses[root]
        for one in all_given:
            if one.position == position and one.writes and shift is not None:
                yield one.argument, one.object, one.span[0] + shift, one.span[1] + shift


def _doubts(facts: Facts, work: Work, root: int, change: Change, given_as_const: bool) -> Iterator[str]:
    begin, size = _place(facts, root)
    if work.blind:
        names = sorted({facts.trace.info(p).name for p in work.blind})
        yield f"what was given to {', '.join(names[:4])}, in the same time, is not known"
    if change.held:
        yield "an address of this memory was seen in other memory: a kernel may have it from there"
    if given_as_const:
        yield "it was given as a pointer to const, from which a kernel may take the const away"
    if _by_address(facts, root) and facts.writers.mentioned(begin, begin + size):
        yield "the memory was given to other calls too, by which other processes or descriptors of the device may write it"
    if not work.launches:
        yield "no launch is recorded that may have run in between"
