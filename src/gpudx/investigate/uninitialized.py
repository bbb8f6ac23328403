"""Does the outcome depend on what fresh memory holds? Decided by runs with different patterns in it.

The same pattern must give the same outcome each time, and different patterns different ones: then nothing but the content of
uninitialized memory can have made the difference. A program whose output differs from run to run decides nothing this way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpudx.causes import every as every_cause
from gpudx.facts import Facts
from gpudx.facts.accesses import READ, WRITE
from gpudx.facts.given_memory import uses
from gpudx.facts.objects import FAMILIES, KINDS
from gpudx.lab.poisoned import UNLIKE
from gpudx.model import Allocation, Case, Diagnosis, Evidence, FailureClass, Guilty, Investigation, Trial
from gpudx.text import plural

POISONED, SHARED_MEMORY, CAUSE, MISUSE = "poisoned", "shared-memory", "read-before-write", "barrier-misuse"
IN_ELEMENTS = "bytes-for-elements"
FIRST = len(UNLIKE) + 1  # each pattern once, and the first one again
PER_PATTERN = 3  # so that an outcome which alternates by chance is not taken for a dependence
SHOWN = 4
IF_IT_MATTERS: tuple[FailureClass, ...] = ("no failure", "wrong result")  # then a read of fresh memory counts if the outcome depends on it
COVER = (
    "Start enough threads for every element: round the global size up to whole groups, and guard the tail in the kernel.",
    "If the rest is not meant to be written, read back only what is, or fill the buffer first.",
)
FROM_DEVICE = [FAMILIES.index(name) for name in ("", "device", "pitched", "async")]


def runs_wanted(trials: Sequence[Trial]) -> int:
    """A few runs; more where the outcomes so far differ by pattern and by nothing else."""
    return PER_PATTERN * len(UNLIKE) if seems_to_depend(trials) else FIRST


def seems_to_depend(trials: Sequence[Trial]) -> bool:
    """Do the outcomes so far differ by pattern and by nothing else, with one pattern tried twice?"""
    mine = [trial for trial in trials if trial.experiment == POISONED]
    return len(mine) >= FIRST and _by_pattern(mine)


def depends(trials: Sequence[Trial]) -> bool:
    """Is it shown that the outcome depends on the pattern?"""
    mine = [trial for trial in trials if trial.experiment == POISONED]
    return len(mine) >= PER_PATTERN * len(UNLIKE) and _by_pattern(mine)


def reads_back_by_pattern(trials: Sequence[Trial]) -> bool:
    """Do the bytes that the program read back from devices differ by pattern and by nothing else, with one pattern tried twice?"""
    mine = [trial for trial in trials if trial.experiment == POISONED]
    given: dict[str, set[str]] = {}
    for trial in mine:
        given.setdefault(trial.fresh, set()).add(trial.given)
    same = all(len(seen) == 1 and "" not in seen for seen in given.values())
    return len(mine) >= FIRST and same and len(set().union(*given.values())) > 1


def without_unused(trial: Trial, state: Investigation, diagnosis: Sequence[Diagnosis]) -> Trial:
    """A run with other undefined values that ends and prints as a plain run does shows no dependence on them."""
    plain = {(one.ending, one.output) for one in state.trials if one.experiment == "recorded"}
    if trial.experiment != SHARED_MEMORY or (trial.ending, trial.output) not in plain:
        return trial
    certain = {entry.cause for entry in diagnosis if not is_of_shared(entry)}
    unused = {entry.cause for entry in diagnosis if is_of_shared(entry)} - certain
    entry = next((one for one in diagnosis if one.cause in unused), None)
    note = f"{entry.summary.rstrip('.')}; what the program printed and returned does not depend on that value." if entry else trial.note
    return replace(trial, shown=tuple(cause for cause in trial.shown if cause not in unused), note=note)


SAME_FILL = "whether the outcome depends on uninitialized shared memory"
SAME_PLAIN = "whether it ends the same way each time"


def next_of_shared(trials: Sequence[Trial]) -> tuple[str, str] | None:
    """The run (and what it is for) that is still needed to say whether the outcome depends on what fresh shared memory holds."""
    plain, filled = _plain_and_filled(trials)
    if not any(map(_shows_undefined, filled)) or _way_to_compare(plain, filled) is None:
        return None
    if len(plain) < PER_PATTERN:
        return "recorded", SAME_PLAIN
    return (SHARED_MEMORY, SAME_FILL) if len(filled) < PER_PATTERN else None


def depends_on_shared(trials: Sequence[Trial]) -> bool:
    """Did all plain runs end in one way, and all with other content in fresh shared memory in another?"""
    plain, filled = _plain_and_filled(trials)
    enough = min(len(plain), len(filled)) >= PER_PATTERN and all(map(_shows_undefined, filled))
    return enough and _way_to_compare(plain, filled) is not None


def ends_otherwise(trials: Sequence[Trial]) -> bool:
    """Did a run with other undefined values end as no plain run did?"""
    plain, filled = _plain_and_filled(trials)
    return bool({trial.ending for trial in filled} - {trial.ending for trial in plain})


def shared_entry(trials: Sequence[Trial], case: Case) -> Diagnosis | None:
    """The diagnosis, once it is shown; `case` is of the run with checks that completed it. Lanes that are not there come first: what they
    give may be stored in shared memory."""
    undefined = sorted(filter(is_of_shared, case.diagnosis), key=lambda one: one.cause == CAUSE)
    seen = next(iter(undefined), None)
    if seen is None or not depends_on_shared(trials):
        return None
    plain, filled = _plain_and_filled(trials)
    by_output = _way_to_compare(plain, filled) == "output"
    ends = "prints something else" if by_output else f"ends with {ending(filled[0])}"
    return replace(
        seen,
        status="confirmed",
        summary=f"{seen.summary.rstrip('.')}, and the result depends on it: with another value there, the program {ends}.",
        evidence=(
            Evidence(f"with 0x7f7f7f7f in place of undefined values, {ran(filled, by_output)}"),
            Evidence(f"without that change, {ran(plain, by_output)}"),
            *seen.evidence,
        ),
        refutes_if="The value is defined when it is read, or the result does not depend on it.",
        reason="The outcome changes with the value that was read, and with nothing else between these runs.",
        observed=True,
    )


def is_of_shared(entry: Diagnosis) -> bool:
    """A value that the hardware leaves undefined: of shared memory that was not written, or of a lane that is not there."""
    space = entry.access.space if entry.access and entry.access.kind == "read" else ""
    return (entry.cause, space) in ((CAUSE, "shared"), (MISUSE, "warp"))


def _shows_undefined(trial: Trial) -> bool:
    return CAUSE in trial.shown or MISUSE in trial.shown


def ran(trials: Sequence[Trial], by_output: bool) -> str:
    """Of runs that all did the same: "3 of 3 runs ended with exit status 1"."""
    what = f"printed the same (SHA-256 {trials[0].output[:8]})" if by_output else f"ended with {ending(trials[0])}"
    return f"{len(trials)} of {plural(len(trials), 'run')} {what}"


def ending(trial: Trial) -> str:
    """ "exit status 1" for "exit:1"."""
    kind, _, what = trial.ending.partition(":")
    return {"passed": "exit status 0", "exit": f"exit status {what}", "timeout": "a timeout"}.get(kind, what or kind)


def _plain_and_filled(trials: Sequence[Trial]) -> tuple[list[Trial], list[Trial]]:
    counted = [trial for trial in trials if trial.outcome in ("reproduced", "passed", "another failure")]
    return [t for t in counted if t.experiment == "recorded"], [t for t in counted if t.experiment == SHARED_MEMORY]


def _way_to_compare(plain: Sequence[Trial], filled: Sequence[Trial]) -> str | None:
    """What differs between the two, and is the same in all runs of each: how the program ended, or else what it printed."""
    for way in ("ending", "output"):
        own, others = ({str(getattr(trial, way)) for trial in some} for some in (plain, filled))
        if len(own) == len(others) == 1 and own != others and "" not in own | others:
            return way
    return None


def _by_pattern(trials: Sequence[Trial]) -> bool:
    outcomes: dict[str, set[tuple[str, str]]] = {}
    for trial in trials:
        if trial.outcome not in ("reproduced", "passed", "another failure"):
            return False
        outcomes.setdefault(trial.fresh, set()).add((trial.ending, trial.output))
    stable = all(len(seen) == 1 for seen in outcomes.values())
    return stable and len({next(iter(seen)) for seen in outcomes.values()}) > 1


def entry(trials: Sequence[Trial], case: Case, processes: Sequence[Facts]) -> Diagnosis | None:
    """The diagnosis, once it is shown; with the buffer and its first reader where only one can be meant. `case` is of the run that
    completed it."""
    if not depends(trials):
        return None
    cause = every_cause()[CAUSE]
    readers = [(facts, row) for facts in processes for row in _first_readers(facts)]
    if (in_part := _written_in_part(trials, case, processes, readers)) is not None:
        return in_part
    if (unwritten := _read_back(trials, processes)) is not None:
        return unwritten
    parts = [(facts, one) for facts in processes for one in _read_in_part(facts)]
    evidence = (*_outcomes(trials), *(_part(*one) for one in parts[:SHOWN]), *_candidates(readers, least=1 if parts else 2))
    guilty = _guilty(*readers[0]) if len(readers) == 1 and not parts and _must_be_it(*readers[0]) else None
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


def _written_in_part(
    trials: Sequence[Trial], case: Case, processes: Sequence[Facts], readers: Sequence[tuple[Facts, np.void]]
) -> Diagnosis | None:
    """The only copy that took elements for bytes, where no kernel reads a buffer that nothing wrote: the outcome depends on the rest."""
    named = [one for one in case.diagnosis if one.cause == IN_ELEMENTS and one.status == "likely" and one.guilty]
    if len(named) != 1 or any(not row["how"] & WRITE for _, row in readers):
        return None
    if not any(_writes(facts, (named[0].guilty and named[0].guilty.number) or 0) for facts in processes):
        return None
    reason = "The outcome changes with what fresh memory holds, and this call leaves the rest of the buffer as it was."
    evidence = (*named[0].evidence[:1], *_outcomes(trials), *named[0].evidence[1:])
    return replace(named[0], status="confirmed", evidence=evidence, reason=reason, observed=True)


def _writes(facts: Facts, number: int) -> bool:
    """Does this call of the host write device memory?"""
    table = uses(facts)
    return bool(((table["position"] == number - 1) & (table["argument"] < 0) & ((table["how"] & WRITE) != 0)).any())


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


def _candidates(readers: Sequence[tuple[Facts, np.void]], least: int) -> list[Evidence]:
    if len(readers) < least:
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


@dataclass(frozen=True)
class _InPart:
    """A use of memory by a launch that only reads it, and the first bytes of it that no call had written by then."""

    use: np.void
    begin: int
    end: int


def _read_in_part(facts: Facts) -> list[_InPart]:
    """Fresh memory that only the host wrote, not all of it, before a launch got it that only reads it; each once."""
    table, objects, found = uses(facts), facts.objects.table, dict[int, _InPart]()
    reads = (table["argument"] >= 0) & ~table["inside"] & ~table["vague"] & ((table["how"] & (READ | WRITE)) == READ)
    for use in table[reads]:
        obj = int(use["object"])
        if obj in found or not objects["size"][obj] or objects["host_ptr"][obj] or objects["family"][obj] not in FROM_DEVICE:
            continue
        writes = table[(table["object"] == obj) & (table["position"] < use["position"]) & ((table["how"] & WRITE) != 0)]
        if not len(writes) or (writes["argument"] >= 0).any():
            continue
        if (gap := _first_gap(writes, int(objects["size"][obj]))) is not None:
            found[obj] = _InPart(use, *gap)
    return list(found.values())


def _first_gap(writes: NDArray[np.void], size: int) -> tuple[int, int] | None:
    """The first bytes that none of the writes covers. Rows with gaps between them count as whole."""
    end = 0
    for begin, last in sorted(zip(writes["begin"].tolist(), writes["end"].tolist(), strict=True)):
        if begin > end:
            return end, begin
        end = max(end, last)
    return (end, size) if end < size else None


def _part(facts: Facts, one: _InPart) -> Evidence:
    obj = int(one.use["object"])
    size = int(facts.objects.table["size"][obj])
    last = f"bytes {one.begin:,} to {one.end - 1:,}" if one.end - one.begin > 1 else f"byte {one.begin:,}"
    label = f"{facts.objects.label(obj)} ({plural(size, 'byte')})"
    site = facts.sites.at(int(one.use["position"]), argument=int(one.use["argument"]))
    return Evidence(
        f"nothing wrote {last} of {label} before kernel {site.kernel} (launch {site.launch}) got it as argument {site.argument}, which it "
        "only reads",
        (site.number,),
    )


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
