"""Is a missing order or wait the cause? Decided by runs with it and without it.

Three experiments decide: the two operations of a race are ordered at every occurrence (edge), transfers between host
and device are complete when their call returns (blocking-transfers), or launches are (serialised), for memory that
host and kernels share. The cause is confirmed where the failure never comes with the change, in so many runs that
chance is ruled out at LEVEL, and comes back in plain runs made afterwards: otherwise the machine may have changed,
and not the program.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gpudx.causes import every as every_cause
from gpudx.diagnose import entries
from gpudx.facts import Facts, transfers
from gpudx.facts.allocated import allocation_of
from gpudx.facts.objects import FAMILIES
from gpudx.facts.ranges import READ
from gpudx.facts.transfers import Transfers
from gpudx.investigate import by_output, host_side, met
from gpudx.investigate.observed import PLAIN, Observed, observed
from gpudx.investigate.prediction import TWICE, passes_needed
from gpudx.lab import at_sites
from gpudx.lab.experiments import VARIANT, base
from gpudx.lab.experiments.memory_kept import KEPT, LOW, ROOMY
from gpudx.model import Case, Diagnosis, Evidence, Finding, Guilty, Site, Trial, Verdict
from gpudx.model.cause_kinds import THREADS, UNORDERED
from gpudx.text import plural, several

EDGE, TRANSFERS, SERIALISED, TURNS = "edge", "blocking-transfers", "serialised", "turns"
HOST_MEMORY, SHARED_MEMORY = "host-memory-changed-under-copy", "host-access-during-kernel"
ORDER_OR_TIMING, MOST_PAIRS = "order-or-timing", 3
UNORDERED_ACCESS, REUSED_DATA = "unordered-access", "host-function-data-reused"
WITHOUT_INSTRUMENT = (EDGE, TRANSFERS, KEPT, ROOMY, LOW)  # what their records show, plain runs have too
SHARED = ("managed", "host", "registered")  # families of memory that host and kernels can use at once
LEVEL = 0.01  # of a false confirmation
MOST_PLAIN = 24  # runs without it, to see these
MOST_PASSES = 40
MOST_MET = 60  # runs of a kind, where only some of them say something
LOOKED_AT = 16  # lines of other transfers
LATER_CALLS = 4000  # of the thread, in which the first wait for a transfer is looked for
WHY = {
    EDGE: "whether ordering the two operations of the race fixes it",
    TRANSFERS: "whether a transfer is used before it is complete",
    SERIALISED: "whether the host uses memory before a kernel is done with it",
    TURNS: "whether threads that share a kernel object matter",
}


@dataclass(frozen=True)
class Demand:
    """How much it takes: `first_look` runs with the change before more is spent on it, `enough` failures without it."""

    level: float
    first_look: int
    enough: int


OF_FAILURES = Demand(LEVEL, 3, 5)
# What plain runs print is the same each time, and so is what changed runs print, or nothing is said. That is likely at most, and the
# runs that would make it certain are often more than a slow program has time for.
OF_OUTPUT = Demand(0.2, 2, 3)


@dataclass(frozen=True)
class Wanted:
    """The run that is needed next: how many of its kind there will be then, and what it is for."""

    experiment: str
    runs: int
    why: str


def next_run(trials: Sequence[Trial], runnable: Collection[str]) -> Wanted | None:
    """None when nothing is left to decide this way."""
    seen, demand = observed(_judged_by(trials, runnable)), _demand(trials)
    if not seen[PLAIN].rate.failures:
        return None
    return next(filter(None, (next_of(name, seen, demand) for name in _candidates(seen, runnable, demand))), None)


def _demand(trials: Sequence[Trial]) -> Demand:
    return OF_OUTPUT if by_output.applies(trials) else OF_FAILURES


def _judged_by(trials: Sequence[Trial], names: Collection[str]) -> Sequence[Trial]:
    """Where no run fails, what is printed decides."""
    if not by_output.applies(trials):
        return trials
    return by_output.as_failures(trials, [name for name in names if base(name) in (EDGE, TRANSFERS, SERIALISED)])


def _candidates(seen: Mapping[str, Observed], runnable: Collection[str], demand: Demand) -> Iterator[str]:
    """Races first: a transfer that a kernel does not wait for is one, and completing the transfer would hide it too."""
    edges = [name for name in runnable if base(name) == EDGE]
    yield from edges
    if TRANSFERS in runnable and not any(decided(name, seen, demand) for name in edges):
        yield TRANSFERS
        if decided(TRANSFERS, seen, demand):
            yield from _until_decided(sorted(n for n in runnable if n.startswith(TRANSFERS + VARIANT)), seen, demand)
    if SERIALISED in runnable and not any(decided(name, seen, demand) for name in edges):
        yield SERIALISED  # where transfers decide, whether it is the host that comes too early


def _until_decided(names: Sequence[str], seen: Mapping[str, Observed], demand: Demand) -> Iterator[str]:
    for name in names:
        yield name
        if decided(name, seen, demand):
            return


def next_of(name: str, seen: Mapping[str, Observed], demand: Demand = OF_FAILURES) -> Wanted | None:
    """The run that is needed next to decide whether the failure goes with one change; None where it is decided, or will not be."""
    if where := met.of_pair(name, seen):
        return _next_where_met(name, seen, where)
    one, plain = seen.get(name, Observed(name)), seen[PLAIN]
    if _is_useless(one):
        return None
    if one.rate.runs < demand.first_look:
        return Wanted(name, demand.first_look, WHY[base(name)])
    if plain.rate.failures < demand.enough and plain.rate.runs < MOST_PLAIN:
        return Wanted(PLAIN, plain.rate.runs + demand.enough - plain.rate.failures, "how often it fails without the change")
    needed = passes_needed(plain.rate, demand.level)
    if one.rate.runs < needed:
        return Wanted(name, needed, WHY[base(name)]) if needed <= MOST_PASSES else None
    after = plain.after(one)
    if after.rate.failures < TWICE and len(after.trials) < _patience(plain):
        return Wanted(
            PLAIN, len(plain.trials) + TWICE - after.rate.failures, "whether it still fails without the change"
        )
    return None


def _next_where_met(name: str, seen: Mapping[str, Observed], where: met.Met) -> Wanted | None:
    """Of a failure that comes only in runs in which the two operations meet: the other runs say nothing, and are not counted."""
    made, plain = seen.get(name, Observed(name)), seen[PLAIN]
    if _is_useless(where.edge) or max(len(made.trials), len(plain.trials)) >= MOST_MET:
        return None
    if where.edge.rate.runs < met.ENOUGH:
        return Wanted(name, len(made.trials) + 1, WHY[EDGE])
    if where.without.rate.failures < met.ENOUGH or not _came_back(where):
        return Wanted(PLAIN, len(plain.trials) + 1, "whether it fails where the two operations meet")
    return None if where.is_enough(LEVEL) else Wanted(name, len(made.trials) + 1, WHY[EDGE])


def _came_back(where: met.Met) -> bool:
    return where.without.after(where.edge).rate.failures > 0


def _is_useless(one: Observed) -> bool:
    """Does it fail all the same, in whichever way, or can it not be run?"""
    failed = one.rate.failures + one.counts["another failure"] + one.counts["timeout"]
    return failed > 0 or one.silent.total() >= TWICE


def _patience(plain: Observed) -> int:
    return math.ceil(2 * TWICE * plain.rate.runs / plain.rate.failures)


def decided(name: str, seen: Mapping[str, Observed], demand: Demand = OF_FAILURES) -> bool:
    """Did the failure go with the change, and come back without it?"""
    if where := met.of_pair(name, seen):
        return _came_back(where) and not _is_useless(where.edge) and where.is_enough(LEVEL)
    one, plain = seen.get(name, Observed(name)), seen[PLAIN]
    if one.rate.runs < demand.first_look or _is_useless(one) or not plain.rate.failures:
        return False
    return one.rate.runs >= passes_needed(plain.rate, demand.level) and plain.after(one).rate.failures >= TWICE


def entry(trials: Sequence[Trial], case: Case, processes: Sequence[Facts]) -> Diagnosis | None:
    """The diagnosis, once it is decided. `case` and `processes` are of the plain run that completed the decision."""
    if by_output.applies(trials):
        found = _decided(_judged_by(trials, {trial.experiment for trial in trials}), case, processes, OF_OUTPUT)
        return by_output.in_words(found) if found else None
    return _decided(trials, case, processes, OF_FAILURES)


def _decided(trials: Sequence[Trial], case: Case, processes: Sequence[Facts], demand: Demand) -> Diagnosis | None:
    seen = observed(trials)
    edges = [name for name in seen if base(name) == EDGE]
    for name in edges:
        if decided(name, seen, demand):
            where = met.of_pair(name, seen)
            return _race_where_met(where, seen[PLAIN], case) if where else _race(seen[name], seen[PLAIN], case)
    if any(_is_open(seen[name]) for name in edges):
        return None
    if decided(TRANSFERS, seen, demand):
        return _transfer(seen, case, processes, demand)
    if not decided(SERIALISED, seen, demand) or (TRANSFERS in seen and _is_open(seen[TRANSFERS])):
        return None
    of_function = _of_host_function(seen[SERIALISED], seen[PLAIN], processes)
    return of_function or _during_kernel(seen, case, processes) or _in_graph(seen, processes) or _of_symbol(seen, processes)


def _is_open(edge: Observed) -> bool:
    """May ordering the race have fixed it too? Then completing the transfers says nothing of host memory."""
    return bool(edge.rate.runs) and not _is_useless(edge)


# ---- races ----


def _race(edge: Observed, plain: Observed, case: Case) -> Diagnosis | None:
    finding = next((one for one in case.findings if one.pair and _words(one) == edge.trials[-1].note), None)
    if finding is None:
        return None
    reason = (
        f"The failure is gone in {edge.rate.runs} of {edge.rate.runs} runs in which these two operations are ordered at every "
        f"occurrence. It comes back in plain runs: {rate(plain)}."
    )
    proof = Evidence(f"{edge.trials[-1].note}: {edge.failed}")
    counted = (proof, _plain(edge, plain), *finding.evidence)
    verdict = Verdict(entries.hypothesis(finding), "confirmed", counted, (), reason)
    return replace(entries.of_finding(finding, verdict, None), observed=True)


def _race_where_met(where: met.Met, plain: Observed, case: Case) -> Diagnosis | None:
    found = _race(where.edge, where.without, case)
    if found is None or not where.marks & set(found.findings):
        return None
    again = f"{where.edge.trials[-1].note}: 0 of {plural(where.edge.rate.runs, 'run')} in which they met failed"
    evidence = (Evidence(met.apart(where, plain)), Evidence(again), *found.evidence[2:])
    return replace(found, reason=met.in_words(where), evidence=evidence)


def _words(finding: Finding) -> str:
    return at_sites.edge_words(at_sites.every_edge(finding.pair.edge)) if finding.pair and finding.pair.edge else ""


def _plain(one: Observed, plain: Observed) -> Evidence:
    after = plain.after(one)
    return Evidence(f"without this change: {rate(plain)}, {after.rate.failures} of them after the last changed run")


def rate(plain: Observed) -> str:
    return plain.failed


# ---- host memory under transfers ----


def _transfer(seen: Mapping[str, Observed], case: Case, processes: Sequence[Facts], demand: Demand) -> Diagnosis | None:
    """Host threads in each other's way are hidden by a wait as well, so where they are suspected nothing is said."""
    facts = max(processes, key=lambda one: len(transfers.early(one.trace)), default=None)
    if facts is None or any(entries.cause_of(finding).kind is THREADS for finding in case.findings):
        return None
    if of_function := _of_host_function(seen[TRANSFERS], seen[PLAIN], processes):
        return of_function
    lines = transfers.by_line(facts.trace, facts.sites)
    place = _place(seen, len(lines), demand)
    if place is None or place >= len(lines):
        return None
    name = f"{TRANSFERS}{VARIANT}{place + 1}" if len(lines) > 1 else TRANSFERS
    if not _is_of_host(facts, lines[place], seen, case):
        return _order_or_timing(facts, lines[place], seen[name], seen[PLAIN], case)
    return _host_memory(facts, lines[place], seen[name], seen[PLAIN])


