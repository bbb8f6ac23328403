"""The same diagnosis in several processes is one entry that says in which, which failed first, and which only followed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gpudx.model import Diagnosis, Evidence, ProcessInfo
from gpudx.text import listed, plural

MOST_NAMED = 8


def folded(found: Iterable[Diagnosis], processes: Sequence[ProcessInfo]) -> tuple[Diagnosis, ...]:
    """Best first, as `found` is: of equal entries the best stays, with the processes of all."""
    groups: dict[tuple[str, tuple[str, ...]], list[Diagnosis]] = {}
    for entry in found:
        groups.setdefault((entry.cause, entry.findings), []).append(entry)
    merged = [replace(group[0], processes=_pids(group)) for group in groups.values()]
    if len(processes) < 2:
        return tuple(merged)
    return tuple(_told(entry, processes, first=number == 0) for number, entry in enumerate(merged))


def _pids(group: Sequence[Diagnosis]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(pid for entry in group for pid in entry.processes))


def _told(entry: Diagnosis, processes: Sequence[ProcessInfo], first: bool) -> Diagnosis:
    if not entry.processes:
        return entry
    seen = [_which(entry, processes), *(_followers(entry, processes) if first else ())]
    return replace(entry, evidence=(*entry.evidence, *seen))


def _which(entry: Diagnosis, processes: Sequence[ProcessInfo]) -> Evidence:
    mine = [one for one in processes if one.pid in entry.processes]
    text = f"seen in {len(entry.processes)} of {len(processes)} recorded processes{_ranks(mine)}: {_named(mine)}"
    failed = _by_end(one for one in processes if one.failed or one.pid in entry.processes)
    if len(entry.processes) > 1 and failed and failed[0].pid in entry.processes:
        text += f"; {f'rank {failed[0].rank}, ' if failed[0].rank else ''}process {failed[0].pid} failed first"
    return Evidence(text)


def first_to_fail(processes: Sequence[ProcessInfo]) -> list[Evidence]:
    """Of a job whose failure nothing explains: the rank to look at first, and those that came after it."""
    failed = _by_end(one for one in processes if one.failed)
    if len(processes) < 2 or not failed:
        return []
    first, later = failed[0], failed[1:]
    text = f"{f'rank {first.rank}, ' if first.rank else ''}process {first.pid} failed first ({first.how})"
    more = f"; {_named(later)} failed after it{_ranks(later)}" if later else ""
    return [Evidence(text + more)]


def _followers(entry: Diagnosis, processes: Sequence[ProcessInfo]) -> list[Evidence]:
    """Processes that failed after the first of these, or were killed, and do not have its fault."""
    ends = [one.ended_at for one in processes if one.pid in entry.processes and one.ended_at is not None]
    others = [one for one in processes if one.failed and one.pid not in entry.processes]
    later = [one for one in _by_end(others) if ends and (one.ended_at or 0.0) > min(ends)]
    killed = [one for one in others if one.ended_at is None]
    said = (
        [f"{plural(len(later), 'process', 'processes')} failed after it{_ranks(later)}: {_named(later)}"]
        if later
        else []
    )
    if killed:
        names = listed([str(one.pid) for one in killed[:MOST_NAMED]])
        many = plural(len(killed), "process was", "processes were")
        said.append(f"{many} killed{_ranks(killed)}: {names}")
    return [Evidence(text) for text in said]


def _by_end(processes: Iterable[ProcessInfo]) -> list[ProcessInfo]:
    return sorted((one for one in processes if one.ended_at is not None), key=lambda one: one.ended_at or 0.0)


def _ranks(processes: Sequence[ProcessInfo]) -> str:
    """ " (ranks 3 and 5)", "" where a launcher gave none."""
    known = sorted({int(one.rank) for one in processes if one.rank})
    names = [str(rank) for rank in known[:MOST_NAMED]] + (
        [f"{len(known) - MOST_NAMED} more"] if len(known) > MOST_NAMED else []
    )
    return f" (rank{'s' if len(known) > 1 else ''} {listed(names)})" if known else ""


def _named(processes: Sequence[ProcessInfo]) -> str:
    """ "12 (SIGSEGV), 15 (exit status 1) and 3 others"."""
    names = [f"{one.pid}{f' ({one.how})' if one.how else ''}" for one in processes[:MOST_NAMED]]
    more = len(processes) - len(names)
    return listed([*names, *([plural(more, "other")] if more > 0 else [])])
