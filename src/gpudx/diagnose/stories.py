"""Several logs of one failure as one story: what belongs together, in which order, and what is the same fault told twice.

    together   all logs, unless their clocks can be compared and say that they are far apart
    order      by time stamps of the same clock; else by kind: builds, then the device's own records, then their reporters;
               inside a log always by position
    the same   records of the device by different tools that can mean the same exception, and differ in no kernel, address or rank; shown
               once, by the one that says most (kernel, line), with the others as its evidence; address and process decide
               where several are possible

That two records are the same fault is an inference, and the words say so ("taken for").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpudx.evidence.reading import Event, Log, Told
from gpudx.evidence.sources import tile_builds
from gpudx.model import DeviceFault, Severity

# Ranks that wait for one that failed say so only when their watchdog runs out: 10 and 30 minutes are usual, and some set hours.
APART_RANKS_S = 3 * 3600.0
RANK_IN_NAME = re.compile(r"rank[-_.]?(\d+)", re.IGNORECASE)
APART_S = 600.0  # comparable stamps that are farther apart than this tell of two failures
ENDS = ("host-abort", "host-crash", "test-process-died")  # endings of whole processes
# An exception that nobody could name may be any of these.
UNNAMED = "device-exception"
DEATHS = ("python-exception", "exception", "host-crash", "host-abort", "process-ended")
COLLECTIVE = ("nccl-error", "nccl-warning")  # also of a network that failed by itself
WAITING = ("collective-timeout", "watchdog-stuck")  # ranks that say only that another one did not come
NAMED = frozenset(
    {"out-of-bounds-access", "misaligned-access", "device-trap", "device-assertion", "null-pointer", "barrier-misuse"}
)


@dataclass(frozen=True)
class Judged:
    """An entry with its place in the story: `follows` is the entry that it is a consequence of, or the `same` fault."""

    told: Told
    log: str
    severity: Severity
    follows: Told | None = None
    follows_log: str = ""
    same: bool = False

    @property
    def place(self) -> str:
        return place(self.told, self.log)


def place(told: Told, log: str) -> str:
    """ "line 7 of a.log"; of a file that is one record, its name."""
    return f"line {told.event.line:,} of {log}" if told.event.line else log


@dataclass(frozen=True)
class Entry:
    """An event and the log it is of. `segment` counts the processes that have ended in this log before it."""

    told: Told
    log: str
    segment: int


# ---- which logs, in which order ----


def stories(logs: Sequence[Log]) -> list[list[Entry]]:
    """The entries of all logs, in order; several lists where logs are of different times."""
    groups: list[list[Log]] = []
    for log in logs:
        near = next((group for group in groups if all(_together(log, other) for other in group)), None)
        if near is None:
            groups.append([log])
        else:
            near.append(log)
    return [_ordered(group) for group in groups]


def _together(one: Log, other: Log) -> bool:
    first, second = _span(one), _span(other)
    if first is None or second is None or first[0] != second[0]:
        return True  # nothing speaks against it
    ranks = [_ranks_of(log) for log in (one, other)]
    apart = APART_RANKS_S if all(ranks) and ranks[0] != ranks[1] else APART_S
    return max(first[1], second[1]) - min(first[2], second[2]) <= apart


def rank_of(event: Event, log: str) -> str:
    """The rank that a line names, or else the name of its log; "" where neither does."""
    return dict(event.context).get("rank", "") or next(iter(RANK_IN_NAME.findall(log)), "")


def _ranks_of(log: Log) -> set[str]:
    return {rank for one in log.told if (rank := rank_of(one.event, log.name))}


def _span(log: Log) -> tuple[str, float, float] | None:
    """The clock of a log, with its first and last event."""
    times = [(one.event.clock, one.event.time) for one in log.told if one.event.clock]
    if not times or len({clock for clock, _ in times}) > 1:
        return None
    return times[0][0], min(time for _, time in times), max(time for _, time in times)


def _ordered(logs: list[Log]) -> list[Entry]:
    """Logs of one clock are merged; such a block, and each other log, has its place by what it tells."""
    blocks: dict[str, list[Log]] = {}
    for index, log in enumerate(logs):
        span = _span(log)
        blocks.setdefault(span[0] if span else f"log {index}", []).append(log)
    ranked = sorted(blocks.values(), key=lambda block: min(map(_rank, block)))
    return [entry for block in ranked for entry in _merged(block)]


def _rank(log: Log) -> int:
    """What is built comes before what runs, and what the device says before what only reports it."""
    if log.builds or log.sources:
        return 0
    roles = [one.event.role for one in log.told if not one.event.warning]
    return 1 if "fault" in roles else 2


def _merged(block: list[Log]) -> list[Entry]:
    stamped: list[tuple[float, int, int, Entry]] = []
    for number, log in enumerate(block):
        latest, segment = float("-inf"), 0
        for index, one in enumerate(log.told):
            latest = max(latest, one.event.time) if one.event.clock else latest
            stamped.append((latest if len(block) > 1 else 0.0, number, index, Entry(one, log.name, segment)))
            segment += one.event.kind in ENDS
    return [entry for _, _, _, entry in sorted(stamped, key=lambda item: item[:3])]


# ---- the same fault, told twice ----


def told_once(judged: Sequence[Judged], entries: Sequence[Entry]) -> tuple[Judged, ...]:
    """Records that can be the same fault are put under the one that says most; reports before it, too."""
    out = list(judged)
    standing = [i for i, one in enumerate(out) if one.severity == "error" and one.follows is None]
    faults = [i for i in standing if out[i].told.event.role == "fault"]
    leads: list[int] = []
    for i in sorted(faults, key=lambda i: (-says(out[i].told.event), i)):
        lead = _nearest(i, leads, entries)
        if lead is None:
            leads.append(i)
        else:
            out[i] = _under(out[i], out[lead], same=True)
    for i in standing:
        lead = _nearest(i, leads, entries)
        if out[i].told.event.role == "report" and lead is not None:
            out[i] = _under(out[i], out[lead], same=False)
    return tuple(_resettled(_waited(out)))


def _waited(judged: list[Judged]) -> list[Judged]:
    """A rank that waited in vain follows from a rank that failed: it never joined the collective."""
    failed = [
        one
        for one in judged
        if one.severity == "error"
        and one.follows is None
        and one.told.event.kind not in WAITING
        and one.told.event.role != "ending"
    ]
    failed = failed or [one for one in judged if one.follows is None and _ended_rank(one)]
    if not failed:
        return judged
    ranks = {rank_of(one.told.event, one.log) for one in failed if one.told.event.kind not in COLLECTIVE} - {""}
    of_device = [one for one in failed if one.told.event.kind not in COLLECTIVE and _of_device(one.told.event)]
    return [
        _under(one, failed[0], same=False)
        if one.told.event.kind in WAITING and one.follows is None
        else _under(one, of_device[0], same=False)
        if of_device and one.told.event.kind in COLLECTIVE and one.follows is None and _other_rank(one, ranks)
        else one
        for one in judged
    ]


def _ended_rank(one: Judged) -> bool:
    """Did the program of a rank end, for whatever reason? It did not join what the others waited in."""
    return one.told.event.kind in DEATHS and bool(rank_of(one.told.event, one.log))


def _of_device(event: Event) -> bool:
    return event.role == "fault" or "device-error-reported" in event.causes or event.kind.startswith("ecc")


def _other_rank(one: Judged, ranks: set[str]) -> bool:
    """Is it of a rank that no failure of a device is known of, where the ranks of some are?"""
    own = rank_of(one.told.event, one.log)
    return bool(ranks and own and own not in ranks)


def _nearest(i: int, leads: Sequence[int], entries: Sequence[Entry]) -> int | None:
    """Of the faults that this entry can be, the one with the same address or process; else the first."""
    possible = [k for k in leads if k != i and _mergeable(entries[i], entries[k])]
    return max(possible, key=lambda k: (len(shared(entries[i].told.event, entries[k].told.event)), -k), default=None)


def shared(first: Event, second: Event) -> tuple[str, ...]:
    """What two records have in common beside their kind: the address, the process, the rank."""
    found = []
    places = [place for place in (_place_of(first), _place_of(second)) if place and place.address]
    if len(places) == 2 and _same_place(*places):
        found.append(f"address {min(places, key=lambda place: place.span).address:#x}")
    contexts = [dict(event.context) for event in (first, second)]
    for name in ("process", "rank"):
        values = {context.get(name, "") for context in contexts}
        if len(values) == 1 and "" not in values:
            found.append(f"{name} {values.pop()}")
    return tuple(found)


def _place_of(event: Event) -> DeviceFault | None:
    """Where the access went, as the record or the tool's own parser has it."""
    access = event.finding.access if event.finding else None
    return event.fault or (DeviceFault("", event.quote, access.address) if access else None)


