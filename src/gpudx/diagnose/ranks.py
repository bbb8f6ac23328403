"""Ranks of one job, compared: do they issue the same collectives, and which of them did not come to one that others wait in?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpudx.facts import Facts
from gpudx.facts.collectives import Collective, rank_of
from gpudx.model import Evidence, Finding, Outcome, ProcessInfo, Site
from gpudx.text import listed, plural

MISMATCH, MISSING = "collective-mismatch", "rank-missing"
MOST_NAMED = 8


@dataclass(frozen=True)
class Member:
    """One rank of a communicator, and what it issued there."""

    facts: Facts
    rank: int  # in the job, where a launcher gave it a number, else in the communicator
    issued: Mapping[int, Collective]

    @property
    def last(self) -> int:
        return max(self.issued, default=0)


def find(facts: Sequence[Facts], processes: Sequence[ProcessInfo], outcome: Outcome) -> Iterator[Finding]:
    """At most one finding per communicator."""
    ranks = {one.pid: one.rank for one in processes}
    for number in _communicators(facts):
        members = _members(number, facts, ranks)
        if len(members) < 2:
            continue
        different = _mismatch(members)
        if different is not None:
            yield different
        elif outcome.kind == "timeout":
            yield from _missing(members)


def _communicators(facts: Sequence[Facts]) -> list[int]:
    return list(dict.fromkeys(number for one in facts for number in one.collectives.ranks))


def _members(number: int, facts: Sequence[Facts], ranks: Mapping[int, str]) -> list[Member]:
    inside = [one for one in facts if number in one.collectives.ranks]
    found = [
        Member(one, _rank(one, number, ranks), one.collectives.by_communicator.get(number, {})) for one in inside
    ]
    return sorted(found, key=lambda member: member.rank)


def _rank(facts: Facts, number: int, ranks: Mapping[int, str]) -> int:
    given = rank_of(facts.trace) or ranks.get(facts.trace.pid, "")
    return int(given) if given.isdecimal() else facts.collectives.ranks[number][0]


# ---- not the same ----


def _mismatch(members: Sequence[Member]) -> Finding | None:
    """The first collective in which two ranks differ: all later ones are shifted, or follow from it."""
    numbers = sorted(set().union(*(member.issued for member in members)))
    for number in numbers:
        here = [(member, member.issued[number]) for member in members if number in member.issued]
        if len({one.what for _, one in here}) > 1:
            return _different(number, here)
    return None


def _different(number: int, here: Sequence[tuple[Member, Collective]]) -> Finding:
    """A single rank that differs from all others, of three or more, is named; else the two groups are."""
    votes = Counter(one.what for _, one in here).most_common()
    odd = [pair for pair in here if pair[1].what != votes[0][0]]
    rest = [pair for pair in here if pair[1].what == votes[0][0]]
    alone = votes[0][1] > len(here) / 2
    member, call = odd[0]
    groups = [f"{_named([one for one, own in here if own.what == what])}: {_text(what, here)}" for what, _ in votes]
    head = (
        f"Collective {number} differs between ranks: {_named([one for one, _ in odd])} issued {call.text}, "
        f"{_named([one for one, _ in rest])} issued {rest[0][1].text}."
    )
    return Finding(
        id=MISMATCH,
        severity="error",
        message=head,
        evidence=tuple(Evidence(text, raw=None) for text in groups[:MOST_NAMED]),
        site=_site(member, call),
        others=tuple(_site(one, own) for one, own in rest[:1]),
        causes=(MISMATCH,),
        facts=(("kinds", " ".join(sorted({own.text.split()[0] for _, own in here}))),),
        certainty="recorded",
        attribution="this" if alone else "one of",
        because="All ranks of a communicator must issue the same collectives in the same order."
        + ("" if alone else " It is not shown which of the groups is wrong."),
        pid=member.facts.trace.pid,
    )


def _text(what: tuple[int, ...], here: Sequence[tuple[Member, Collective]]) -> str:
    return next(own.text for _, own in here if own.what == what)


# ---- not there ----


def _missing(members: Sequence[Member]) -> Iterator[Finding]:
    """After a hang: ranks that never issued a collective that others had issued."""
    latest = max(member.last for member in members)
    behind = [member for member in members if member.last < latest]
    if not behind:
        return
    first = min(member.last for member in behind)
    absent = [member for member in behind if member.last == first]
    waiting = [member for member in members if first + 1 in member.issued]
    if not waiting:
        return
    wanted = waiting[0].issued[first + 1]
    member = absent[0]
    site = _last_site(member)
    yield Finding(
        id=MISSING,
        severity="error",
        message=(
            f"{_named(absent, capital=True)} never issued collective {first + 1} ({wanted.text}), in which {_named(waiting)} "
            f"{'waits' if len(waiting) == 1 else 'wait'}."
        ),
        evidence=(
            *_progress(members),
            *((Evidence(f"the last GPU call of rank {member.rank} was {site.call}", (site.number,)),) if site else ()),
        ),
        site=site,
        others=(_site(waiting[0], wanted),),
        causes=(MISSING,),
        facts=(("collective", wanted.text.split()[0]),),
        certainty="recorded",
        attribution="this",
        because="A collective ends only when all ranks of its communicator have issued it.",
        pid=member.facts.trace.pid,
    )


def _progress(members: Sequence[Member]) -> Iterator[Evidence]:
    for member in members[:MOST_NAMED]:
        last = f"collective {member.last}: {member.issued[member.last].text}" if member.issued else "none"
        yield Evidence(f"last collective of rank {member.rank} (process {member.facts.trace.pid}): {last}")


def _last_site(member: Member) -> Site | None:
    """The last launch or collective of a process: where it stopped."""
    own = [one.position for one in member.issued.values()]
    launches = member.facts.launches.position
    latest = max([*own, *([int(launches[-1])] if len(launches) else [])], default=None)
    if latest is None:
        return None
    last = member.issued.get(member.last)
    return _site(member, last) if last and last.position == latest else member.facts.sites.at(latest)


def _site(member: Member, call: Collective) -> Site:
    return replace(member.facts.sites.at(call.position), call=call.text)


def _named(members: Sequence[Member], capital: bool = False) -> str:
    names = [str(member.rank) for member in members[:MOST_NAMED]]
    more = [plural(len(members) - MOST_NAMED, "other")] if len(members) > MOST_NAMED else []
    word = "rank" if len(members) == 1 else "ranks"
    return f"{word.capitalize() if capital else word} {listed([*names, *more])}"