def _is_of_host(facts: Facts, line: Transfers, seen: Mapping[str, Observed], case: Case) -> bool:
    """Is it the host's memory that was used too early? Waiting for a transfer also keeps the commands behind it from overlapping, so where
    any can, something else must speak for it: changed or freed memory in the record, no wait for the transfer at all, or a failure that
    comes all the same when only launches are waited for."""
    if not facts.happens.parallel or _first_wait(facts, line.positions[0]) is None:
        return True
    return any(HOST_MEMORY in finding.causes for finding in case.findings) or _is_useless(seen.get(SERIALISED, Observed(SERIALISED)))


def _order_or_timing(facts: Facts, line: Transfers, one: Observed, plain: Observed, case: Case) -> Diagnosis:
    """What is left to say: which pairs could be meant. Nothing is accused."""
    cause, site = every_cause()[ORDER_OR_TIMING], facts.sites.at(line.positions[0])
    pairs = [finding for finding in case.findings if finding.pair and finding.causes[:1] == (UNORDERED_ACCESS,)]
    return Diagnosis(
        cause=ORDER_OR_TIMING,
        status="likely",
        summary=f"The failure depends on order or timing: it is gone if {_called(site)} is complete when it returns.",
        guilty=None,
        victim=None,
        evidence=(
            Evidence(f"with the transfer complete when its call returns: {one.failed}", (site.number,)),
            _plain(one, plain),
            Evidence("nothing recorded shows that the program used the memory of this transfer before it waited for it", (site.number,)),
            *(Evidence(f"not ordered: {finding.message}", finding.evidence[0].calls) for finding in pairs[:MOST_PAIRS]),
        ),
        refutes_if=cause.refutes_if,
        fix=cause.fix,
        reason="Waiting for the transfer also keeps other commands from overlapping, so it is not known which order is missing.",
    )