def _same_place(first: DeviceFault, second: DeviceFault) -> bool:
    """Pages and exact addresses are compared by the larger span."""
    span = max(first.span, second.span, 1)
    return (first.address or 0) // span == (second.address or 0) // span


def _resettled(judged: list[Judged]) -> list[Judged]:
    """Who followed an entry that is now under another one follows that one."""
    above = {id(one.told): one for one in judged if one.follows is not None}
    for index, one in enumerate(judged):
        leader = above.get(id(one.follows)) if one.follows is not None else None
        if leader is not None and leader.follows is not None:
            judged[index] = replace(one, follows=leader.follows, follows_log=leader.follows_log)
    return judged


def _under(one: Judged, lead: Judged, same: bool) -> Judged:
    return replace(one, severity="info", follows=lead.told, follows_log=lead.log, same=same)


def _mergeable(one: Entry, lead: Entry) -> bool:
    first, second = one.told.event, lead.told.event
    if first.format == second.format or (one.log == lead.log and one.segment != lead.segment):
        return False
    return may_be_same(first, second)


def may_be_same(first: Event, second: Event) -> bool:
    """Can two events tell of one exception? Where both name kernels, one must be the same."""
    places = [event.fault for event in (first, second) if event.fault and event.fault.address]
    if len(places) == 2 and not _same_place(*places):
        return False
    ranks = {dict(event.context).get("rank") for event in (first, second)} - {None}
    if len(ranks) > 1:
        return False
    processes = {dict(event.context).get("process") for event in (first, second)} - {None}
    if len(processes) > 1 and len(places) < 2:
        return False
    names = [kernels_of(event) for event in (first, second)]
    kinds = [set(event.causes) & (NAMED | {UNNAMED}) for event in (first, second)]
    if not all(kinds) or (all(names) and not names[0] & names[1]):
        return False
    return bool(kinds[0] & kinds[1]) or UNNAMED in kinds[0] | kinds[1]


def kernels_of(event: Event) -> set[str]:
    """The bare name of the kernel that an event names, or of those that it can be."""
    access, code = (event.finding.access, event.finding.code) if event.finding else (None, None)
    name = (access and access.kernel) or (code and code.kernel) or dict(event.facts).get("kernel") or ""
    bare = re.sub(r"<.*", "", name.split("(")[0]).removeprefix("void ").split("::")[-1].strip()
    return {bare} if bare else set(event.kernels)


def says(event: Event) -> int:
    """How much a record says: what was built wrong says most, a kernel counts two, a line one."""
    access = event.finding.access if event.finding else None
    return 4 * (event.kind == tile_builds.KIND) + 2 * bool(kernels_of(event)) + bool(access and access.source)
