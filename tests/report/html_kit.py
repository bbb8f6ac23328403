"""Cases with traces for the tests of HTML reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sample_cases import DIAGNOSIS, FINDING, FULL
from support.cuda_world import CudaWorld

from gpudx.figures import draw
from gpudx.model import Allocation, Case, Evidence, Instrument, ProcessInfo
from gpudx.report import Page, render

# Each would do something if it were taken for more than text.
HOSTILE = (
    "</script><script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>",
    "\"><svg onload='window.hit=1'>",
    "<!--<script>",
    "javascript:window.hit=1",
    "\x1b[2J\x1b]0;x\x07",
    "\u202egnp.exe\u202c\u2066\u2028",
    "A" * 100_000,
    "{{7*7}}${window.hit=1}`",
    "<link rel=stylesheet href=http://192.0.2.1/x.css>",
    "http://192.0.2.1/beacon.png",
    "\udcff\x00",
)
EVIL = " ".join(HOSTILE)


def with_trace(folder: Path, schema: str, name: str = "_Z4copyPfPKfi", launches: int = 40) -> Case:
    """FULL with a trace of a few launches on two streams, one of them the guilty one."""
    (folder / "traces").mkdir(exist_ok=True)
    world = CudaWorld(schema)
    memory, small = world.alloc(1 << 20), world.alloc(4096)
    other, kernel = world.create("cuStreamCreate", flags=1), world.kernel(_name(name), [8, 8, 4])
    world.free(world.alloc(65536))
    for n in range(launches):
        guilty = world.launch(kernel, [memory, small, n], queue=other if n % 2 else None) + 1
    victim = world.sync(status=700) + 1
    world.write(folder / "traces/100.gdx")
    return accuse(replace(FULL, directory=str(folder)), guilty, victim, small)


def _name(name: str) -> str:
    return name.encode("utf-8", "replace").decode()


def accuse(case: Case, guilty: int, victim: int, value: int) -> Case:
    assert FINDING.site and DIAGNOSIS.guilty and DIAGNOSIS.victim
    site = replace(FINDING.site, number=guilty)
    finding = replace(FINDING, site=site, allocation=Allocation("buffer #1", 4096, needed=4160))
    best = replace(
        DIAGNOSIS,
        guilty=replace(DIAGNOSIS.guilty, number=guilty, value=f"{value:#x}"),
        victim=replace(DIAGNOSIS.victim, site=replace(site, number=victim, call="cuStreamSynchronize")),
    )
    processes = (replace(case.processes[0], trace="traces/100.gdx"),)
    return replace(
        case, processes=processes, findings=(finding, *case.findings[1:]), diagnosis=(best, *case.diagnosis[1:])
    )


def hostile(case: Case) -> Case:
    """The same with hostile text in every place that a program or its user can reach."""
    best = case.diagnosis[0]
    assert best.guilty
    told = replace(
        best,
        summary=EVIL,
        guilty=replace(best.guilty, kernel=EVIL, source=EVIL, host_stack=HOSTILE),
        evidence=tuple(Evidence(f"seen. See {text}.", (1,), text) for text in HOSTILE),
        fix=HOSTILE,
    )
    return replace(
        case,
        command=HOSTILE,
        outcome=replace(case.outcome, summary=EVIL),
        instruments=(Instrument(EVIL, "live", EVIL, EVIL),),
        processes=(*case.processes, ProcessInfo(7, 1, EVIL, EVIL, 1, 1, HOSTILE, EVIL)),
        findings=(*case.findings, *(replace(FINDING, id=text, message=text) for text in HOSTILE)),
        diagnosis=(told, *case.diagnosis[1:]),
        not_checked=HOSTILE,
        environment={"A": EVIL},
    )


def html(case: Case, language: str = "en") -> str:
    """As the command makes it."""
    return render(case, "html", Page(drawing=draw(case), files=".", language=language))


def write(case: Case, place: Path, language: str = "en") -> Path:
    place.write_text(html(case, language), encoding="utf-8", errors="backslashreplace")
    return place