def _place(seen: Mapping[str, Observed], lines: int, demand: Demand) -> int | None:
    """The first line whose transfers alone must be complete. In a queue that works in order, waiting for a later transfer completes
    the earlier ones too."""
    if lines == 1:
        return 0
    return next((n for n in range(lines) if decided(f"{TRANSFERS}{VARIANT}{n + 1}", seen, demand)), None)


def _host_memory(facts: Facts, line: Transfers, one: Observed, plain: Observed) -> Diagnosis:
    cause, site = every_cause()[HOST_MEMORY], facts.sites.at(line.positions[0])
    wait = _first_wait(facts, line.positions[0])
    how_often = f" ({len(line.positions):,} calls of this line)" if len(line.positions) > 1 else ""
    return Diagnosis(
        cause=HOST_MEMORY,
        status="confirmed",
        summary=_summary(facts, line.positions[0], site, wait),
        guilty=_guilty(site),
        victim=None,
        evidence=(
            Evidence(
                f"with the transfer complete when its call returns{how_often}: {one.failed}", (site.number,)
            ),
            _plain(one, plain),
            *_same_pointer(facts, line.positions[0]),
            *([Evidence(f"first wait for it: {_called(wait)}", (wait.number,))] if wait else []),
            *_also_early(facts, line, wait),
        ),
        refutes_if=cause.refutes_if,
        fix=USE_MAP if facts.trace.info(line.positions[0]).does.startswith("map") else cause.fix,
        reason=(
            f"The failure is gone in {one.rate.runs} of {one.rate.runs} runs in which this transfer is complete when its call "
            f"returns. It comes back in plain runs: {rate(plain)}."
        ),
        observed=True,
    )


