"""Does the outcome depend on which access of a race comes first? Decided by runs with the work-items in the opposite order.

By the specification, a read and a store that nothing orders are a race, also where the reader takes both values for the same: a search by
levels reads which nodes are unvisited while others of that level are marked. A program that ends and prints the same in both orders is
not shown to depend on it. That says nothing where values are lost whichever comes first (updates without atomic functions, and stores of
different values), and nothing of memory through which a group exchanges values between barriers: these keep its work-items in step on
devices where the program passes, whichever comes first. A run that changes nothing refutes nothing in a program that fails.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from gpudx.investigate.agreement import kernel_of
from gpudx.investigate.observed import HUNG, PLAIN
from gpudx.investigate.ordered import Wanted
from gpudx.investigate.uninitialized import ending, ran
from gpudx.lab.experiments import VARIANT, Context
from gpudx.lab.experiments.reversed import ID, any_output_may_be_right
from gpudx.lab.trials import OUTPUT
from gpudx.model import Diagnosis, Evidence, Investigation, Trial

CAUSE, SEEN_BY, OF_ORDER = "race-in-kernel", "kernel check", "read and store"
WHY = "whether the outcome depends on the order of work-items"
WHY_PLAIN = "whether it ends the same way each time"
AS_IT_IS, REVERSED = 3, 2  # runs that decide
NOTHING = ("not reached", "tool missing")
OWN_ENDS = ("passed", "exit:", "signal:SIGABRT")  # by which a program says that a result is wrong
MOST_OUTPUT = 1 << 20
NUMBER = rb"\d[\d.,]*(?:[eE][-+]?\d+)?"
UNIT = rb"(?:[num]s|\xc2\xb5s|s|secs?|seconds?|min|[kKMGT]?i?B/s|[kKMGT]?flops?(?:/s)?|fps|Hz|/s|%|x)(?![\w/])"
RATE = re.compile(NUMBER + rb"\s*" + UNIT, re.IGNORECASE)
TIMED = re.compile(rb"(?i)\b(?:time|elapsed|took|seconds|duration|speed\w*|bandwidth|throughput|rate)\b")
BUFFER = re.compile(r" \(buffer [^()]*\)")
UNMOVED = "The program ended and printed the same with the work-items in the opposite order."
UNTESTED = "It is not known whether the result depends on it: {why}."
UNSETTLED = "runs with the work-items in the opposite order do not decide it"
NOT_RUN = "it was not run with the work-items in the opposite order"
DEPENDS = "The outcome changes with the order of the work-items, and with nothing else between these runs."


def may_be_harmless(entry: Diagnosis) -> bool:
    """Can a race, as checks inside the kernel saw it, matter only by which access comes first?"""
    return _is_seen(entry) and entry.access is not None and entry.access.conflict == OF_ORDER


def next_run(state: Investigation, runnable: Collection[str]) -> Wanted | None:
    """The next run that is needed; plain runs in between show that nothing else has changed. In a program that fails, one run that fails
    as well ends it."""
    for kernel in _kernels(state):
        name = f"{ID}{VARIANT}{kernel}"
        plain, own = _of(state, PLAIN), _of(state, name)
        if name not in runnable or any(map(_says_nothing, own)) or (state.failure and any(one.outcome != "passed" for one in own)):
            continue
        for wanted, runs in ((PLAIN, AS_IT_IS - 1), (name, REVERSED - 1), (PLAIN, AS_IT_IS), (name, REVERSED)):
            if state.failure and wanted == PLAIN and not own:
                continue
            if len(plain if wanted == PLAIN else own) < runs:
                return Wanted(wanted, runs, WHY_PLAIN if wanted == PLAIN else WHY)
    return None


def is_noted(entry: Diagnosis) -> bool:
    """Is it a race that is worth knowing, and no fault?"""
    return may_be_harmless(entry) and entry.status == "inconclusive"


def is_without_consequence(state: Investigation) -> bool:
    """Is it shown of no race that it matters, after all runs?"""
    return all(is_noted(that_matters(one, state)) for one in (*state.before, *state.found) if one.cause == CAUSE)


def that_matters(entry: Diagnosis, state: Investigation) -> Diagnosis:
    """Of a program that passes: the race, as it stands after the runs."""
    effects = {kernel: _effect(state, kernel) for kernel in _kernels(state)} if _is_seen(entry) else {}
    changed = [one for one in (entry, *state.before, *state.found) if _is_seen(one) and effects.get(kernel_of(one) or "") == "changed"]
    if changed:
        return _confirmed(changed[0], state)
    if not may_be_harmless(entry):
        return entry
    if set(effects.values()) == {"same"}:
        return replace(entry, status="inconclusive", reason=UNMOVED)
    return replace(entry, status="inconclusive", reason=UNTESTED.format(why=_why_untested(state)))


def with_order(entry: Diagnosis, state: Investigation) -> Diagnosis:
    """Of a program that fails: with what it did in the opposite order, if that was something else."""
    own, plain = _of(state, f"{ID}{VARIANT}{kernel_of(entry)}"), _of(state, PLAIN)
    if not _is_seen(entry) or len(own) < REVERSED or not _end_apart(own, plain):
        return entry
    return replace(entry, evidence=(_ran(own, plain), *entry.evidence))


def note(entry: Diagnosis) -> str:
    """For a reader of a verdict without a cause."""
    race = BUFFER.sub("", entry.summary.partition(". ")[0].rstrip("."))
    return f"{race}. The specification does not order the two. {entry.reason}"


def compared(trial: Trial, state: Investigation, folder: Path, context: Context) -> Trial:
    """A run in the opposite order. What it printed counts as the plain runs' output if it differs by times only, and is not known where a
    correct program may print something else."""
    plain = [one for one in state.trials if one.experiment == PLAIN]
    if not trial.output or trial.output in [one.output for one in plain]:
        return trial
    others = {_without_times(folder / one.folder / OUTPUT) for one in plain}
    if plain and None not in others and others == {_without_times(folder / trial.folder / OUTPUT)}:
        return replace(trial, output=plain[0].output)
    return replace(trial, output="") if any_output_may_be_right(context) else trial


def _is_seen(entry: Diagnosis) -> bool:
    return entry.cause == CAUSE and entry.access is not None and entry.access.seen_by == SEEN_BY


def _kernels(state: Investigation) -> list[str]:
    return list(dict.fromkeys(kernel_of(one) or "" for one in (*state.before, *state.found) if _is_seen(one)))


def _of(state: Investigation, experiment: str) -> list[Trial]:
    return [one for one in state.trials if one.experiment == experiment]


def _says_nothing(trial: Trial) -> bool:
    return trial.outcome in NOTHING or trial.ending == HUNG or not trial.ending.startswith(OWN_ENDS)


def _end_apart(own: Sequence[Trial], plain: Sequence[Trial]) -> bool:
    """Did all runs of the one kind end in one way, and all of the other in another?"""
    ends, others = ({one.ending for one in some} for some in (own, plain))
    return len(ends) == len(others) == 1 and ends != others


def _effect(state: Investigation, kernel: str) -> str:
    """ "changed", "same", or "" where it is not known."""
    plain, own = _of(state, PLAIN), _of(state, f"{ID}{VARIANT}{kernel}")
    if len(plain) < AS_IT_IS or len(own) < REVERSED or any(map(_says_nothing, own)):
        return ""
    outputs, others = ({one.output for one in some} for some in (own, plain))
    if {one.ending for one in own} <= {one.ending for one in plain}:
        prints_otherwise = len(outputs) == len(others) == 1 and "" not in outputs | others
        return "same" if outputs - {""} and outputs <= others else "changed" if prints_otherwise else ""
    return "changed" if _end_apart(own, plain) else ""


def _confirmed(entry: Diagnosis, state: Investigation) -> Diagnosis:
    own, plain = _of(state, f"{ID}{VARIANT}{kernel_of(entry)}"), _of(state, PLAIN)
    ends = f"ends with {ending(own[0])}" if _end_apart(own, plain) else "prints something else"
    head, stop, rest = entry.summary.partition(". ")
    return replace(
        entry,
        status="confirmed",
        summary=f"{head.rstrip('.')}. With the work-items in the opposite order, the program {ends}.{stop and ' '}{rest}",
        evidence=(_ran(own, plain), *entry.evidence),
        reason=DEPENDS,
    )


def _ran(own: Sequence[Trial], plain: Sequence[Trial]) -> Evidence:
    by_output = not _end_apart(own, plain)
    return Evidence(f"with the work-items in the opposite order, {ran(own, by_output)}; as it is, {ran(plain, by_output)}")


def _why_untested(state: Investigation) -> str:
    if any(one.experiment.startswith(f"{ID}{VARIANT}") for one in state.trials):
        return UNSETTLED
    return dict(state.not_run).get(ID, NOT_RUN)


def _without_times(output: Path) -> bytes | None:
    """What a run printed, without times and rates; None where that is not known."""
    try:
        with output.open("rb") as file:
            text = RATE.sub(b"", file.read(MOST_OUTPUT))
    except OSError:
        return None
    return b"\n".join(re.sub(NUMBER, b"", line) if TIMED.search(line) else line for line in text.splitlines())
