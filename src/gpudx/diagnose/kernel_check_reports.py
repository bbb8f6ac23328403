"""What checked kernels reported, read from a trace, with the meaning of its numbers from the case."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from gpudx.facts import Facts
from gpudx.kernel_checks.plan import PROGRAMS, Site, Thing, Way
from gpudx.kernel_checks.prelude import KINDS

LISTS = ("watched", "things", "exits", "uses")  # of a site, that JSON keeps as lists
UNKNOWN = (1 << 32) - 1
READS, WRITES, ATOMIC = 1, 2, 4
BARRIER = re.compile(r"\b(?:work_group_)?barrier\s*\(")
MET = 3  # bits of what the other work-item did (prelude.py)
FLAGS_AT = 8  # bits of `how` below them


@dataclass(frozen=True)
class Failure:
    """One place that failed in one launch: its first report, and how often it failed."""

    facts: Facts
    position: int  # of the launch's call
    kind: str  # one of KINDS
    site: Site
    thing: Thing | None  # the argument or array concerned
    writes: bool
    reads: bool
    atomic: bool
    width: int
    offset: int  # from the start of `thing`, in bytes
    size: int  # of `thing`
    item: tuple[int, int, int]
    local: tuple[int, int, int]
    group: tuple[int, int, int]
    more: int
    count: int
    other: Site | None = None  # of a barrier: the condition that divided the group
    sites: tuple[Site, ...] = ()  # of the whole program
    things: tuple[Thing, ...] = ()  # of the whole program
    flags: int = 0  # of a loop: what its last turn left alone (prelude.py)
    source: str = ""  # of the program
    stores: bool = False  # of a race: it stored another value where another work-item had stored one

    def place(self, line: int, text: str = "") -> tuple[str, int]:
        """The file, "" for the program's own text, and the line of what is at a line of that text (0: of the access)."""
        if not line:
            return self.site.file, self.site.line
        return (self.source and self.facts.kernel_files.place(self.source, line, text)) or ("", line)

    @property
    def body(self) -> str:
        """The function of the access, from its parameters to the next kernel; "" where the text does not have it."""
        return self._text_of(self.site.kernel)

    @property
    def has_barrier(self) -> bool:
        """Does the text of the kernel, or of the function of the access, have one?"""
        kernel = self.facts.sites.at(self.position).kernel or ""
        return any(BARRIER.search(self._text_of(name)) for name in (kernel, self.site.kernel) if name)

    def _text_of(self, function: str) -> str:
        found = re.search(rf"\b{re.escape(function)}\s*\((.*?)(?:\bkernel\b|\b__kernel\b|\Z)", self.source, re.DOTALL)
        return found[1] if found else ""


@dataclass(frozen=True)
class Program:
    sites: tuple[Site, ...]
    things: tuple[Thing, ...]
    kernels: tuple[dict[str, Any], ...]
    checks: tuple[str, ...]
    source: str = ""  # as the program gave it to the driver
    uses_heap: bool = False  # does a kernel take memory that no call of the host allocated?


@cache
def program(folder: Path, number: int) -> Program | None:
    """What a rewritten source consists of; None when it is not kept."""
    try:
        data = json.loads((folder / PROGRAMS / f"{number}.json").read_text())
    except (OSError, ValueError):
        return None
    return Program(
        tuple(_site(one) for one in data["sites"]),
        tuple(Thing(**one) for one in data["things"]),
        tuple(data["kernels"]),
        tuple(data["checks"]),
        str(data.get("source", "")),
        bool(data.get("uses_heap")),
    )


def _site(kept: dict[str, Any]) -> Site:
    ways = tuple(Way(**one) for one in kept.get("ways", ()))
    guards = tuple((int(at), str(text)) for at, text in kept.get("guards", ()))
    before = kept.get("before")
    more = {"ways": ways, "guards": guards, "before": None if before is None else tuple(before)}
    more["inside"] = tuple((str(kind), int(line), str(text)) for kind, line, text in kept.get("inside", ()))
    more["loads"] = tuple((str(text), int(argument), str(index)) for text, argument, index in kept.get("loads", ()))
    return Site(**{**kept, **more, **{name: tuple(kept.get(name, ())) for name in LISTS}})


def failures(facts: Facts, folder: Path) -> Iterator[Failure]:
    """In order of launches; one per launch, place and kind."""
    trace = facts.trace
    counts = _counts(facts)
    begins = trace.column("begin")
    order = np.argsort(begins, kind="stable")
    ordered = begins[order]
    seen: set[tuple[int, int, int]] = set()
    stores = _stores(facts)
    in_files: dict[int, Program] = {}
    for position in _notes(facts, "note_kernel_check"):
        words, values = trace.record(position), trace.named_numbers(position)
        key = (words["began"], values["site"], values["kind"])
        known = program(folder, words["program"])
        at = int(np.searchsorted(ordered, np.uint64(words["began"])))
        missing = at == len(ordered) or int(ordered[at]) != words["began"]
        if key in seen or known is None or missing or not 0 < values["site"] <= len(known.sites):
            continue
        seen.add(key)
        known = in_files.get(words["program"]) or in_files.setdefault(words["program"], _in_files(known, facts))
        failure = _failure(facts, int(order[at]), known, values, counts[words["began"], values["site"]])
        yield replace(failure, stores=failure.kind == "race" and key[:2] in stores)