def _same_pointer(facts: Facts, position: int) -> Iterator[Evidence]:
    """A staging buffer that is filled again too early, as where a ring does not advance."""
    again = facts.host_copies.again_from(position)
    if len(again):
        site = facts.sites.at(int(again[0]))
        more = f", and {plural(len(again) - 1, 'later copy', 'later copies')}" if len(again) > 1 else ""
        yield Evidence(f"{_called(site)} is passed the same host pointer{more}", (position + 1, site.number))


def _also_early(facts: Facts, line: Transfers, wait: Site | None) -> Iterator[Evidence]:
    """Transfers of other lines that the same wait completes: making one of them block leaves the others as they are."""
    others = [one.positions[0] for one in transfers.by_line(facts.trace, facts.sites) if one.positions != line.positions]
    first = facts.trace.record(line.positions[0]).get("queue")
    same = [at for at in others[:LOOKED_AT] if facts.trace.record(at).get("queue") == first and _first_wait(facts, at) == wait]
    if same:
        told = several([_called(facts.sites.at(at)) for at in same])
        returns, them = ("returns", "it") if len(same) == 1 else ("return", "them")
        yield Evidence(f"{told} {returns} early, too, and nothing waits for {them} before that", tuple(at + 1 for at in same))


def _summary(facts: Facts, position: int, site: Site, wait: Site | None) -> str:
    info = facts.trace.info(position)
    used = "used the mapped memory" if info.does.startswith("map") else "used the destination of the copy"
    if info.does == "copy" and _is_source(facts, position):
        used = "overwrote or freed the source of the copy"
        used = "overwrote the source of the copy" if _is_overwritten(facts, position) else used
    until = f"the first wait for it is {_called(wait)}" if wait else "nothing waits for it"
    return f"The program {used} before {_called(site)} was complete: the call returns early, and {until}."


