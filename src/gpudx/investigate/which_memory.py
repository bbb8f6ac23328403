"""A launch that faults every time, on a device that reports no address: is it freed memory, or memory past the end of a buffer?

Two experiments answer that. Each removes one kind of fault: `kept` keeps freed memory, `roomy` puts room behind buffers. If neither helps,
`low-roomy` puts room before them. Two more are made where the launch was passed such memory: `xnack` lets devices access the host's,
`peers` each other's. Exactly one of them must pass, twice, and the plain runs before and after must fail in the same launch. They also
change what fresh memory holds, which a program may read by mistake: with zeros in fresh memory it must still fail.

Which buffer it is, runs with room after one buffer at a time show: exactly one of them must pass.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import prod

from gpudx import access
from gpudx.access import argument_width, byte_stride, undersized
from gpudx.causes import every as every_cause
from gpudx.causes import tells
from gpudx.facts import Facts
from gpudx.facts.allocated import Candidate, allocation_of, freed_before, missable
from gpudx.investigate.observed import PLAIN, Observed, observed
from gpudx.investigate.ordered import Wanted
from gpudx.investigate.prediction import TWICE
from gpudx.investigate.uninitialized import POISONED
from gpudx.lab.experiments import VARIANT
from gpudx.lab.experiments.memory_kept import HOST, KEPT, LOW, PEERS, ROOMY, STRANGE, XNACK
from gpudx.model import Case, Diagnosis, Evidence, Guilty, Investigation, Trial
from gpudx.text import capital, plural

FREED, OUTSIDE = "use-after-free", "out-of-bounds-access"
CAUSE = {KEPT: FREED, ROOMY: OUTSIDE, LOW: OUTSIDE, XNACK: HOST, PEERS: STRANGE}
REACHING = (XNACK, PEERS)  # make memory accessible that the record shows to be out of reach
WHY = {
    KEPT: "whether the fault is in freed memory",
    ROOMY: "whether the fault is past the end of a buffer",
    LOW: "whether the fault is before the start of a buffer",
    XNACK: "whether the fault is in host memory",
    PEERS: "whether the fault is in memory of another device",
}
AGAIN = "whether it still fails without the change"
ZEROS = "whether it still fails with zeros in fresh memory"
ANYWHERE = 1 << 40  # bytes past the end: how far the access was is not known
WRONG_NUMBERS = (argument_width, byte_stride, undersized)
OF_SOME = {ROOMY: " past the end of a buffer.", LOW: " before the start of a buffer."}
SIDE = {ROOMY: "past the end of", LOW: "before the start of"}
WHERE = {ROOMY: "after", LOW: "before"}
WHICH_ONE = "which buffer the fault is outside of"
NEGATIVE = "Look for an index that is negative, computed or read from memory (-1 for a missing entry), and skip it or guard it."
DID = {
    KEPT: "freed memory kept",
    ROOMY: "room after every buffer",
    LOW: "room before every buffer",
    XNACK: "HSA_XNACK=1, which lets the device access host memory",
    PEERS: "access of all devices to each other's memory",
}
NOT_SEEN = {
    KEPT: "the fault is not in freed memory: the program still fails when what it frees stays allocated",
    ROOMY: "the fault is not a short way past the end of a buffer: the program still fails with 1 MiB or more of room after each",
    LOW: "the fault is not a short way before the start of a buffer: it still fails with room before each, too",
}


def next_run(state: Investigation, runnable: Collection[str]) -> Wanted | None:
    """Each of the two once, the one that passes once more, and plain runs around them."""
    seen = observed(state.trials)
    if not _fails_always(seen[PLAIN]) or _launch(state.before) is None:
        return None
    able = [name for name in CAUSE if name in runnable]
    helped = any(_passes(seen[name]) for name in able if name in seen)
    untried = next((name for name in able if name not in seen and not (name == LOW and helped)), None)
    if untried:
        return Wanted(untried, 1, WHY[untried])
    name = _only_pass(seen)
    if name is None:
        return None
    if POISONED not in seen:
        return Wanted(POISONED, 1, ZEROS) if POISONED in runnable else None
    if not _fails_always(seen[POISONED]):
        return None
    if len(seen[name].trials) < TWICE:
        return Wanted(name, TWICE, WHY[name])
    return Wanted(PLAIN, TWICE, AGAIN) if len(seen[PLAIN].trials) < TWICE else None


def candidates(entries: Sequence[Diagnosis], processes: Sequence[Facts]) -> list[tuple[Facts, Candidate]]:
    """Buffers that the launch which the first entry accuses may have missed; none where several processes launch."""
    number = entries[0].guilty.number if entries and entries[0].guilty else None
    launching = [facts for facts in processes if len(facts.launches.position)]
    launch = launching[0].launches.at_position(number - 1) if number is not None and len(launching) == 1 else None
    return [] if launch is None else [(launching[0], one) for one in missable(launching[0], launch)]


def next_buffer(state: Investigation, runnable: Collection[str]) -> Wanted | None:
    """Once it is known on which side of some buffer the fault is: each of them by itself."""
    side = next((_side(one) for one in state.found if _side(one)), "")
    if not side:
        return None
    tried = {trial.experiment for trial in state.trials}
    one = next((name for name in sorted(runnable) if name.startswith(side + VARIANT) and name not in tried), None)
    return Wanted(one, 1, WHICH_ONE) if one else None


def _side(entry: Diagnosis) -> str:
    """The experiment that showed on which side of some buffer the access was; "" for other entries."""
    if entry.status != "confirmed" or entry.cause != OUTSIDE or entry.guilty is None:
        return ""
    return next((name for name, text in OF_SOME.items() if entry.summary.endswith(text)), "")


def named(state: Investigation, trial: Trial, processes: Sequence[Facts]) -> Diagnosis | None:
    """The confirmed entry with its buffer, once each has been tried and one run passed; `trial` is the last of these runs."""
    found = next((one for one in state.found if _side(one)), None)
    side = _side(found) if found else ""
    if found is None or found.guilty is None or not trial.experiment.startswith(side + VARIANT):
        return None
    mine = {one.experiment: one for one in (*state.trials, trial) if one.experiment.startswith(side + VARIANT)}
    passing = [int(name.partition(VARIANT)[2]) for name, one in mine.items() if one.outcome == "passed"]
    failing = [one for one in mine.values() if one.outcome == "reproduced"]
    buffers = candidates((found,), processes)
    if len(passing) != 1 or len(mine) < len(buffers) or len(failing) + 1 != len(mine) or passing[0] > len(buffers):
        return None
    facts, buffer = buffers[passing[0] - 1]
    others = "another one" if len(failing) == 1 else f"each of {len(failing)} others"
    still = f"; with room {WHERE[side]} {others} alone it still fails" if failing else ""
    seen = Evidence(f"with room {WHERE[side]} {facts.memory.describe(buffer.object)} alone it does not fail{still}")
    return _with_buffer(replace(found, evidence=(seen, *found.evidence)), found.guilty, facts, buffer, side)


def _with_buffer(entry: Diagnosis, guilty: Guilty, facts: Facts, buffer: Candidate, side: str) -> Diagnosis:
    memory = allocation_of(facts, buffer.object)
    made = f", allocated at {memory.made.source.rpartition('/')[2]}" if memory and memory.made and memory.made.source else ""
    passed = f", its argument {buffer.argument}" if buffer.argument is not None else ""
    did = entry.summary.removesuffix(OF_SOME[side])
    shown = replace(
        entry,
        summary=f"{did} {SIDE[side]} {facts.memory.describe(buffer.object)}{made}{passed}.",
        guilty=replace(guilty, argument=buffer.argument, allocation=memory),
    )
    reason = _wrong_number(guilty, facts, buffer) if side == ROOMY else None
    if reason is None:
        return replace(shown, evidence=(shown.evidence[0], *_fewer_than_blocks(guilty, facts, buffer, side), *shown.evidence[1:]))
    cause = every_cause()[reason.cause]
    return replace(
        shown,
        cause=cause.id,
        summary=f"{did}: {reason.text}.",
        evidence=(shown.evidence[0], *reason.evidence, *shown.evidence[1:]),
        refutes_if=cause.refutes_if,
        fix=reason.steps or cause.fix,
        root=reason.root or shown.root,
    )


def _fewer_than_blocks(guilty: Guilty, facts: Facts, buffer: Candidate, side: str) -> list[Evidence]:
    """Of memory with fewer elements than the launch has blocks, which often write one each."""
    row = facts.launches.at_position((guilty.number or 0) - 1)
    info = facts.launches.info(row) if row is not None else None
    declared = info.args.get(buffer.argument) if info and buffer.argument is not None else None
    if row is None or side != ROOMY or declared is None or not declared.element:
        return []
    (grid, block), size = facts.launches.grid(row), int(facts.objects.table["size"][buffer.object])
    held, blocks = size // declared.element, prod(grid)
    if not 1 < held < blocks:
        return []
    room = f"{held:,} elements of {declared.element} bytes"
    return [Evidence(f"it has room for {room}; the launch has {blocks:,} blocks of {prod(block):,} threads")]


def _wrong_number(guilty: Guilty, facts: Facts, buffer: Candidate) -> access.Reason | None:
    """That the launch was passed another number than the buffer was allocated for. Where past its end the access was is not known."""
    launch = facts.launches.at_position((guilty.number or 0) - 1)
    if launch is None or buffer.argument is None:
        return None
    table = facts.objects.table
    end = int(table["handle"][buffer.object]) + int(table["size"][buffer.object])
    question = access.Question(facts, launch, end, within=ANYWHERE)
    reasons = (rule.explain(question) for rule in WRONG_NUMBERS)
    return next((reason for reason in reasons if reason is not None and reason.object == buffer.object), None)


def entry(state: Investigation, trial: Trial, case: Case, processes: Sequence[Facts]) -> Diagnosis | None:
    """Once it is decided; `case` is the plain run that completes the decision."""
    seen = observed((*state.trials, trial))
    name = _only_pass(seen)
    if name is None or not _decided(seen, name) or _launch(case.diagnosis) != _launch(state.before):
        return None
    known = _suspect(case.diagnosis, name)
    if known is None:
        return None
    there = " in this launch" if known.guilty and known.guilty.launch else ""
    evidence = (
        Evidence(f"with {DID[name]}: {seen[name].failed}"),
        Evidence(f"without this change: {seen[PLAIN].failed}{there}"),
        Evidence(_controls([DID[other] for other in CAUSE if other != name and other in seen])),
    )
    reason = f"The failure is gone in every run with {DID[name]}, and comes back without that."
    shown = replace(known, status="confirmed", evidence=(*evidence, *known.evidence), reason=reason, observed=True)
    return _named(shown, name, processes)


def _controls(others: Sequence[str]) -> str:
    """What else was changed, without an effect."""
    return f"with {', '.join(others) + ' or ' if others else ''}zeros in fresh memory it still fails"


def was_asked(trials: Sequence[Trial]) -> bool:
    return any(trial.experiment in CAUSE for trial in trials)


def ruled_out(trials: Sequence[Trial]) -> tuple[Evidence, ...]:
    """What a fault that neither experiment removes is not."""
    seen = observed(trials)
    return tuple(Evidence(NOT_SEEN[name]) for name in NOT_SEEN if name in seen and _fails_always(seen[name]))


def _decided(seen: dict[str, Observed], name: str) -> bool:
    plain, zeros = seen[PLAIN], seen.get(POISONED)
    often = plain.rate.runs >= TWICE and seen[name].rate.runs >= TWICE and plain.after(seen[name]).rate.failures > 0
    return often and _fails_always(plain) and zeros is not None and _fails_always(zeros)


def _only_pass(seen: dict[str, Observed]) -> str | None:
    """The one that passes, if the other, where it was run, does not."""
    passing = [name for name in CAUSE if name in seen and _passes(seen[name])]
    failing = all(_fails_always(seen[name]) for name in CAUSE if name in seen and name not in passing)
    return passing[0] if len(passing) == 1 and failing else None


def _passes(one: Observed) -> bool:
    return all(trial.outcome == "passed" for trial in one.trials)


def _fails_always(one: Observed) -> bool:
    return bool(one.trials) and all(trial.outcome == "reproduced" for trial in one.trials)


def _launch(entries: Sequence[Diagnosis]) -> tuple[str, str | None, int | None] | None:
    """What the first entry accuses: call, kernel and launch, or the call that launches a graph or frees. Numbers of calls differ where
    stacks are recorded."""
    guilty = entries[0].guilty if entries else None
    return (guilty.call, guilty.kernel, guilty.launch) if guilty and guilty.number is not None else None


def _suspect(entries: Sequence[Diagnosis], name: str) -> Diagnosis | None:
    """The entry that the experiment confirms: one that names such memory, else the one that says where the device faulted."""
    if name in REACHING:
        return next((one for one in entries if one.cause == CAUSE[name]), None)
    first = entries[0] if entries else None
    named = [one for one in entries if one.guilty and one.guilty.allocation and _is_freed(one) == (name == KEPT)]
    if named and tells(named[0].cause) != "access":
        return named[0]
    if first is None or first.guilty is None or tells(first.cause) != "access":
        return None
    cause = every_cause()[CAUSE[name]]
    kernel = first.guilty.kernel or "A kernel"
    where = f"Launch {first.guilty.launch:,} of kernel {kernel}" if first.guilty.launch else f"The graph of call {first.guilty.number}"
    did = "accessed memory that had been freed." if name == KEPT else f"accessed memory{OF_SOME[name]}"
    fix = (NEGATIVE,) if name == LOW else cause.fix
    return replace(first, cause=cause.id, summary=f"{where} {did}", refutes_if=cause.refutes_if, fix=fix)


def _is_freed(entry: Diagnosis) -> bool:
    """Is it about memory that was freed, or about the call that freed it?"""
    guilty = entry.guilty
    return bool(guilty and guilty.allocation and (guilty.allocation.state == "freed" or "Free" in guilty.call))


def _named(entry: Diagnosis, name: str, processes: Sequence[Facts]) -> Diagnosis:
    """With the buffer, where only one had been freed by then."""
    guilty = entry.guilty
    if name != KEPT or guilty is None or guilty.allocation is not None or guilty.number is None:
        return entry
    rows = [(facts, row) for facts in processes for row in freed_before(facts, guilty.number)]
    if len(rows) != 1:
        more = Evidence(f"{plural(len(rows), 'buffer')} had been freed before this launch") if rows else None
        return replace(entry, evidence=(*entry.evidence, more)) if more else entry
    facts, row = rows[0]
    memory = allocation_of(facts, row, "freed")
    if memory is None:
        return entry
    gone = facts.sites.at(int(facts.objects.table["gone"][row]))
    line = f" at {gone.source.rpartition('/')[2]}" if gone.source else ""
    said = f"{capital(facts.memory.describe(row))} is the only one that had been freed by then ({gone.call}{line})."
    return replace(entry, guilty=replace(guilty, allocation=memory), summary=f"{entry.summary} {said}", root=gone)
