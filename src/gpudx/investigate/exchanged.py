"""What if? Swapped arguments, offsets in elements, the wrong buffer, wrong numbers, wrong words in kernels: does a program that fails every
time pass with that one changed?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpudx.causes import every as every_cause
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.exchangeable import Pair, pairs
from gpudx.facts.set_arguments import setter
from gpudx.investigate import edited_kernel, other_number, redirected, scaled
from gpudx.investigate.observed import PLAIN, SAYS, Observed, observed
from gpudx.investigate.ordered import LEVEL, Wanted
from gpudx.investigate.prediction import TWICE, passes_needed
from gpudx.lab.experiments import VARIANT, base
from gpudx.lab.experiments.exchanged import pair as swapped_pair
from gpudx.model import Diagnosis, Evidence, Guilty, Trial
from gpudx.text import plural

EXPERIMENT, SCALED, REDIRECTED, NUMBER, EDITED = "exchanged", "scaled-offset", "redirected", "other-number", "edited-kernel"
CAUSE = "argument-order"
MOST_PAIRS = 2  # others with which it passes as well, that are shown
LEAST, WORTH_S = 3, 120.0  # variants of one experiment; time for all of them
MOST_TOLD = 3  # changes with which it passed; one that passes with more does not check them
CONTROLS = 30  # further variants, once one passes
NUMBERS = 10  # the same of numbers: with one that is much larger, a correct program passes, too
MOST_PLACES, MOST_PASSES = 1, 3  # that a check of results which means something accepts
FAILURES, ENOUGH = 3, 5  # plain runs, all of which fail: before a pair is tried, and before one is believed
WHY = {
    "widened": "whether a sum or product needs 64 bits",
    EXPERIMENT: "whether two arguments are swapped",
    SCALED: "whether an offset is in elements instead of bytes",
    REDIRECTED: "whether a call uses the wrong buffer, direction or row pitch",
    NUMBER: "whether a kernel is passed a wrong number",
    EDITED: "whether a word in a kernel is wrong",
}
EXPLAINED = (other_number.CAUSE, redirected.ROUNDED_DOWN, redirected.ELEMENTS, redirected.PITCH, redirected.HOST_PITCH, scaled.CAUSE)
UNCHECKED = "The program prints nothing about a failed check, so its status may be a result of its own."
AGAIN = "whether it still fails without the change"
WITH_GRID = " and the grid with them"


def next_run(trials: Sequence[Trial], runnable: Collection[str], experiment: str = EXPERIMENT) -> Wanted | None:
    """Each variant once; one that passes again at once, and then a plain run, which has to fail again."""
    seen = observed(trials)
    if not _fails_always(seen[PLAIN]):
        return None
    names = _names(runnable, experiment, seen[PLAIN])
    once = (name for name in (*names, *_names(runnable, REDIRECTED, seen[PLAIN])) if name in seen and _passed_once(seen[name]))
    if (name := next(once, None)) is not None:
        return Wanted(name, TWICE, WHY[base(name)])
    if experiment == REDIRECTED and (untried := _untried(names, seen)):
        return untried
    for name in names:
        one = seen.get(name, Observed(name))
        if not one.trials:
            return Wanted(name, 1, WHY[experiment])
        if not _passes(one):
            continue
        if untried := _untried(_names(runnable, REDIRECTED, seen[PLAIN]), seen) or _control(name, names, runnable, seen):
            return untried
        if is_weak(experiment, seen):
            return None
        plain, needed = seen[PLAIN], _needed(seen[PLAIN])
        if plain.rate.runs < ENOUGH:
            return Wanted(PLAIN, ENOUGH, AGAIN)
        if one.rate.runs < needed:
            return Wanted(name, needed, WHY[experiment])
        after = len(plain.after(one).trials)
        return Wanted(PLAIN, len(plain.trials) + TWICE - after, AGAIN) if after < TWICE else None
    return None


def _names(runnable: Collection[str], experiment: str, plain: Observed) -> list[str]:
    """Its variants in the order in which they were numbered, the most plausible first."""
    mine = (one for one in runnable if base(one) == experiment)
    return sorted(mine, key=lambda one: int(one.partition(VARIANT)[2] or 0))[: _most(plain)]


def _untried(names: Sequence[str], seen: Mapping[str, Observed]) -> Wanted | None:
    """Each is run once before another is believed: where several changes help, none of them is known to be the one that is meant."""
    name = next((one for one in names if one not in seen), None)
    return Wanted(name, 1, WHY[base(name)]) if name else None


def _control(passed: str, names: Sequence[str], runnable: Collection[str], seen: Mapping[str, Observed]) -> Wanted | None:
    """Of numbers and words, the next ones too: a program that ends well with many of them checks nothing that they change. Of swapped
    arguments, another two may be meant, and one that ends well with other numbers as well checks neither."""
    if base(passed) not in (NUMBER, EDITED, EXPERIMENT):
        return None
    if base(passed) != EXPERIMENT and is_weak(base(passed), seen):
        return None
    at = names.index(passed) + 1
    following = names[at : at + (NUMBERS if base(passed) == NUMBER else CONTROLS)]
    numbers = _names(runnable, NUMBER, seen[PLAIN])[:NUMBERS] if base(passed) == EXPERIMENT else []
    return _untried([*following, *numbers], seen)


def is_weak(experiment: str, seen: Mapping[str, Observed]) -> bool:
    """Does the program pass with changes in several places, or with many in one? Then its status is a result, not a check of results."""
    if experiment == EXPERIMENT:
        return _passes_with_a_number(seen)
    passing = [(base(name), one.trials[-1].note) for name, one in seen.items() if base(name) in (NUMBER, EDITED) and _passes(one)]
    places = {note.rsplit(":", 2)[0] if kind == NUMBER else note.partition(":")[0] for kind, note in passing}
    return experiment in (NUMBER, EDITED) and (len(places) > MOST_PLACES or len(passing) > MOST_PASSES)


def _passing(experiment: str, seen: Mapping[str, Observed]) -> list[str]:
    return [one.trials[-1].note for name, one in seen.items() if base(name) == experiment and _passes(one)]


def _passes_with_a_number(seen: Mapping[str, Observed]) -> bool:
    """Does it also pass with another number in some place? Not where that is the number of the argument that it was swapped with."""
    partner: dict[tuple[str, str], tuple[str, str]] = {}
    for kernel, one, other in (swapped_pair(note) for note in _passing(EXPERIMENT, seen) if note):
        partner |= {(kernel, one): (kernel, other), (kernel, other): (kernel, one)}
    tried = [one.trials[-1].note for name, one in seen.items() if base(name) == NUMBER and one.trials[-1].outcome in SAYS]
    passed_as = {(kernel, index): old for kernel, index, old, _ in (note.rsplit(":", 3) for note in tried)}
    passing = [note.rsplit(":", 3) for note in _passing(NUMBER, seen)]
    return any(passed_as.get(partner.get((kernel, index), ("", ""))) != new for kernel, index, _, new in passing)


def _most(plain: Observed) -> int:
    """Variants that are tried: fewer of a program that takes long."""
    return max(LEAST, int(WORTH_S / max(trial.seconds for trial in plain.trials)))


def _needed(plain: Observed) -> int:
    """Runs with the two exchanged that must all pass."""
    return passes_needed(plain.rate, LEVEL)


def _fails_always(plain: Observed) -> bool:
    return plain.rate.runs >= FAILURES and plain.rate.failures == len(plain.trials)


def _passes(one: Observed) -> bool:
    return bool(one.trials) and all(trial.outcome == "passed" for trial in one.trials)


def _passed_once(one: Observed) -> bool:
    """One pass may be chance; a second one follows at once, before other changes use up the time."""
    return len(one.trials) == 1 and _passes(one)


def undecided(trials: Sequence[Trial]) -> str:
    """A sentence about the changes with which the program passed, where the runs did not suffice to believe one. "" if there is none, or if
    the program passes with changes that have nothing to do with each other."""
    seen = observed(trials)
    passing = [one for name, one in seen.items() if base(name) in FOUND and _passes(one) and not is_weak(base(name), seen)]
    told = {one.trials[-1].change: one for one in passing if one.trials[-1].change}
    if not told or len(told) > MOST_TOLD or not _fails_always(seen[PLAIN]):
        return ""
    parts = [f"with {change} ({plural(one.rate.runs, 'run')})" for change, one in told.items()]
    return f"It passed {' and '.join(parts)}."


def decided(one: Observed, plain: Observed) -> bool:
    """Did the failure go with the exchange, and come back without it?"""
    enough = plain.rate.runs >= ENOUGH and _fails_always(plain) and plain.after(one).rate.failures >= TWICE
    same = len({trial.note for trial in one.trials}) == 1  # a later plain run may have given the name to another change
    return enough and same and _passes(one) and one.rate.runs >= _needed(plain)


def entry(trials: Sequence[Trial], processes: Sequence[Facts], *, is_checked: bool = True) -> Diagnosis | None:
    """Once it is decided. `processes` are of the plain run that completed the decision; `is_checked`: it is known that the program fails
    because of its results."""
    seen = observed(trials)
    for name, one in seen.items():
        found = FOUND.get(base(name))
        if found is not None and decided(one, seen[PLAIN]) and not is_weak(base(name), seen):
            rivals = {other.trials[-1].note for key, other in seen.items() if base(key) == REDIRECTED and _passes(other)}
            told = ((facts, found(facts, one, seen[PLAIN])) for facts in processes)
            beside = ((facts, redirected.beside(facts, entry, one, rivals)) for facts, entry in told if entry)
            found_one = next((_beside(facts, entry, one, seen) if base(name) == EXPERIMENT else entry for facts, entry in beside), None)
            return found_one if is_checked or found_one is None else _unchecked(found_one)
    return None


def _unchecked(entry: Diagnosis) -> Diagnosis | None:
    """What is left of it where the program's status may be a result of its own, such as "three were rejected": any number of changes may
    turn that into success. One that the numbers of the run explain stays; one that nothing in the run suggests says nothing."""
    if redirected.is_explained(entry):
        return replace(entry, status="likely", reason=f"{entry.reason} {UNCHECKED}")
    if entry.status != "confirmed" or entry.cause == CAUSE:
        return None
    return entry if entry.cause in EXPLAINED else replace(entry, status="likely", reason=f"{entry.reason} {UNCHECKED}")


def _diagnosis(facts: Facts, one: Observed, plain: Observed) -> Diagnosis | None:
    pair = _pair(facts, one.trials[-1].note)
    if pair is None:
        return None
    launches, row = facts.launches, pair.launches[0]
    kernel = launches.name(row)
    cause, site = every_cause()[CAUSE], facts.sites.at(int(launches.position[row]), argument=pair.first)
    site = replace(site, source=pair.line) if ":" in pair.line else site
    given = _given(facts, pair)
    a, b = (_label(given[index], index) for index in (pair.first, pair.second))
    return Diagnosis(
        cause=CAUSE,
        status="likely" if any(_is_zero(given[n]) for n in (pair.first, pair.second)) else "confirmed",
        summary=(
            f"Arguments {a} and {b} of kernel {kernel} are swapped{_where(pair)}: the program fails every time, and passes when the two "
            "are swapped back."
        ),
        guilty=replace(Guilty.at(site, allocation_of(facts, int(given[pair.first]["object"]))), kernel=kernel),
        victim=None,
        evidence=(
            Evidence(f"with arguments {pair.first} and {pair.second} swapped{WITH_GRID if pair.grid else ''}: {one.failed}"),
            Evidence(f"as they are: {plain.failed}"),
            *(Evidence(f"argument {_label(given[n], n)} is {_value(facts, given[n])}") for n in (pair.first, pair.second)),
        ),
        refutes_if=cause.refutes_if,
        fix=(f"Swap arguments {a} and {b} {_where_to(launches.by_address[row], pair)}.",),
        reason="The failure is gone in every run in which these two arguments are swapped, and comes back otherwise.",
        observed=True,
        root=None if pair.frames else setter(facts, row, pair.first),
    )


def _where_to(by_address: bool, pair: Pair) -> str:
    if pair.grid:
        return "where the two are passed on to the launch: its grid is computed from them, too"
    return "in the launch" if by_address else "where they are set"


def _given(facts: Facts, pair: Pair) -> dict[int, dict[str, Any]]:
    """What the first of the launches was passed, by argument."""
    return {int(value["index"]): value for value in facts.launches.values(pair.launches[0])}


def _pair(facts: Facts, wish: str) -> Pair | None:
    return next((found for found in pairs(facts) if found.wish == wish), None)


def _beside(facts: Facts, entry: Diagnosis, one: Observed, seen: Mapping[str, Observed]) -> Diagnosis:
    """With the other pairs with which the program passes as well. Where those are of other launches, it is not known which are meant."""
    passing = {other.trials[-1].note for key, other in seen.items() if base(key) == EXPERIMENT and _passes(other)}
    mine, others = _pair(facts, one.trials[-1].note), [pair for wish in passing - {one.trials[-1].note} if (pair := _pair(facts, wish))]
    if mine is None or not others:
        return entry
    told = []
    for other in others[:MOST_PAIRS]:
        kernel, given = facts.launches.name(other.launches[0]), _given(facts, other)
        a, b = (_label(given[index], index) for index in (other.first, other.second))
        told.append(Evidence(f"it also passes with arguments {a} and {b} of kernel {kernel} swapped{_where(other)}"))
    alike = all(set(other.launches) & set(mine.launches) for other in others)
    status, reason = (entry.status, entry.reason) if alike else ("likely", redirected.NOT_ALONE)
    return replace(entry, status=status, reason=reason, evidence=(*entry.evidence[:2], *told, *entry.evidence[2:]))


def _where(pair: Pair) -> str:
    if not pair.frames:
        return ""
    return f" in {plural(len(pair.launches), 'launch', 'launches')} (the first is launch {pair.launches[0] + 1:,})"


FOUND = {
    EXPERIMENT: _diagnosis,
    SCALED: scaled.diagnosis,
    REDIRECTED: redirected.diagnosis,
    NUMBER: other_number.diagnosis,
    EDITED: edited_kernel.diagnosis,
}


def _is_zero(value: dict[str, object]) -> bool:
    """A number of elements in the place of a zero, or the other way: one of the two runs may just do nothing."""
    return int(str(value["object"])) < 0 and not any(bytes(value["bytes"]))  # type: ignore[call-overload]


def _label(value: dict[str, object], index: int) -> str:
    name = getattr(value["declared"], "name", "")
    return f"{index} (`{name}`)" if name else str(index)


def _value(facts: Facts, value: dict[str, object]) -> str:
    memory = allocation_of(facts, int(str(value["object"])))
    if memory is not None:
        where = f", allocated at {memory.made.source.rpartition('/')[2]}" if memory.made and memory.made.source else ""
        return f"{memory.id} ({plural(memory.size or 0, 'byte')}{where})"
    data = value["bytes"]
    assert isinstance(data, bytes)
    if "float" in getattr(value["declared"], "type", "") and len(data) == 4:
        return f"{np.frombuffer(data, np.float32)[0]:g}"
    return f"{int.from_bytes(data, 'little', signed=True):,}"