def _is_source(facts: Facts, position: int) -> bool:
    """Does the copy read the host's memory? Some calls copy either way, as their values say."""
    rows = facts.ranges.at(position)
    own, given = facts.host_copies.table, facts.ranges.table[rows[facts.ranges.table["host"][rows]]]
    how = np.concatenate([own["how"][own["position"] == position], given["how"]])
    return bool((how == READ).all()) if len(how) else not facts.trace.info(position).reads


def _is_overwritten(facts: Facts, position: int) -> bool:
    """Is the same host memory the source of a later copy? Then it was filled again, not freed."""
    return bool(len(facts.host_copies.again_from(position)))


USE_MAP = ("Wait for the map's event before the memory is used, or make the map block.",)


# ---- memory that host and kernels share ----


def _during_kernel(seen: Mapping[str, Observed], case: Case, processes: Sequence[Facts]) -> Diagnosis | None:
    """The launch whose memory the host can use at the same time, if there is only one such kernel, or only one such memory. Two of both,
    or threads, may be in each other's way as well."""
    if any(entries.cause_of(finding).kind in (THREADS, UNORDERED) for finding in case.findings if finding.causes):
        return None
    # The member of a structure need not be used: it counts only where no argument is itself such memory.
    found = next(filter(None, ([(f, one) for f in processes for one in _shared_arguments(f, inside)] for inside in (False, True))), None)
    if found is None:
        return None
    kernels = {facts.kernels.name(int(facts.launches.kernel_row[one.launch])) for facts, one in found}
    memories = {(facts.trace.pid, one.memory) for facts, one in found}
    if len(kernels) != 1 and len(memories) != 1:
        return None
    return _shared_memory(*found[0], len(kernels), seen[SERIALISED], seen[PLAIN])


@dataclass(frozen=True)
class _Shared:
    """An argument in memory that the host can use too, or with an address in it."""

    launch: int
    argument: int
    memory: int
    inside: bool


