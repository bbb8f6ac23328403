"""Runs with something done at the two calls of an order finding (native/core/sites.h): what was done, and what it changed."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from operator import or_
from pathlib import Path
from types import ModuleType

from gpudx.lab.experiments import PLAIN, Context
from gpudx.model import Case, Investigation, Trial
from gpudx.trace import Trace


def first_pair(case: Case) -> tuple[str, str] | None:
    """What the recorder is asked for at the two operations of the first finding that names such; errors come first."""
    named = [finding.details for finding in case.findings if finding.details.get("hold")]
    return (str(named[0]["hold"]), str(named[0]["edge"])) if named else None


def look(traces: Iterable[Trace]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """What was done at named calls in each process, as bits, and why something was not."""
    done, not_done = [], []
    for trace in traces:
        note = trace.schema.by_name("note_at_site")
        positions = [int(at) for at in trace.select(note)] if note is not None else []
        records = [trace.record(at) for at in positions]
        done.append(reduce(or_, (record["at"] for record in records if record["done"]), 0))
        not_done += [trace.text(at) for at, record in zip(positions, records, strict=True) if not record["done"]]
    return tuple(done), tuple(dict.fromkeys(not_done))


def digest(output: Path) -> str:
    """Of what a run printed; "" where that is not known."""
    with contextlib.suppress(OSError), output.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
    return ""


def counted(trial: Trial, module: ModuleType, context: Context, state: Investigation) -> Trial:
    """With what was done. In a program that never fails by itself, printing what no plain run prints is a failure."""
    trial = replace(trial, note=module.did(context)) if hasattr(module, "did") else trial
    plain = [one.output for one in state.trials if one.experiment == PLAIN]
    alike = len(plain) > 1 and len(set(plain)) == 1 and all(plain)
    otherwise = alike and state.failure is None and trial.output != plain[0]
    flipped = otherwise and trial.outcome == "passed" and getattr(module, "OUTPUT_COUNTS", False)
    return replace(trial, outcome="reproduced") if flipped else trial
