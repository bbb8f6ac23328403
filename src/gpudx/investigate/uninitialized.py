"""Does the outcome depend on what fresh memory holds? Decided by runs with different patterns in it.

The same pattern must give the same outcome each time, and different patterns different ones: then nothing but the content of
uninitialized memory can have made the difference. A program whose output differs from run to run decides nothing this way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpudx.causes import every as every_cause
from gpudx.facts import Facts
from gpudx.facts.accesses import READ, WRITE
from gpudx.facts.given_memory import uses
from gpudx.facts.objects import FAMILIES, KINDS
from gpudx.lab.poisoned import UNLIKE
from gpudx.model import Allocation, Diagnosis, Evidence, Guilty, Investigation, Trial
from gpudx.text import plural

POISONED, SHARED_MEMORY, CAUSE = "poisoned", "shared-memory", "read-before-write"
FIRST = len(UNLIKE) + 1  # each pattern once, and the first one again
PER_PATTERN = 3  # so that an outcome which alternates by chance is not taken for a dependence
SHOWN = 4
COVER = (
    "Start enough threads for every element: round the global size up to whole groups, and guard the tail in the kernel.",
    "If the rest is not meant to be written, read back only what is, or fill the buffer first.",
)
FROM_DEVICE = [FAMILIES.index(name) for name in ("", "device", "pitched", "async")]


def runs_wanted(trials: Sequence[Trial]) -> int:
    """A few runs; more where the outcomes so far differ by pattern and by nothing else."""
    mine = [trial for trial in trials if trial.experiment == POISONED]
    return PER_PATTERN * len(UNLIKE) if len(mine) >= FIRST and _by_pattern(mine) else FIRST


def depends(trials: Sequence[Trial]) -> bool:
    """Is it shown that the outcome depends on the pattern?"""
    mine = [trial for trial in trials if trial.experiment == POISONED]
    return len(mine) >= PER_PATTERN * len(UNLIKE) and _by_pattern(mine)


def without_unused(trial: Trial, state: Investigation) -> Trial:
    """A run with other content in fresh shared memory that ends and prints as a plain run does shows no dependence on it."""
    plain = {(one.ending, one.output) for one in state.trials if one.experiment == "recorded"}
    if trial.experiment != SHARED_MEMORY or CAUSE not in trial.shown or (trial.ending, trial.output) not in plain:
        return trial
    return replace(trial, shown=tuple(cause for cause in trial.shown if cause != CAUSE))


def _by_pattern(trials: Sequence[Trial]) -> bool:
    outcomes: dict[str, set[tuple[str, str]]] = {}
    for trial in trials:
        if trial.outcome not in ("reproduced", "passed", "another failure"):
            return False
        outcomes.setdefault(trial.fresh, set()).add((trial.ending, trial.output))
    stable = all(len(seen) == 1 for seen in outcomes.values())
    return stable and len({next(iter(seen)) for seen in outcomes.values()}) > 1


def entry(trials: Sequence[Trial], processes: Sequence[Facts]) -> Diagnosis | None:
    """The diagnosis, once it is shown; with the buffer and its first reader where only one can be meant."""
    if not depends(trials):
        return None
    cause = every_cause()[CAUSE]
    readers = [(facts, row) for facts in processes for row in _first_readers(facts)]
    if (unwritten := _read_back(trials, processes)) is not None:
        return unwritten
    evidence = (*_outcomes(trials), *_candidates(readers))
    guilty = _guilty(*readers[0]) if len(readers) == 1 and _must_be_it(*readers[0]) else None
    return Diagnosis(
        cause=CAUSE,
        status="confirmed",
        summary=_summary(guilty),
        guilty=guilty,
        victim=None,
        evidence=evidence,
        refutes_if=cause.refutes_if,
        fix=cause.fix,
        reason="The outcome changes with the content of uninitialized memory, and with nothing else between these runs.",
        observed=True,
    )


def _read_back(trials: Sequence[Trial], processes: Sequence[Facts]) -> Diagnosis | None:
    """What a launch left out of the memory that it writes, and the program read back: the kernel need not have read any of it."""
    found = [(facts, back) for facts in processes for back in facts.poison.back if back.row in facts.poison.filled]
    if len({back.row for _, back in found}) != 1:
        return None
    facts, back = found[0]
    mine = [row for row in uses(facts) if row["object"] == back.row and row["position"] < back.position]
    writers = [row for row in mine if row["argument"] >= 0 and row["how"] & WRITE]
    if not writers or any(row["argument"] < 0 and row["how"] & WRITE for row in mine):
        return None
    guilty, site = _guilty(facts, writers[-1]), facts.sites.at(back.position)
    cause, label = every_cause()[CAUSE], facts.objects.label(back.row)
    launch = facts.launches.at_position(int(writers[-1]["position"]))
    items, _ = facts.launches.geometry(launch) if launch is not None else ((), ())
    shape = " x ".join(f"{n:,}" for n in items if n)
    return Diagnosis(
        cause=CAUSE,
        status="confirmed",
        summary=(
            f"The program reads back {plural(back.words, 'word')} of {label} that nothing has written, the first at byte "
            f"{back.first:,} ({site.call}, call {site.number}): kernel {guilty.kernel} (launch {guilty.launch}), which gets it as "
            f"argument {guilty.argument}, does not write all of it."
        ),
        guilty=guilty,
        victim=None,
        evidence=(
            *_outcomes(trials),
            Evidence(
                f"of {plural(back.bytes, 'byte')} that were read back, {plural(back.words, 'word')} held what fresh memory was "
                "filled with"
            ),
            *([Evidence(f"launch {guilty.launch} started {shape} threads", (guilty.number or 0,))] if shape else []),
        ),
        refutes_if=cause.refutes_if,
        fix=COVER,
        reason="The output changes with the content of fresh memory, and the program read that content back.",
        observed=True,
    )


def _summary(guilty: Guilty | None) -> str:
    if guilty is None:
        return "The result depends on uninitialized device memory."
    name = f"argument {guilty.argument}" + (f" ({guilty.argument_name})" if guilty.argument_name else "")
    return (
        f"The result depends on uninitialized memory: kernel {guilty.kernel} (launch {guilty.launch}) is the first to use "
        f"{guilty.allocation.id if guilty.allocation else 'a buffer'}, its {name}, and nothing has written it."
    )


def _outcomes(trials: Sequence[Trial]) -> list[Evidence]:
    found = []
    for pattern in UNLIKE:
        mine = [trial for trial in trials if trial.experiment == POISONED and trial.fresh == pattern]
        endings = ", ".join(dict.fromkeys(trial.ending for trial in mine))
        prints = ", ".join(dict.fromkeys(trial.output[:8] for trial in mine if trial.output))
        what = "zeros" if pattern == "zero" else f"bytes 0x{pattern.upper()}"
        output = f", output {prints}" if prints else ""
        found.append(Evidence(f"{plural(len(mine), 'run')} with {what} in fresh memory: {endings}{output}"))
    return found


def _candidates(readers: Sequence[tuple[Facts, np.void]]) -> list[Evidence]:
    if len(readers) < 2:
        return []
    text = "; ".join(_use(facts, row) for facts, row in readers[:SHOWN])
    return [Evidence(f"buffers that a kernel used before anything wrote them: {text}")]


def _use(facts: Facts, row: np.void) -> str:
    site = facts.sites.at(int(row["position"]))
    label = facts.objects.label(int(row["object"]))
    return f"{label} by launch {site.launch} of kernel {site.kernel}, argument {row['argument']}"


def _first_readers(facts: Facts) -> list[np.void]:
    """For each fresh allocation whose first use is a launch that may read it: that use."""
    table, objects = uses(facts), facts.objects.table
    kinds = np.isin(objects["kind"], [KINDS.index("buffer"), KINDS.index("memory")])
    fresh = kinds & (objects["host_ptr"] == 0) & np.isin(objects["family"], FROM_DEVICE)
    _, first = np.unique(table["object"], return_index=True)
    rows = table[first]
    keep = fresh[rows["object"]] & (rows["argument"] >= 0) & ((rows["how"] & READ) != 0)
    return list(rows[keep])


def _must_be_it(facts: Facts, row: np.void) -> bool:
    """Is it this buffer, or may it be one that the host wrote in part? An argument that the kernel may write need not be read."""
    table, sizes = uses(facts), facts.objects.table["size"]
    only_read = not row["how"] & WRITE
    host = table[(table["argument"] < 0) & ((table["how"] & WRITE) != 0)]
    plain = np.array(["@" in facts.trace.info(int(p)).writes for p in host["position"]], bool)
    in_part = ~plain | (host["begin"] > 0) | (host["end"] < sizes[host["object"]])
    return bool(only_read or not in_part.any())


def _guilty(facts: Facts, row: np.void) -> Guilty:
    site = facts.sites.at(int(row["position"]), argument=int(row["argument"]))
    obj = int(row["object"])
    memory = Allocation(facts.objects.label(obj), int(facts.objects.table["size"][obj]) or None, "live")
    return Guilty.at(site, memory)