def _shared_arguments(facts: Facts, inside: bool) -> list[_Shared]:
    """Last launch first."""
    pointers, families = facts.launches.pointers, [FAMILIES.index(name) for name in SHARED]
    family = np.append(facts.objects.table["family"], 0)[pointers.object]
    rows = np.flatnonzero((pointers.object >= 0) & pointers.live & (pointers.inside == inside) & np.isin(family, families))
    rows = rows[np.argsort(pointers.launch[rows], kind="stable")][::-1]
    return [_Shared(int(pointers.launch[row]), int(pointers.index[row]), int(pointers.object[row]), inside) for row in rows]


def _shared_memory(facts: Facts, shared: _Shared, kernels: int, one: Observed, plain: Observed) -> Diagnosis:
    cause, position = every_cause()[SHARED_MEMORY], int(facts.launches.position[shared.launch])
    memory, argument = shared.memory, shared.argument
    site, wait = facts.sites.at(position, argument=argument), _first_wait(facts, position)
    label, family = facts.objects.label(memory), facts.objects.family(memory)
    until = f"the first wait for it is {_called(wait)}" if wait else "nothing waits for it"
    last = f"kernel {site.kernel} (launch {site.launch})"
    done = f"{last} was done with it" if kernels == 1 else f"the kernels that are passed it were done, the last of them {last}"
    passed = f"an address in argument {argument} of kernel" if shared.inside else f"argument {argument} of kernel"
    return Diagnosis(
        cause=SHARED_MEMORY,
        status="confirmed",
        summary=f"The host used {label} ({family} memory) before {done}: {until}.",
        guilty=replace(_guilty(site), kernel=site.kernel, launch=site.launch, argument=argument, allocation=allocation_of(facts, memory)),
        victim=None,
        evidence=(
            Evidence(f"with a wait after each launch: {one.failed}"),
            _plain(one, plain),
            Evidence(f"{label} is {passed} {site.kernel}, and the host can use it at any time", (site.number,)),
        ),
        refutes_if=cause.refutes_if,
        fix=(f"Wait for launch {site.launch} before the host reads or writes {label}.",),
        reason=_reason(one, plain),
        observed=True,
    )


# ---- data of host functions ----


def _of_host_function(one: Observed, plain: Observed, processes: Sequence[Facts]) -> Diagnosis | None:
    """Any wait of the host lets host functions run before their data changes, so that other memory may have been used too early instead:
    likely, never confirmed."""
    found = [(facts, reused) for facts in processes for reused in host_side.reused_data(facts)]
    if not found:
        return None
    facts, reused = found[0]
    cause, first, again = every_cause()[REUSED_DATA], facts.sites.at(reused.first), facts.sites.at(reused.again)
    changed = "a wait after each launch" if one.experiment == SERIALISED else "transfers complete when their call returns"
    return Diagnosis(
        cause=REUSED_DATA,
        status="likely",
        summary=(
            f"The program changed the data of the host function of {_called(first)} before it passed the same data again (call"
            f" {again.number}), and no recorded call had waited for the function."
        ),
        guilty=_guilty(first),
        victim=None,
        evidence=(
            Evidence(f"{plural(reused.calls, 'call')} are passed this data", (first.number, again.number)),
            Evidence(f"its first bytes were different when call {again.number} was made", (again.number,)),
            Evidence(f"with {changed}: {one.failed}"),
            _plain(one, plain),
        ),
        refutes_if=cause.refutes_if,
        fix=cause.fix,
        reason=f"The failure is gone in {one.rate.runs} of {one.rate.runs} runs in which the host waits before it changes the data.",
        observed=True,
    )


# ---- host memory that graphs copy ----


