"""The words of the program's own API in sentences that are written once for all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from gpudx.model import Allocation, Case, Diagnosis, Drawing, Evidence, Finding, Guilty, Site

STREAMS = ("cuda", "hip")
QUEUE = re.compile(r"\b([Qq])ueue(s?)\b(?!-)")
VERSIONED = re.compile(
    r"\b(cu[A-Z]\w*?)_v\d+\b"
)  # the headers rename cuMemFree to cuMemFree_v2; nobody writes that name
DRIVER = re.compile(r"\bcu[A-Z]\w*")
RUNTIME = re.compile(r"(cuda[A-Z]\w*?)(?:_ptsz|_ptds|_v\d+)?(?:\+0x[0-9a-f]+)?(?: |$)")  # a frame of the CUDA runtime
MEMORY = re.compile(r"\b(?P<capital>M)?(?(capital)|m)emory #(?=\d)")

Reword = Callable[[str], str]


def reworded(case: Case) -> Case:
    """The case with streams for CUDA and HIP, documented names of functions, and buffers by number."""
    api = _api(case)
    return replace(
        case,
        diagnosis=tuple(
            _entry(one, _for(one.guilty.api if one.guilty and one.guilty.api else api, _runtime_names(*_sites(one))))
            for one in case.diagnosis
        ),
        findings=tuple(
            _finding(one, _for(one.site.api if one.site and one.site.api else api, _runtime_names(one.site)))
            for one in case.findings
        ),
    )


def _api(case: Case) -> str:
    """The one that the case is about; "" where there are several."""
    apis = {one.site.api for one in case.findings if one.site} | {one.guilty.api for one in case.diagnosis if one.guilty}
    known = apis - {""}
    return known.pop() if len(known) == 1 else ""


def drawn(drawing: Drawing, case: Case) -> Drawing:
    """What is drawn, in the same words; what the program named, and its source, stay as they are."""
    reword = _for(_api(case), {})
    call = drawing.guilty
    return replace(
        drawing,
        timelines=tuple(replace(one, queues=tuple(map(reword, one.queues))) for one in drawing.timelines),
        maps=tuple(
            replace(
                one,
                kinds=tuple("buffer" if kind == "memory" else kind for kind in one.kinds),
                points=tuple(replace(point, text=reword(point.text)) for point in one.points),
                near=tuple((reword(first), *rest) for first, *rest in one.near),
            )
            for one in drawing.maps
        ),
        guilty=call
        and replace(
            call,
            values=tuple((reword(name), reword(value) if name == "queue" else value) for name, value in call.values),
            arguments=tuple((*row[:-1], reword(row[-1])) for row in call.arguments),
        ),
    )


def _sites(entry: Diagnosis) -> tuple[Site | Guilty | None, ...]:
    return entry.guilty, entry.victim.site if entry.victim else None, entry.root


def _runtime_names(*sites: Site | Guilty | None) -> dict[str, str]:
    """Driver calls by the functions of the runtime that made them, where the host stack shows these: the user wrote the latter."""
    found: dict[str, str] = {}
    for site in sites:
        called = next((match[1] for frame in (site.host_stack if site else ()) if (match := RUNTIME.match(frame))), "")
        if site and called and site.call.startswith("cu"):
            found[VERSIONED.sub(r"\1", site.call)] = called
    return found


def _for(api: str, names: Mapping[str, str]) -> Reword:
    def reword(text: str) -> str:
        text = MEMORY.sub(lambda found: "Buffer #" if found["capital"] else "buffer #", VERSIONED.sub(r"\1", text))
        text = DRIVER.sub(lambda match: names.get(match[0], match[0]), text) if names else text
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
