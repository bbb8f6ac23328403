"""The words of the program's own API in sentences that are written once for all of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from gpudx.model import Allocation, Case, Diagnosis, Evidence, Finding

STREAMS = ("cuda", "hip")
QUEUE = re.compile(r"\b([Qq])ueue(s?)\b(?!-)")
VERSIONED = re.compile(
    r"\b(cu[A-Z]\w*?)_v\d+\b"
)  # the headers rename cuMemFree to cuMemFree_v2; nobody writes that name
MEMORY = re.compile(r"\bmemory #(?=\d)")

Reword = Callable[[str], str]


def reworded(case: Case) -> Case:
    """The case with streams for CUDA and HIP, documented names of functions, and buffers by number."""
    apis = {one.site.api for one in case.findings if one.site} | {
        one.guilty.api for one in case.diagnosis if one.guilty
    }
    known = apis - {""}
    api = known.pop() if len(known) == 1 else ""
    return replace(
        case,
        diagnosis=tuple(
            _entry(one, _for(one.guilty.api if one.guilty and one.guilty.api else api)) for one in case.diagnosis
        ),
        findings=tuple(
            _finding(one, _for(one.site.api if one.site and one.site.api else api)) for one in case.findings
        ),
    )


def _for(api: str) -> Reword:
    def reword(text: str) -> str:
        text = MEMORY.sub("buffer #", VERSIONED.sub(r"\1", text))
        return QUEUE.sub(_stream, text) if api in STREAMS else text

    return reword


def _stream(match: re.Match[str]) -> str:
    return ("Stream" if match[1] == "Q" else "stream") + match[2]


def _entry(entry: Diagnosis, reword: Reword) -> Diagnosis:
    victim = entry.victim
    guilty = entry.guilty
    return replace(
        entry,
        summary=reword(entry.summary),
        evidence=_facts(entry.evidence, reword),
        not_counted=_facts(entry.not_counted, reword),
        refutes_if=reword(entry.refutes_if),
        fix=tuple(map(reword, entry.fix)),
        reason=reword(entry.reason),
        victim=replace(victim, description=reword(victim.description)) if victim else None,
        guilty=replace(guilty, call=reword(guilty.call), allocation=_memory(guilty.allocation, reword))
        if guilty
        else None,
    )


def _memory(memory: Allocation | None, reword: Reword) -> Allocation | None:
    return replace(memory, id=reword(memory.id)) if memory else None


def _finding(finding: Finding, reword: Reword) -> Finding:
    return replace(finding, message=reword(finding.message), evidence=_facts(finding.evidence, reword))


def _facts(evidence: tuple[Evidence, ...], reword: Reword) -> tuple[Evidence, ...]:
    return tuple(replace(one, text=reword(one.text)) for one in evidence)