def _in_graph(seen: Mapping[str, Observed], processes: Sequence[Facts]) -> Diagnosis | None:
    """Graphs that copy from or to memory of the host, and are launched again: the host may have been at it meanwhile."""
    found = [(facts, *one) for facts in processes for one in host_side.graph_copies(facts)]
    if len({(node, side) for _, node, side, _ in found}) != 1:
        return None
    facts, node, side, launch = found[0]
    copy, site, wait = facts.sites.at(node), facts.sites.at(launch), _first_wait(facts, launch)
    used = "changed the source" if side == "src" else "read the destination"
    until = f"the first wait for it is {_called(wait)}" if wait else "nothing waits for it"
    one, plain, cause = seen[SERIALISED], seen[PLAIN], every_cause()[HOST_MEMORY]
    return Diagnosis(
        cause=HOST_MEMORY,
        status="confirmed",
        summary=(
            f"The program {used} of a copy in a graph (call {copy.number}) before the launch of the graph, {_called(site)}, was"
            f" complete: {until}."
        ),
        guilty=_guilty(site),
        victim=None,
        evidence=(
            Evidence(f"with a wait after each launch: {one.failed}", (site.number,)),
            _plain(one, plain),
            Evidence("the copy is the only one of the graphs that uses memory of the host", (copy.number,)),
        ),
        refutes_if=cause.refutes_if,
        fix=cause.fix,
        reason=_reason(one, plain),
        observed=True,
    )


# ---- variables of modules ----


def _of_symbol(seen: Mapping[str, Observed], processes: Sequence[Facts]) -> Diagnosis | None:
    """A copy to a variable of a module, and a kernel of that module in another queue that nothing orders with it."""
    found = [(facts, one) for facts in processes for one in host_side.symbol_races(facts)]
    if len({(race.kernel, race.variable) for _, race in found}) != 1:
        return None
    facts, race = found[0]
    one, plain, cause = seen[SERIALISED], seen[PLAIN], every_cause()[UNORDERED_ACCESS]
    launch, copy = facts.sites.at(race.launch), facts.sites.at(race.copy)
    return Diagnosis(
        cause=UNORDERED_ACCESS,
        status="confirmed",
        summary=(
            f"{_called(copy)} writes the variable {race.variable} while kernel {launch.kernel} (launch {launch.launch}, call"
            f" {launch.number}), which can read it, may still be running in another queue: nothing makes the copy wait for the kernel, or"
            " the kernel for the copy."
        ),
        guilty=replace(_guilty(launch), kernel=launch.kernel, launch=launch.launch),
        victim=None,
        evidence=(
            Evidence(f"with a wait after each launch: {one.failed}", (launch.number,)),
            _plain(one, plain),
            Evidence(f"{copy.call} writes {race.variable}, a variable of the module that {launch.kernel} is in", (copy.number,)),
            Evidence("no event, barrier or host wait orders the two", (launch.number, copy.number)),
        ),
        refutes_if=cause.refutes_if,
        fix=cause.fix,
        reason=_reason(one, plain),
        observed=True,
    )


def _reason(one: Observed, plain: Observed) -> str:
    return (
        f"The failure is gone in {one.rate.runs} of {one.rate.runs} runs in which the program waits after each launch. It comes back "
        f"in plain runs: {rate(plain)}."
    )


def _called(site: Site) -> str:
    return f"{site.call} (call {site.number}{f', {Path(site.source).name}' if site.source else ''})"


def _first_wait(facts: Facts, position: int) -> Site | None:
    """The call of the same thread after which the transfer is known to be complete."""
    trace = facts.trace
    (operation,) = facts.happens.op_at(np.array([position]))
    mine = np.flatnonzero((trace.column("tid") == trace.column("tid", np.array([position]))[0]) & ~trace.is_note)
    later = mine[mine > position][:LATER_CALLS]
    if operation < 0 or not len(later):
        return None
    done = facts.happens.done_after_host(np.full(len(later), operation), later)
    return facts.sites.at(int(later[done.argmax()])) if done.any() else None


def _guilty(site: Site) -> Guilty:
    return Guilty(api=site.api, call=site.call, number=site.number, source=site.source, host_stack=site.host_stack)
