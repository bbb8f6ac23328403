"""The sentences of `gpudx verify`: what was seen, how we know, and what stays open."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gpudx.model.rates import Rate
from gpudx.model.verification import Answer, Condition, Count, Judgement
from gpudx.verify.tally import Tally, kind

MORE = 10  # how many times as many runs are proposed to bring down what stays open
SHOWN_RUNS = 100_000  # beyond this "very many" says as much


def plan(seen: Tally) -> Iterator[str]:
    """How many rounds it takes. A round runs every command once, in random order, so that drift of the machine does not decide."""
    needed = seen.wins_needed
    yield (
        f"{_percent(seen.question.confidence)} confidence needs {needed} rounds that fail before and pass after:"
        f" about {needed} rounds if it always fails, {10 * needed} if one run in 10 does."
    )


def judgement(seen: Tally, found: Answer) -> Judgement:
    """The answer with its words."""
    counts = tuple(seen.count(c) for c in ("before", "after", "revert") if c in seen.question.commands)
    summary = {
        "a fix": _fix,
        "a placebo": _placebo,
        "mitigates": _mitigates,
        "another failure": _another,
        "not shown to be the cause": _not_the_cause,
        "inconclusive": _unknown,
    }[found](seen)
    return Judgement(found, summary, tuple(_because(seen, found)), counts)


def _fix(seen: Tally) -> str:
    said = f"It failed in {_of(seen, 'before')} before the change and in none of {_runs(seen, 'after')} after it"
    if "revert" in seen.question.commands:
        return f"{said}; with the change reverted it failed in {_of(seen, 'revert')}."
    return f"{said}; runs without the change kept failing in between."


def _placebo(seen: Tally) -> str:
    head = f"It still fails in the same way: in {_of(seen, 'after')} after the change, {_of(seen, 'before')} before"
    return head + ("; the rate did not even halve." if seen.not_halved else "; it is not shown to be rarer.")


def _mitigates(seen: Tally) -> str:
    after, before = seen.count("after"), seen.count("before")
    return (
        f"The failure became rarer but is not gone: {_of(seen, 'after')} after the change (a rate of {span(after)}),"
        f" {_of(seen, 'before')} before ({span(before)})."
    )


def _another(seen: Tally) -> str:
    runs = seen.count("after")
    return (
        f"After the change the old failure did not occur, but another one did, in {runs.other} of {runs.runs} runs;"
        " it may hide the old one: fix it, then verify again."
    )


def _not_the_cause(seen: Tally) -> str:
    return (
        f"It failed in {_of(seen, 'before')} before the change and in none of {_runs(seen, 'after')} after it, but reverting the"
        f" change did not bring it back ({_of(seen, 'revert')}): look for another difference, such as the build."
    )


def _unknown(seen: Tally) -> str:
    blind = [c for c in seen.question.commands if seen.number(c, "unknown")]
    if blind:
        return (
            f"The failure is identified by what the recorder sees, and it was not loaded in runs of {' and '.join(blind)}:"
            " the case.json of such a run has the reason; a pass that was not recorded is not counted."
        )
    if not seen.rounds:
        return "No round was finished: give more time with --budget."
    return f"It failed before the change in {_of(seen, 'before')}, too rarely to decide: {_more_runs(seen)}"


def _more_runs(seen: Tally) -> str:
    """How many rounds it would take, from the interval of the rate before."""
    before = seen.count("before")
    need = (
        f"{seen.wins_needed} rounds that fail before and pass after are needed, and there were {seen.lead('before')};"
    )
    best = _rounds(seen.wins_needed / before.interval.high)
    if not before.old:
        return (
            f"{need} that takes at least {best} rounds (--runs, --budget); first find a way to make it fail more often."
        )
    usual = _rounds(seen.wins_needed * before.runs / before.old)
    return f"{need} that takes about {usual} rounds (--runs, --budget), {_rounds(seen.wins_needed / before.interval.low)} at worst."


def _rounds(number: float) -> str:
    return f"{math.ceil(number):,}" if number < SHOWN_RUNS else "very many"


def _because(seen: Tally, found: Answer) -> Iterator[str]:
    if found in ("a fix", "mitigates"):
        odds = round(1 / seen.question.level)
        yield (
            f"If the change had no effect, a result this clear would appear in at most 1 of {odds:,} verifications,"
            " no matter how often you look."
        )
    if found == "a fix":
        yield _open(seen)
        if "revert" not in seen.question.commands:
            yield "Not tested: whether reverting the change in the new build brings the failure back (--revert CMD)."
    if found in ("a placebo", "mitigates") and _hidden(seen):
        yield f"In {_hidden(seen)} of these runs the program passed, but the trace shows the same fault."
    yield from _names(seen)
    lost = len(seen.rounds) - len(seen.counted)
    if lost:
        yield f"{lost} rounds are not counted: the recorder was not loaded, so a pass proves nothing."


def _open(seen: Tally) -> str:
    """No number of passes shows that a rate is zero."""
    after = seen.count("after")
    runs = MORE * after.runs
    less = Rate(0, runs).interval_always(seen.question.confidence).high
    return (
        f"With this many passes, a failure rate of up to {_percent(after.interval.high)} is still possible;"
        f" --at-least {runs} would lower that to {_percent(less)}."
    )


def _hidden(seen: Tally) -> int:
    return sum(t.condition == "after" and not t.failed and kind(t, seen.failure) == "old" for t in seen.trials)


def _names(seen: Tally) -> Iterator[str]:
    """Each failure once for each condition, in the words of its first run."""
    first: dict[tuple[str, str], str] = {}
    for trial in seen.trials:
        what = kind(trial, seen.failure)
        if what in ("old", "other"):
            another = " (another failure)" if what == "other" else ""
            first.setdefault(
                (trial.condition, trial.names[0]), f"{trial.condition}{another}: {trial.summary} [{trial.folder}]"
            )
    yield from first.values()


def _of(seen: Tally, condition: Condition) -> str:
    count = seen.count(condition)
    other = f" (and in another way in {count.other})" if count.other else ""
    return f"{count.old} of {_runs(seen, condition)}{other}"


def _runs(seen: Tally, condition: Condition) -> str:
    number = seen.count(condition).runs
    return f"{number:,} run{'' if number == 1 else 's'}"


def span(count: Count) -> str:
    """ "12% to 48%"."""
    return f"{_percent(count.interval.low)} to {_percent(count.interval.high)}"


def _percent(share: float) -> str:
    number = 100 * share
    return (
        f"{number:.0f}%"
        if number in (0, 100) or 1 <= number < 99
        else f"{number:.2g}%"
        if number < 1
        else f"{number:.4g}%"
    )
