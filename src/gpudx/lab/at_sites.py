"""Runs with something done at the two calls of an order finding (native/core/sites.h): what was done, and what it changed."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from operator import or_
from pathlib import Path

from gpudx.backends.mangling import function_name
from gpudx.lab.experiments import PLAIN, Context, Experiment
from gpudx.model import Case, Investigation, Trial
from gpudx.trace import Trace

MOST_EDGES = 4  # pairs that are tried


def first_pair(case: Case) -> tuple[str, str] | None:
    """What the recorder is asked for at the two operations of the first finding that names such; errors come first."""
    named = [finding.pair for finding in case.findings if finding.pair and finding.pair.hold]
    return (named[0].hold, named[0].edge) if named else None


def edges(case: Case) -> tuple[str, ...]:
    """What orders the two operations of each order finding at every occurrence; errors come first."""
    named = [every_edge(finding.pair.edge) for finding in case.findings if finding.pair and finding.pair.edge]
    return tuple(dict.fromkeys(named))[:MOST_EDGES]


def every_edge(edge: str) -> str:
    """ "scale:*>cuMemcpyDtoHAsync_v2:*" for the edge between two numbered calls."""
    return ">".join(f"{site.rpartition(':')[0]}:*" for site in edge.split(">"))


def edge_words(edge: str) -> str:
    """What such an edge does, for people."""
    first, second = (function_name(site.rpartition(":")[0]) for site in edge.split(">"))
    if first == second:
        return f"each {first} waited for the earlier ones"
    return f"each {second} waited for every earlier {first}, and each {first} for every earlier {second}"


def look(traces: Iterable[Trace]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """What was done at named calls in each process, as bits, and why something was not."""
    done, not_done = [], []
    for trace in traces:
        positions = [int(at) for at in trace.named("note_at_site")]
        records = [trace.record(at) for at in positions]
        done.append(reduce(or_, (record["at"] for record in records if record["done"]), 0))
        not_done += [trace.text(at) for at, record in zip(positions, records, strict=True) if not record["done"]]
    return tuple(done), tuple(dict.fromkeys(not_done))


def digest(output: Path) -> str:
    """Of what a run printed; "" where that is not known."""
    with contextlib.suppress(OSError), output.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
    return ""


def counted(trial: Trial, case: Case, module: Experiment, context: Context, state: Investigation) -> Trial:
    """With what was done. In a program that never fails by itself, printing what no plain run prints is a failure, and any
    failure names the pair, also where the record only warns of it."""
    trial = replace(trial, note=module.did(context)) if hasattr(module, "did") else trial
    if state.failure is not None:
        return trial
    if trial.outcome == "passed" and getattr(module, "OUTPUT_COUNTS", False) and _otherwise(trial, state):
        trial = replace(trial, outcome="reproduced")
    if not hasattr(module, "did"):
        return trial
    named = [cause for finding in case.findings if finding.pair and finding.pair.hold for cause in finding.causes[:1]]
    shown = (*trial.shown, *named) if trial.outcome == "reproduced" else trial.shown
    return replace(trial, shown=tuple(dict.fromkeys(shown)))


def _otherwise(trial: Trial, state: Investigation) -> bool:
    """Did it print something else than all plain runs, which printed the same?"""
    plain = [one.output for one in state.trials if one.experiment == PLAIN]
    return len(plain) > 1 and len(set(plain)) == 1 and bool(plain[0]) and trial.output not in ("", plain[0])
