"""What a watched run looked at, as an instrument of the case; and what a second run, launch by launch, adds to the first.

A run without a look was not watched, whatever was asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from gpudx.diagnose.judge import diagnose
from gpudx.facts import Facts
from gpudx.model import Case, Evidence, Finding, Instrument
from gpudx.text import plural

NAME = "watch"
ID = "bystander-changed"
AGAIN = "again"  # the second run's case, in the directory of the first
NOT_CHECKED = (
    "Changes inside memory that a launch was passed to write; where a pool of a framework divides an allocation into parts, these "
    "are not known, and count as one.",
    "Writes that leave the values as they were, and all reads.",
)
NOT_WATCHED = ("What kernels did outside their memory: nothing was watched.",)


def instrument(processes: Sequence[Facts]) -> Instrument:
    """The looks as an instrument: live if there was one at something."""
    counts: Counter[str] = sum((one.watch.counts for one in processes), Counter())
    missed: Counter[str] = sum((one.watch.missed for one in processes), Counter())
    live = counts["looks"] > 0 and counts["watched"] > 0
    words = [_looked(counts, missed), *_busy(counts), *_untold(counts, processes), *_stopped(processes)]
    return Instrument(NAME, "live" if live else "not live", " ".join(words))


def _looked(counts: Counter[str], missed: Counter[str]) -> str:
    every = plural(counts["watched"] + missed.total(), "piece of memory", "pieces of memory")
    without = ", ".join(f"{count:,} ({why})" for why, count in missed.most_common())
    tail = f"; not watched: {without}" if without else ""
    looks, changes = plural(counts["looks"], "time"), plural(counts["changed"], "change")
    return f"Compared {counts['watched']:,} of {every} {looks}: {counts['bytes']:,} bytes and {changes} in all{tail}."


def _busy(counts: Counter[str]) -> list[str]:
    if not counts["busy"]:
        return []
    return [f"{plural(counts['busy'], 'wait')} of the program were not used for a comparison, because other work was still running."]


def _untold(counts: Counter[str], processes: Sequence[Facts]) -> list[str]:
    why: Counter[str] = sum((one.bystanders.unjudged for one in processes), Counter())
    told = [f"{plural(count, 'change')} not judged: {reason}." for reason, count in why.most_common()]
    if counts["untold"]:
        told.append(f"{plural(counts['untold'], 'change')} not recorded, because there were too many at once.")
    return told


def _stopped(processes: Sequence[Facts]) -> list[str]:
    return [f"Watching ended early: {why}." for one in processes for why in one.watch.stopped]


def not_checked(tool: Instrument) -> tuple[str, ...]:
    """What looks do not see."""
    return NOT_CHECKED if tool.state == "live" else NOT_WATCHED


# ---- the second run ----


def unnamed(case: Case) -> tuple[int, ...]:
    """The sizes of memory that changed under work that was not given it, where the launch is not certain."""
    found = [_watched(f) for f in _bystanders(case) if f.severity != "info" and f.attribution != "this"]
    return tuple(sorted({size for size in found if size}))


def _watched(finding: Finding) -> int | None:
    """The size of the whole allocation: what a second run can look at again."""
    return finding.allocation.whole if finding.allocation else None


def _bystanders(case: Case) -> list[Finding]:
    return [f for f in case.findings if f.id == ID]


def joined(first: Case, second: Case) -> Case:
    """The first run's case with what the second one found out. Its launches replace the guesses of the first."""
    named = [_from_second(f) for f in _bystanders(second) if f.attribution in ("this", "probable")]
    known = {_watched(f) for f in named}
    kept = [f for f in first.findings if f.id != ID or _watched(f) not in known]
    findings = tuple(sorted([*kept, *named], key=lambda f: ("error", "warning", "info").index(f.severity)))
    looked = [replace(one, name=f"{NAME}, second run") for one in second.instruments if one.name == NAME]
    return replace(
        first,
        findings=findings,
        diagnosis=diagnose(findings, first.outcome) or first.diagnosis,
        instruments=(*first.instruments, *looked),
        observations=(*first.observations, *second.observations),
    )


def _from_second(finding: Finding) -> Finding:
    said = Evidence(f"seen in a second run, launch by launch; the calls are numbered as in its own case, {AGAIN}")
    return replace(finding, evidence=(*finding.evidence, said))