def _in_files(known: Program, facts: Facts) -> Program:
    """With the lines of the user's files, where the text is found in them."""
    if not known.source:
        return known
    return replace(known, sites=tuple(_in_file(one, known.source, facts) for one in known.sites))


def _in_file(site: Site, source: str, facts: Facts) -> Site:
    ways = tuple(_moved(one, source, facts) for one in site.ways)
    return replace(_moved(site, source, facts), ways=ways)


Placed = TypeVar("Placed", Site, Way)


def _moved(one: Placed, source: str, facts: Facts) -> Placed:
    found = facts.kernel_files.place(source, one.line, one.text, one.nth) if one.line and not one.file else None
    return replace(one, file=found[0], line=found[1]) if found else one


def _notes(facts: Facts, name: str) -> list[int]:
    return [int(p) for p in facts.trace.named(name)]


def _counts(facts: Facts) -> Counter[tuple[int, int]]:
    out: Counter[tuple[int, int]] = Counter()
    for position in _notes(facts, "note_kernel_check_count"):
        words = facts.trace.record(position)
        out[words["began"], words["site"]] += words["count"]
    return out


def _stores(facts: Facts) -> set[tuple[int, int]]:
    """Launches and sites that have a record of a value stored over another work-item's. It need not be the first record."""
    found = set()
    for position in _notes(facts, "note_kernel_check"):
        values = facts.trace.named_numbers(position)
        if KINDS[values["kind"]] == "race" and values["how"] & (READS | WRITES) == WRITES and values["more_high"] & MET == WRITES:
            found.add((facts.trace.record(position)["began"], values["site"]))
    return found


def _failure(facts: Facts, position: int, known: Program, values: dict[str, int], count: int) -> Failure:
    def wide(name: str) -> int:
        return values[f"{name}_low"] | values[f"{name}_high"] << 32

    offset, how, number = wide("offset"), values["how"], values["object"]
    more = wide("more")
    kind = KINDS[values["kind"]]
    return Failure(
        facts=facts,
        position=position,
        kind=kind,
        site=known.sites[values["site"] - 1],
        thing=known.things[number] if number < len(known.things) else None,
        writes=bool(how & WRITES),
        reads=bool(how & 1),
        atomic=bool(how & ATOMIC),
        width=values["width"],
        offset=offset - (1 << 64) if offset >> 63 else offset,
        size=wide("size"),
        item=(wide("x"), wide("y"), wide("z")),
        local=(values["local_x"], values["local_y"], values["local_z"]),
        group=(values["group_x"], values["group_y"], values["group_z"]),
        more=more,
        count=max(count, 1),
        other=known.sites[more - 1] if kind == "barrier" and 0 < more <= len(known.sites) else None,
        sites=known.sites,
        things=known.things,
        flags=how >> FLAGS_AT,
        source=known.source,
    )


def not_checked(facts: Facts) -> Counter[tuple[str, str]]:
    """Why programs, or kernels by name, ran without checks, and how many."""
    return Counter((facts.trace.text(p), facts.trace.text(p, "text2")) for p in _notes(facts, "note_not_checked"))


def launched_without(facts: Facts) -> Counter[tuple[str, str, tuple[str, ...]]]:
    """The same of OpenCL programs, with the kernels of each that were launched."""
    notes = _notes(facts, "note_not_checked")
    return Counter((facts.trace.text(p), facts.trace.text(p, "text2"), _launched_of(facts, p)) for p in notes)


def _launched_of(facts: Facts, position: int) -> tuple[str, ...]:
    """The kernels of the program that a note is about which were launched after it."""
    launches, program = facts.launches, facts.trace.record(position)["program"]
    after = np.flatnonzero(launches.position > position)
    _, first = np.unique(launches.kernel_row[after], return_index=True)
    rows = [int(after[at]) for at in sorted(first.tolist())]
    return tuple(dict.fromkeys(launches.name(row) for row in rows if (info := launches.info(row)) and info.program == program))


def programs(folder: Path) -> list[Program]:
    """All that were rewritten."""
    numbers = sorted(int(path.stem) for path in (folder / PROGRAMS).glob("*.json") if path.stem.isdigit())
    return [one for one in (program(folder, number) for number in numbers) if one is not None]
